"""One measurement: one system, one workload, one number of threads, in a process of its own.

`python -m benchmarks.measure SYSTEM WORKLOAD THREADS FACTS SAMPLE` prints it as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks import memory
from benchmarks.measurement import Clock, Measurement, Timed
from benchmarks.workloads import WORKLOADS, Workload

SYSTEMS: Mapping[str, str] = {"tidelog": "benchmarks.tidelog_side", "duckdb": "benchmarks.duckdb_peer"}
"""The file that runs each system; loaded only in the process that measures it, so that it alone counts there."""


def measure(system: str, workload: Workload, threads: int, facts: Path, sample: Path) -> Measurement:
    """The cost of `workload` once `system` is ready: imported, and its kernels loaded by a run on the sample."""
    clock = Clock()
    run: Callable[[Workload, Path, int], Timed] = import_module(SYSTEMS[system]).run
    run(workload, sample, threads)
    ready_seconds = clock.lap()
    memory.forget_peak()
    before = memory.resident()
    timed = run(workload, facts, threads)
    return Measurement(
        ready_seconds, timed.load_seconds, timed.evaluation_seconds, max(0, memory.peak() - before), timed.counts
    )


def main(arguments: list[str]) -> None:
    system, workload, threads, facts, sample = arguments
    measured = measure(system, WORKLOADS[workload], int(threads), Path(facts), Path(sample))
    print(json.dumps(asdict(measured)))


if __name__ == "__main__":
    main(sys.argv[1:])
