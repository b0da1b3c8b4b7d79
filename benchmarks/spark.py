"""`python -m benchmarks spark`: rules on Spark beside the loop over DataFrames that one writes instead."""

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
from benchmarks.runner import Failure, run_file
from benchmarks.spark_measure import CHANGED, LOOP, RULES, SparkFigures
from benchmarks.table import ABSENT, markdown
from benchmarks.workloads import DEFAULT_DATA

NAME = "spark"
MASTER = "local[2]"
COMPONENT_EDGES = 1_000_000
GOALS: Mapping[str, float] = {"tc_dag10k_lin": 30, "sg_graph": 5, "andersen": 5, "components": 5, "reach": 5}
DATA_SETS: Mapping[str, str] = {"tc_dag10k_lin": "tc_dag10k"}
CHANGE_GOAL = 0.2
"""What 1,000 changes of DAG-R may take of what materialising takes."""

Outcome = SparkFigures | Failure


@dataclass(frozen=True, slots=True)
class Line:
    """A workload: what rules took and what the loop took."""

    workload: str
    rules: Outcome
    loop: Outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed, the two sides do not agree, or a goal was missed."""
    options = read_options(arguments)
    with tempfile.TemporaryDirectory(prefix="tidelog-spark-inputs-") as scratch:
        lines = [measured(name, options, Path(scratch)) for name in options.names or GOALS]
    print(f"{MASTER}, seconds from a session that is ready to the answer in Parquet; one run each\n")
    print(table_of(lines), end="\n\n")
    complaints = [complaint for line in lines for complaint in complaints_of(line)]
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures rules on Spark.")
    parser.add_argument("names", nargs="*", choices=[[], *GOALS], metavar="name", help=", ".join(GOALS))
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds that one run may take")
    parser.add_argument("--master", default=MASTER, help="where Spark runs")
    return parser.parse_args(arguments)


def measured(name: str, options: argparse.Namespace, scratch: Path) -> Line:
    folder = scratch / name
    for relation, rows in facts_of(name, options.data):
        folder.mkdir(exist_ok=True)
        columns = {f"c{number}": rows[:, number] for number in range(rows.shape[1])}
        pq.write_table(pa.table(columns), folder / relation)

    def run(side: str) -> Outcome:
        arguments = (side, name, str(folder), options.master)
        said = run_file("benchmarks.spark_measure", arguments, scratch / "kernels", options.timeout)
        found = said if isinstance(said, Failure) else SparkFigures(**json.loads(said))
        print(f"{name}  {side}  {found.reason if isinstance(found, Failure) else found}", file=sys.stderr)
        return found

    run(RULES)  # compiles kernels
    return Line(name, run(RULES), run(LOOP))


def facts_of(name: str, data: Path) -> Iterator[tuple[str, np.ndarray]]:
    if name == "components":
        yield "edge", np.random.default_rng(5).integers(0, COMPONENT_EDGES, (COMPONENT_EDGES, 2))
        return
    for path in sorted(prepare(DATA_SETS.get(name, name), data).glob("*.facts")):
        yield path.stem, np.loadtxt(path, dtype=np.int64, ndmin=2)


def table_of(lines: Sequence[Line]) -> str:
    header = ["workload", "rows", "tier", "rules s", "loop s", "times faster", "goal"]
    header += [f"{CHANGED:,} deleted s", "inserted again s", "of anew"]
    return markdown(header, [row_of(line) for line in lines])


def row_of(line: Line) -> list[str]:
    rules, loop = line.rules, line.loop
    if isinstance(rules, Failure):
        return [line.workload, ABSENT, ABSENT, rules.short, *[ABSENT] * 6]
    taken = f"{loop.seconds:.1f}" if isinstance(loop, SparkFigures) else loop.short
    factor = times(line)
    shown = ABSENT if factor is None else f"{factor:.1f}"
    change = share(rules)
    return [
        line.workload, f"{rules.rows:,}", rules.tier, f"{rules.seconds:.2f}", taken, shown,
        f"≥ {GOALS[line.workload]:g}", f"{rules.delete:.2f}", f"{rules.insert:.2f}", f"{change:.2f}",
    ]  # fmt: skip


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
    factor = times(line)
    if factor is not None and factor < GOALS[line.workload]:
        yield f"{line.workload}: {factor:.1f} times faster, goal {GOALS[line.workload]:g} MISSED"
    if line.workload == "tc_dag10k_lin" and share(rules) > CHANGE_GOAL:
        yield f"{line.workload}: {CHANGED:,} changes took {share(rules):.2f} of anew, goal {CHANGE_GOAL} MISSED"


if __name__ == "__main__":
    sys.exit(main())
