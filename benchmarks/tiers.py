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
from benchmarks.hundred_rules import RULES
from benchmarks.names import one_of, positive
from benchmarks.runner import Failure, run_file
from benchmarks.table import markdown
from benchmarks.workloads import ALL, DEFAULT_DATA, WORKLOADS, Workload
from tidelog import Tier
from tidelog.errors import TidelogError

NAME = "tiers"
MOST = 1.1
CASES = Path(__file__).parent.parent / "tests" / "cases"

AGAIN = 5
"""How many times as often a case is measured again that seems to cost too much: of many short runs some are always held
up by something else."""

HEADINGS = ("what", "vectorised", "auto", "ratio", "goal")


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed or a goal was missed."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Compares whole runs.")
    parser.add_argument("names", nargs="*", type=one_of(WORKLOADS), metavar="name", help=", ".join(WORKLOADS))
    parser.add_argument("--repeat", type=positive, default=5, help="runs of each, of which the median counts")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    options = parser.parse_args(arguments)
    chosen = [WORKLOADS[name] for name in options.names] or [each for each in ALL if not each.on_request]
    lines = cases(options.repeat)
    with tempfile.TemporaryDirectory(prefix="tidelog-tiers-") as scratch:
        kernels = Path(scratch)
        lines.append(hundred_rules(options, kernels))
        lines += [cold_workload(workload, options, kernels) for workload in chosen]
    print(f"seconds, medians of {options.repeat} (below the cases: of {times_cold(options.repeat)}), whole runs\n")
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


def cold_workload(workload: Workload, options: argparse.Namespace, kernels: Path) -> tuple[str, ...]:
    """A workload with no generated code on disk."""
    facts = str(prepare(workload.data_set, options.data).resolve())

    def run(tier: Tier, cache: Path) -> float:
        said = said_by("benchmarks.push_measure", (tier.value, workload.name, "1", facts, "once"), cache)
        return float(json.loads(said)["evaluation_seconds"])

    return line(workload.name, *cold_runs(run, options, kernels))


def hundred_rules(options: argparse.Namespace, kernels: Path) -> tuple[str, ...]:
    """A hundred rules of which code is asked for before they have answered."""
    asked: list[int] = []

    def run(tier: Tier, cache: Path) -> float:
        said = json.loads(said_by("benchmarks.hundred_rules", (tier.value,), cache))
        if tier is Tier.AUTO:
            asked.append(said["asked"])
        return float(said["seconds"])

    seconds = cold_runs(run, options, kernels)
    return line(f"{RULES} rules, {min(asked)} of them to be compiled", *seconds)


def cold_runs(run: Callable[[Tier, Path], float], options: argparse.Namespace, kernels: Path) -> tuple[float, float]:
    """The medians for batches and for auto of runs with kernels on disk, and no generated code."""

    def run_cold(tier: Tier) -> float:
        with tempfile.TemporaryDirectory(prefix="tidelog-tiers-") as copied:
            shutil.copytree(kernels, copied, dirs_exist_ok=True)
            return run(tier, Path(copied))

    run(Tier.VECTORISED, kernels)
    return pairs_of_runs(run_cold, times_cold(options.repeat))


def said_by(name: str, arguments: tuple[str, ...], cache: Path) -> str:
    """What a file of this package prints, with what is compiled in that folder."""
    said = run_file(name, arguments, cache, 600.0)
    if isinstance(said, Failure):
        raise SystemExit(f"{' '.join((name, *arguments))}: {said.reason}")
    return said


def times_cold(repeat: int) -> int:
    return (repeat + 1) // 2


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
