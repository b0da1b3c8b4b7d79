"""One measurement of a tier: a workload evaluated in a process of its own.

`python -m benchmarks.push_measure TIER WORKLOAD THREADS FACTS [once]` prints it as JSON. Unless it is to run `once`,
the workload runs twice: the first run compiles or loads the code of its rules, the second counts.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import tidelog
from benchmarks.compilers import ended_compilers
from benchmarks.measurement import Clock, Timed
from benchmarks.workloads import WORKLOADS, Workload
from tidelog.kernels.jit import use_compiled


def run(workload: Workload, folder: Path, threads: int, tier: tidelog.Tier) -> Timed:
    """What loading the facts of `folder` and evaluating took, and the size of each answer."""
    maintenance = tidelog.Maintenance(modules=False)
    program = tidelog.parse(workload.program.read_text(encoding="utf-8"))
    with tidelog.open(program, jobs=threads, tier=tier, maintenance=maintenance) as session:
        clock = Clock()
        for relation in workload.inputs:
            session.load(relation, folder / f"{relation}.facts")
        load_seconds = clock.lap()
        counts = {relation: len(session[relation]) for relation in workload.counts}
        return Timed(load_seconds, clock.lap(), counts)


def main(arguments: list[str]) -> None:
    tier, workload, threads, facts, *once = arguments
    use_compiled()
    with ended_compilers():
        for _ in range(1 if once else 2):
            timed = run(WORKLOADS[workload], Path(facts), int(threads), tidelog.Tier(tier))
    print(json.dumps(asdict(timed)))


if __name__ == "__main__":
    main(sys.argv[1:])
