"""`python -m benchmarks push`: generated code beside batches and DuckDB, evaluation only, with its goals."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median

from benchmarks.generators import prepare, prepare_sample
from benchmarks.measurement import Measurement
from benchmarks.names import one_of, positive
from benchmarks.runner import Failure, run_apart, run_file
from benchmarks.table import markdown
from benchmarks.workloads import ALL, DEFAULT_DATA, WORKLOADS, Workload

NAME = "push"
TWICE = {"andersen": 2.0, "cspa": 2.0}
"""The least times faster than batches, of those that must be twice as fast; no workload may be slower than LEAST."""

LEAST, MEAN = 0.95, 1.5
OF_DUCKDB = {"andersen": 0.3, "cspa": 0.4, "sg_graph": 0.5, "tc_dag10k_lin": 0.5}
TWO_THREADS = 1.5
HEADINGS = ("workload", "batches", "push", "times faster", "goal", "DuckDB", "of DuckDB", "goal", "two threads",
            "times one", "goal")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """The medians of one workload, in seconds; DuckDB and two threads only where there is a goal for them."""

    workload: Workload
    batches: float
    push: float
    duckdb: float | None
    two_threads: float | None


class Wrong(Exception):
    """A run failed, or gave another number of rows than is known to be right."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed, gave wrong rows, or a goal was missed."""
    options = read_options(arguments)
    chosen = [WORKLOADS[name] for name in options.names] or [each for each in ALL if not each.on_request]
    complaints: list[str] = []
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="tidelog-push-") as scratch:
        for workload in chosen:
            try:
                lines.append(measure(workload, options, Path(scratch)))
            except Wrong as reason:
                complaints.append(str(reason))
    if lines:
        mean = geometric_mean(line.batches / line.push for line in lines)
        print(f"medians of {options.repeat}, second run of a process, one thread unless said, seconds\n")
        print(markdown(HEADINGS, [cells(line) for line in lines]), end="\n\n")
        print(f"geometric mean: {mean:.2f} times faster than batches, goal ≥ {MEAN} {verdict(mean >= MEAN)}")
        complaints += [f"{line.workload.name}: a goal is MISSED" for line in lines if "MISSED" in " ".join(cells(line))]
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures generated code.")
    parser.add_argument("names", nargs="*", type=one_of(WORKLOADS), metavar="name", help=", ".join(WORKLOADS))
    parser.add_argument("--repeat", type=positive, default=3, help="runs of each, of which the median counts")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds that one run may take")
    return parser.parse_args(arguments)


def measure(workload: Workload, options: argparse.Namespace, scratch: Path) -> Line:
    """All runs of one workload, the systems taking turns."""
    facts = prepare(workload.data_set, options.data).resolve()
    has_goals = workload.name in OF_DUCKDB

    def tidelog(tier: str, threads: int) -> float:
        arguments = (tier, workload.name, str(threads), str(facts))
        said = run_file("benchmarks.push_measure", arguments, scratch / "kernels", options.timeout)
        if isinstance(said, Failure):
            raise Wrong(f"{workload.name}, {tier}, threads {threads}: {said.reason}")
        timed = json.loads(said)
        if timed["counts"] != dict(workload.counts):
            raise Wrong(f"{workload.name}, {tier}, threads {threads}: {timed['counts']}, not {dict(workload.counts)}")
        return float(timed["evaluation_seconds"])

    def duckdb() -> float:
        sample = prepare_sample(workload.inputs, scratch / "samples" / workload.name)
        arguments = ("duckdb", workload.name, "1", str(facts), str(sample))
        found = run_apart(arguments, cache=scratch / "kernels", timeout=options.timeout)
        if not isinstance(found, Measurement):
            raise Wrong(f"{workload.name}, duckdb: {found.reason}")
        return found.evaluation_seconds

    runs: dict[str, list[float]] = {"batches": [], "push": [], "duckdb": [], "two threads": []}
    for _ in range(options.repeat):
        runs["batches"].append(tidelog("vectorised", 1))
        runs["push"].append(tidelog("push", 1))
        if has_goals:
            runs["two threads"].append(tidelog("push", 2))
            runs["duckdb"].append(duckdb())
    found = {name: median(seconds) for name, seconds in runs.items() if seconds}
    return Line(workload, found["batches"], found["push"], found.get("duckdb"), found.get("two threads"))


def cells(line: Line) -> tuple[str, ...]:
    """The texts of one line of the table."""
    faster, least = line.batches / line.push, TWICE.get(line.workload.name, LEAST)
    shown = [line.workload.name, f"{line.batches:.3f}", f"{line.push:.3f}", f"{faster:.2f}", goal("≥", least, faster)]
    if line.duckdb is None or line.two_threads is None:
        return (*shown, *["–"] * 6)
    of_duckdb, of_one = line.push / line.duckdb, line.push / line.two_threads
    most = OF_DUCKDB[line.workload.name]
    return (
        *shown, f"{line.duckdb:.3f}", f"{of_duckdb:.2f}", goal("≤", most, of_duckdb),
        f"{line.two_threads:.3f}", f"{of_one:.2f}", goal("≥", TWO_THREADS, of_one),
    )  # fmt: skip


def goal(sign: str, bound: float, seen: float) -> str:
    is_met = seen >= bound if sign == "≥" else seen <= bound
    return f"{sign} {bound} {verdict(is_met)}"


def verdict(is_met: bool) -> str:
    return "met" if is_met else "MISSED"
