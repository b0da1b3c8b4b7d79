"""`python -m benchmarks tiers`: whether starting with batches and compiling meanwhile ever costs time.

Whole runs of `auto` beside `vectorised`: the cases of the test suite, a program of a hundred rules, and the workloads
with no generated code on disk yet.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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

AGAIN = 5
"""How many times as often a case is measured again that seems to cost too much: of many short runs some are always held
up by something else."""

HEADINGS = ("what", "vectorised", "auto", "ratio", "goal")


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed or a goal was missed."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Compares whole runs.")
    parser.add_argument("names", nargs="*", type=one_of(WORKLOADS), metavar="name", help=", ".join(WORKLOADS))
    parser.add_argument("--repeat", type=int, default=5, help="runs of each, of which the median counts")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    options = parser.parse_args(arguments)
    chosen = [WORKLOADS[name] for name in options.names] or [each for each in ALL if not each.on_request]
    lines = [*cases(options.repeat), line(f"{RULES} rules", *hundred_rules(options.repeat))]
    with tempfile.TemporaryDirectory(prefix="tidelog-tiers-") as scratch:
        lines += [line(workload.name, *cold(workload, options, Path(scratch))) for workload in chosen]
    print(f"seconds, medians of {options.repeat} (workloads: of {cold_runs(options.repeat)}), whole runs\n")
    print(markdown(HEADINGS, lines))
    return 1 if any("MISSED" in line[-1] for line in lines) else 0


@dataclass(frozen=True, slots=True)
class Case:
    """A program of the test suite, and what it took."""

    path: Path
    batches: float
    auto: float

    @property
    def ratio(self) -> float:
        return self.auto / self.batches


def cases(repeat: int) -> list[tuple[str, ...]]:
    """Two lines: all cases one after the other, and the worst of them."""
    found: list[Case] = []
    for path in sorted(CASES.glob("*/*/program.dl")):
        # Some cases are about errors, and some have facts that only their test knows how to read.
        with suppress(TidelogError):
            found.append(Case(path, *pairs_of_runs(partial(run_case, path), repeat)))
    suspects = [each for each in found if each.ratio > MOST]
    for each in suspects:
        found[found.index(each)] = Case(each.path, *pairs_of_runs(partial(run_case, each.path), AGAIN * repeat))
    print(f"{len(suspects)} of {len(found)} cases measured again, {AGAIN} times as often\n")
    worst = max(found, key=lambda each: each.ratio)
    return [
        line(
            f"{len(found)} cases of the test suite",
            sum(each.batches for each in found),
            sum(each.auto for each in found),
        ),
        line(f"the worst of them, {worst.path.parent.name}", worst.batches, worst.auto),
    ]


def run_case(path: Path, tier: Tier) -> float:
    started = perf_counter()
    with tidelog.open(tidelog.parse_file(str(path)), tier=tier) as session:
        session.load_inputs(path.parent / "facts")
        session.materialize()
    return perf_counter() - started


def hundred_rules(repeat: int) -> tuple[float, float]:
    """Rules that all take long enough to be compiled: the first answer must not wait for them."""
    program = tidelog.parse(hundred())
    edges = [(number % NODES, number * 7_919 % (NODES + 1)) for number in range(4 * NODES)]

    def run(tier: Tier) -> float:
        started = perf_counter()
        with tidelog.open(program, tier=tier, maintenance=tidelog.Maintenance(modules=False)) as session:
            session.insert("edge", edges)
            session.materialize()
        return perf_counter() - started

    return pairs_of_runs(run, repeat)


def hundred() -> str:
    """Each rule joins the relation of the one before with edges."""
    texts = [".decl edge(x: number, y: number)", ".decl p0(x: number, y: number)", "p0(x, y) :- edge(x, y)."]
    for number in range(1, RULES):
        texts.append(f".decl p{number}(x: number, y: number)")
        texts.append(f"p{number}(x, z) :- p{number - 1}(x, y), edge(y, z), x != {number}.")
    return "\n".join(texts)


def cold(workload: Workload, options: argparse.Namespace, scratch: Path) -> tuple[float, float]:
    """A workload in a process of its own, with kernels on disk and no generated code."""
    facts = str(prepare(workload.data_set, options.data).resolve())
    kernels = scratch / "kernels"

    def run_with(tier: Tier, cache: Path) -> float:
        arguments = (tier.value, workload.name, "1", facts, "once")
        said = run_file("benchmarks.push_measure", arguments, cache, 600.0)
        if isinstance(said, Failure):
            raise SystemExit(f"{workload.name}, {tier.value}: {said.reason}")
        return float(json.loads(said)["evaluation_seconds"])

    def run(tier: Tier) -> float:
        # Another process may still be compiling into the folder when the run is over.
        with tempfile.TemporaryDirectory(prefix="tidelog-tiers-", ignore_cleanup_errors=True) as copied:
            shutil.copytree(kernels, copied, dirs_exist_ok=True)
            return run_with(tier, Path(copied))

    run_with(Tier.VECTORISED, kernels)
    return pairs_of_runs(run, cold_runs(options.repeat))


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
