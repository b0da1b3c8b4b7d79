"""`python -m benchmarks tiers`: whether starting with batches and compiling meanwhile ever costs time.

Whole runs of `auto` beside `vectorised`: the cases of the test suite, a program of a hundred rules, and the workloads
with no generated code on disk yet.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import perf_counter

import tidelog
from benchmarks.generators import prepare
from benchmarks.names import one_of
from benchmarks.runner import Failure, run_file
from benchmarks.table import markdown
from benchmarks.workloads import ALL, DEFAULT_DATA, WORKLOADS, Workload
from tidelog import Tier
from tidelog.errors import TidelogError

NAME = "tiers"
MOST = 1.1
CASES = Path(__file__).parent.parent / "tests" / "cases"
RULES, NODES = 100, 400
HEADINGS = ("what", "vectorised", "auto", "ratio", "goal")


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed or a goal was missed."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Compares whole runs.")
    parser.add_argument("names", nargs="*", type=one_of(WORKLOADS), metavar="name", help=", ".join(WORKLOADS))
    parser.add_argument("--repeat", type=int, default=5, help="runs of each, of which the median counts")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    options = parser.parse_args(arguments)
    chosen = [WORKLOADS[name] for name in options.names] or [each for each in ALL if not each.on_request]
    lines = [cases(options.repeat), hundred_rules(options.repeat)]
    lines += [cold(workload, options) for workload in chosen]
    print(f"seconds, medians of {options.repeat} (workloads: of {cold_runs(options.repeat)}), whole runs\n")
    print(markdown(HEADINGS, lines))
    return 1 if any("MISSED" in line[-1] for line in lines) else 0


def cases(repeat: int) -> tuple[str, ...]:
    """All cases one after the other: what is worst among them is said too."""
    found: list[tuple[float, float, str]] = []
    for path in sorted(CASES.glob("*/*/program.dl")):
        # Some cases are about errors, and some have facts that only their test knows how to read.
        with suppress(TidelogError):
            runs = pairs_of_runs(lambda tier, path=path: run_case(path, tier), repeat)  # type: ignore[misc]
            found.append((*runs, path.parent.name))
    batches, auto = sum(each[0] for each in found), sum(each[1] for each in found)
    slowest = max(found, key=lambda each: each[1] / each[0])
    print(f"{len(found)} cases; the worst is {slowest[2]}: {slowest[1] / slowest[0]:.2f} of {slowest[0]:.4f} s\n")
    return line(f"{len(found)} cases of the test suite", batches, auto)


def run_case(path: Path, tier: Tier) -> float:
    started = perf_counter()
    with tidelog.open(tidelog.parse_file(str(path)), tier=tier) as session:
        session.load_inputs(path.parent / "facts")
        session.materialize()
    return perf_counter() - started


def hundred_rules(repeat: int) -> tuple[str, ...]:
    """Rules that all take long enough to be compiled: the first answer must not wait for them."""
    program = tidelog.parse(hundred())
    edges = [(number % NODES, number * 7_919 % (NODES + 1)) for number in range(4 * NODES)]

    def run(tier: Tier) -> float:
        started = perf_counter()
        with tidelog.open(program, tier=tier, maintenance=tidelog.Maintenance(modules=False)) as session:
            session.insert("edge", edges)
            session.materialize()
        return perf_counter() - started

    return line(f"{RULES} rules", *pairs_of_runs(run, repeat))


def hundred() -> str:
    """Each rule joins the relation of the one before with edges."""
    texts = [".decl edge(x: number, y: number)", ".decl p0(x: number, y: number)", "p0(x, y) :- edge(x, y)."]
    for number in range(1, RULES):
        texts.append(f".decl p{number}(x: number, y: number)")
        texts.append(f"p{number}(x, z) :- p{number - 1}(x, y), edge(y, z), x != {number}.")
    return "\n".join(texts)


def cold(workload: Workload, options: argparse.Namespace) -> tuple[str, ...]:
    """A workload in a process of its own, with kernels on disk and no generated code."""
    facts = str(prepare(workload.data_set, options.data).resolve())

    def run(tier: Tier) -> float:
        # Another process may still be compiling into the folder when the run is over.
        with tempfile.TemporaryDirectory(prefix="tidelog-tiers-", ignore_cleanup_errors=True) as scratch:
            arguments = (tier.value, workload.name, "1", facts)
            said = run_file("benchmarks.push_measure", ("vectorised", *arguments[1:]), Path(scratch), 600.0)
            said = run_file("benchmarks.push_measure", (*arguments, "once"), Path(scratch), 600.0)
            if isinstance(said, Failure):
                raise SystemExit(f"{workload.name}, {tier.value}: {said.reason}")
            return float(json.loads(said)["evaluation_seconds"])

    return line(workload.name, *pairs_of_runs(run, cold_runs(options.repeat)))


def cold_runs(repeat: int) -> int:
    return max(1, repeat // 2)


def pairs_of_runs(run: Callable[[Tier], float], repeat: int) -> tuple[float, float]:
    """The medians for batches and for auto, taking turns."""
    run(Tier.VECTORISED)
    seconds = [(run(Tier.VECTORISED), run(Tier.AUTO)) for _ in range(repeat)]
    return median(each[0] for each in seconds), median(each[1] for each in seconds)


def line(what: str, batches: float, auto: float) -> tuple[str, ...]:
    ratio = auto / batches
    return what, f"{batches:.3f}", f"{auto:.3f}", f"{ratio:.2f}", f"≤ {MOST} {'met' if ratio <= MOST else 'MISSED'}"


if __name__ == "__main__":
    sys.exit(main())
