"""`python -m benchmarks spark`: rules on Spark beside the loop over DataFrames that one writes instead, and beside
`WITH RECURSIVE` where it can say them; what a batch of `follow` and of a watch costs; how time grows with data and
partitions."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.generators import prepare
from benchmarks.names import one_of
from benchmarks.runner import Failure, run_file
from benchmarks.spark_follow import CHANGES
from benchmarks.spark_growth import growth_table
from benchmarks.spark_measure import CHANGED, LOOP, RECURSIVE, RULES, SparkFigures
from benchmarks.spark_recursive_sql import STATEMENTS
from benchmarks.table import ABSENT, markdown
from benchmarks.workloads import DEFAULT_DATA

NAME = "spark"
MASTER = "local[2]"
COMPONENT_EDGES = 1_000_000
GOALS: Mapping[str, float] = {"tc_dag10k_lin": 30, "sg_graph": 5, "andersen": 5, "components": 5, "reach": 5}
DATA_SETS: Mapping[str, str] = {"tc_dag10k_lin": "tc_dag10k"}
CHANGE_GOAL = 0.2
"""What 1,000 changes of DAG-R may take of what materialising takes."""

FOLLOW, WATCH, GROWTH = "follow", "watch", "growth"
FOLLOW_GOAL = 1.0
"""Seconds that a batch of changes may take above one that nobody looks at."""

Outcome = SparkFigures | Failure


@dataclass(frozen=True, slots=True)
class Line:
    """A workload: what rules took, what the loop took, and what SQL took where it can say the rules."""

    workload: str
    rules: Outcome
    loop: Outcome
    recursive: Outcome | None


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed, the two sides do not agree, or a goal was missed."""
    options = read_options(arguments)
    names = options.names or [*GOALS, FOLLOW, WATCH, GROWTH]
    print(f"{options.master}, seconds from a session that is ready to the answer in Parquet; one run each\n")
    complaints: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tidelog-spark-inputs-") as scratch:
        lines = [measured(name, options, Path(scratch)) for name in names if name in GOALS]
        if lines:
            print(table_of(lines), end="\n\n", flush=True)
            complaints += [complaint for line in lines for complaint in complaints_of(line)]
        if FOLLOW in names:
            complaints += show_follow(options, Path(scratch))
        if WATCH in names:
            complaints += show_watch(options, Path(scratch))
    if GROWTH in names:
        print(growth_table(options.master), end="\n\n")
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures rules on Spark.")
    known = [*GOALS, FOLLOW, WATCH, GROWTH]
    parser.add_argument("names", nargs="*", type=one_of(known), metavar="name", help=", ".join(known))
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds that one run may take")
    parser.add_argument("--master", default=MASTER, help="where Spark runs")
    return parser.parse_args(arguments)


def measured(name: str, options: argparse.Namespace, scratch: Path) -> Line:
    folder = inputs_of(name, options.data, scratch)

    def run(side: str) -> Outcome:
        arguments = (side, name, str(folder), options.master)
        said = run_file("benchmarks.spark_measure", arguments, scratch / "kernels", options.timeout)
        found = said if isinstance(said, Failure) else SparkFigures(**json.loads(said))
        print(f"{name}  {side}  {found.reason if isinstance(found, Failure) else found}", file=sys.stderr)
        return found

    run(RULES)  # compiles kernels
    return Line(name, run(RULES), run(LOOP), run(RECURSIVE) if name in STATEMENTS else None)


def show_follow(options: argparse.Namespace, scratch: Path) -> Iterator[str]:
    """Prints what a batch of changes costs; a sentence if that is too much."""
    folder = inputs_of("tc_dag10k_lin", options.data, scratch)
    said = run_file("benchmarks.spark_follow", (str(folder), options.master), scratch / "kernels", options.timeout)
    if isinstance(said, Failure):
        yield f"follow: {said.reason}"
        return
    figures = json.loads(said)
    above = figures["rules"] - figures["empty"]
    print(
        f"follow, a batch of {CHANGES} changes of DAG-R: {figures['rules']:.2f} s; an empty foreachBatch: "
        f"{figures['empty']:.2f} s; above it {above:.2f} s, goal ≤ {FOLLOW_GOAL:g}\n",
        flush=True,
    )
    if above > FOLLOW_GOAL:
        yield f"follow: {above:.2f} s above an empty batch, goal {FOLLOW_GOAL:g} MISSED"


def show_watch(options: argparse.Namespace, scratch: Path) -> Iterator[str]:
    """Prints what a batch of tuples costs that are watched; a sentence if a run failed."""
    said = run_file("benchmarks.spark_watch", (options.master,), scratch / "kernels", options.timeout)
    if isinstance(said, Failure):
        yield f"watch: {said.reason}"
        return
    header = ["UC, tuples in a batch", "matches", "empty s", "stream-stream join s", "watch s", "watch tuples/s"]
    rows = [
        [
            *(
                f"{int(size):,}",
                f"{found['matches']:,}",
                *(f"{found[side]:.2f}" for side in ("empty", "join", "watch")),
            ),
            f"{int(size) / found['watch']:,.0f}",
        ]
        for size, found in json.loads(said).items()
    ]
    print(markdown(header, rows), end="\n\n", flush=True)


def inputs_of(name: str, data: Path, scratch: Path) -> Path:
    """A folder with the facts of a workload as Parquet."""
    folder = scratch / name
    if not folder.exists():
        folder.mkdir()
        for relation, rows in facts_of(name, data):
            columns = {f"c{number}": rows[:, number] for number in range(rows.shape[1])}
            pq.write_table(pa.table(columns), folder / relation)
    return folder


def facts_of(name: str, data: Path) -> Iterator[tuple[str, np.ndarray]]:
    if name == "components":
        yield "edge", np.random.default_rng(5).integers(0, COMPONENT_EDGES, (COMPONENT_EDGES, 2))
        return
    for path in sorted(prepare(DATA_SETS.get(name, name), data).glob("*.facts")):
        yield path.stem, np.loadtxt(path, dtype=np.int64, ndmin=2)


def table_of(lines: Sequence[Line]) -> str:
    header = ["workload", "rows", "tier", "rules s", "loop s", "times faster", "goal", "WITH RECURSIVE s"]
    header += [f"{CHANGED:,} deleted s", "inserted again s", "of anew"]
    return markdown(header, [row_of(line) for line in lines])


def row_of(line: Line) -> list[str]:
    rules, loop = line.rules, line.loop
    if isinstance(rules, Failure):
        return [line.workload, ABSENT, ABSENT, rules.short, *[ABSENT] * 7]
    factor = times(line)
    bound = "over " if isinstance(loop, Failure) else ""
    shown = ABSENT if factor is None else f"{bound}{factor:.1f}"
    change = share(rules)
    return [
        line.workload, f"{rules.rows:,}", rules.tier, f"{rules.seconds:.2f}", taken(loop), shown,
        f"≥ {GOALS[line.workload]:g}", ABSENT if line.recursive is None else taken(line.recursive),
        f"{rules.delete:.2f}", f"{rules.insert:.2f}", f"{change:.2f}",
    ]  # fmt: skip


def taken(outcome: Outcome) -> str:
    """Seconds, or why there are none: a run that failed said so in its last word."""
    match outcome:
        case SparkFigures(seconds=seconds):
            return f"{seconds:.1f}"
        case Failure(short="failed", reason=reason):
            return f"failed: {reason.split()[-1]}"
        case Failure(short=short):
            return short


def times(line: Line) -> float | None:
    """How many times faster rules are; a loop that was stopped gives a lower bound."""
    if isinstance(line.rules, Failure):
        return None
    if isinstance(line.loop, SparkFigures):
        return line.loop.seconds / line.rules.seconds
    return float(line.loop.short.split()[1]) / line.rules.seconds if line.loop.short.startswith("over ") else None


def share(rules: SparkFigures) -> float:
    """What the slower of the two changes took of what materialising took."""
    return max(rules.delete or 0.0, rules.insert or 0.0) / rules.seconds


def complaints_of(line: Line) -> Iterator[str]:
    rules, loop = line.rules, line.loop
    if isinstance(rules, Failure):
        yield f"{line.workload}: {rules.reason}"
        return
    if isinstance(loop, Failure) and not loop.short.startswith("over "):
        yield f"{line.workload}, the loop: {loop.reason}"
    if isinstance(loop, SparkFigures) and loop.rows != rules.rows:
        yield f"{line.workload}: WRONG ANSWER: {rules.rows:,} rows, the loop has {loop.rows:,}"
    if isinstance(line.recursive, SparkFigures) and line.recursive.rows != rules.rows:
        yield f"{line.workload}: WRONG ANSWER: {rules.rows:,} rows, WITH RECURSIVE has {line.recursive.rows:,}"
    factor = times(line)
    if factor is not None and factor < GOALS[line.workload]:
        yield f"{line.workload}: {factor:.1f} times faster, goal {GOALS[line.workload]:g} MISSED"
    if line.workload == "tc_dag10k_lin" and share(rules) > CHANGE_GOAL:
        yield f"{line.workload}: {CHANGED:,} changes took {share(rules):.2f} of anew, goal {CHANGE_GOAL} MISSED"


if __name__ == "__main__":
    sys.exit(main())
