"""`python -m benchmarks rivals`: Tidelog beside CLIPS (clipspy) and durable_rules, on problems that all can state.

Each engine runs in a process of its own, on the same facts, and its answer is checked without any engine. Figures are
CPU seconds to give the facts and to run the rules, with the rules read and compiled before; the least of several runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks.rivals.outcome import Outcome, from_text
from benchmarks.rivals.problems import Facts, Row, drawing, joined, labels, parties, wrong_rows
from benchmarks.table import ABSENT, markdown
from benchmarks.yield_workloads import UC

NAME = "rivals"
ROOT = Path(__file__).parent.parent.parent
TIDELOG = "benchmarks.rivals.tidelog_side"

Asked: TypeAlias = tuple[str, str]
"""The file that runs an engine, and how the problem is called there."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another engine: how its package is imported and installed, and the file that runs it."""

    name: str
    imported: str
    package: str
    file: str


CLIPS = Rival("CLIPS", "clips", "clipspy==1.0.6", "benchmarks.rivals.clips_side")
DURABLE = Rival("durable_rules", "durable", "durable_rules==2.0.28", "benchmarks.rivals.durable_side")
RIVALS = (CLIPS, DURABLE)


@dataclass(frozen=True, slots=True)
class Problem:
    """Facts of one size, how each engine's file calls the problem, and what says what is wrong with an answer.

    CLIPS is asked in the ways of `forms` too. With `arriving` it is about tuples per second.
    """

    name: str
    size: str
    asked: str
    facts: Callable[[], Facts]
    wrong: Callable[[Facts, Sequence[Row]], str]
    goal: float
    arriving: int = 0
    forms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no outcome."""

    said: str


NOT_ASKED = Failure("not asked")


@dataclass(frozen=True, slots=True)
class Settings:
    """The interpreter that has the rivals, runs of each, and the seconds that a process may take."""

    python: str
    repeat: int
    timeout: int


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when Tidelog failed or gave a wrong answer."""
    options = read_options(arguments)
    settings = Settings(options.python, options.repeat, options.timeout)
    rivals = [rival for rival in RIVALS if is_there(rival, settings.python)]
    for rival in RIVALS:
        if rival not in rivals:
            print(f"{rival.name} is not there: `{settings.python} -m pip install {rival.package}` brings it\n")
    print(
        f"CPU seconds, least of {settings.repeat} runs; a process is stopped after {settings.timeout} s\n",
        flush=True,
    )
    complaints: list[str] = []
    for name in options.names or list(PROBLEMS):
        rows = []
        given_up: set[Asked] = set()
        for problem in PROBLEMS[name]:
            outcomes = run(problem, [each for each in asked_of(problem, rivals) if each not in given_up], settings)
            given_up |= {each for each, outcome in outcomes.items() if isinstance(outcome, Failure)}
            rows.append(cells(problem, outcomes, rivals))
            print(f"{problem.name} {problem.size}: {', '.join(rows[-1])}", file=sys.stderr)
            ours = outcomes.get((TIDELOG, problem.asked))
            if isinstance(ours, Failure):
                complaints.append(f"{problem.name} {problem.size}: {ours.said}")
        print(markdown(headings(PROBLEMS[name][0], rivals), rows), end="\n\n", flush=True)
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {NAME}", description="Measures Tidelog beside other rule engines."
    )
    parser.add_argument("names", nargs="*", choices=list(PROBLEMS), help="what to compare on (default: everything)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the other engines")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which the least counts")
    parser.add_argument("--timeout", type=int, default=300, help="seconds that the runs of an engine may take")
    return parser.parse_args(arguments)


def is_there(rival: Rival, python: str) -> bool:
    """Whether an interpreter has the engine."""
    asked = subprocess.run([python, "-c", f"import {rival.imported}"], capture_output=True, check=False)
    return asked.returncode == 0


def asked_of(problem: Problem, rivals: Sequence[Rival]) -> Iterator[Asked]:
    """The engines, Tidelog first, with the ways they are asked."""
    yield TIDELOG, problem.asked
    for rival in rivals:
        yield rival.file, problem.asked
        if rival is CLIPS:
            yield from ((rival.file, form) for form in problem.forms)


def run(problem: Problem, asked: Sequence[Asked], settings: Settings) -> Mapping[Asked, Outcome | Failure]:
    """What came of each."""
    facts = problem.facts()
    found: dict[Asked, Outcome | Failure] = {}
    with tempfile.TemporaryDirectory(prefix="tidelog-rivals-") as scratch:
        path = Path(scratch) / "facts.json"
        path.write_text(json.dumps(facts))
        for file, form in asked:
            python = sys.executable if file == TIDELOG else settings.python
            outcome = run_apart([python, "-m", file, form, str(path), str(settings.repeat)], settings)
            if isinstance(outcome, Outcome) and (wrong := problem.wrong(facts, outcome.answer)):
                outcome = Failure(f"WRONG: {wrong} ({shown(problem, outcome)})")
            found[file, form] = outcome
    return found


def run_apart(command: list[str], settings: Settings) -> Outcome | Failure:
    """What a process says."""
    found_in = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found_in))}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=settings.timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return Failure(f"stopped after {settings.timeout} s")
    if done.returncode or not done.stdout:
        said = done.stderr.strip().splitlines() or ["no message"]
        return Failure(f"failed with exit code {done.returncode}: {said[-1][:80]}")
    return from_text(done.stdout.splitlines()[-1])


def headings(problem: Problem, rivals: Sequence[Rival]) -> list[str]:
    unit = "tuples/s" if problem.arriving else "s"
    header = [problem.name, f"Tidelog {unit}"]
    for rival in rivals:
        header += [f"{rival.name} {unit}", "times faster"]
        header += [part for form in problem.forms if rival is CLIPS for part in (f"{form} {unit}", "times faster")]
    return [*header, "goal"]


def cells(problem: Problem, outcomes: Mapping[Asked, Outcome | Failure], rivals: Sequence[Rival]) -> list[str]:
    """A line of the table; an engine that was wrong or stopped at a smaller size is not asked."""
    ours, *others = (outcomes.get(each, NOT_ASKED) for each in asked_of(problem, rivals))
    row = [problem.size, shown(problem, ours)]
    for theirs in others:
        row += [shown(problem, theirs), times(problem, ours, theirs)]
    return [*row, f"≥ {problem.goal:g} ×"]


def shown(problem: Problem, outcome: Outcome | Failure) -> str:
    """Tuples per second, or seconds."""
    match outcome:
        case Failure(said=said):
            return said
        case Outcome(run=seconds) if problem.arriving:
            return f"{problem.arriving / seconds:,.0f}"
        case Outcome():
            return f"{outcome.total:.4f}"


def times(problem: Problem, ours: Outcome | Failure, theirs: Outcome | Failure) -> str:
    """How many times less time ours took, and whether that is the goal."""
    if isinstance(ours, Failure) or isinstance(theirs, Failure):
        return ABSENT
    ratio = theirs.run / ours.run if problem.arriving else theirs.total / ours.total
    return f"{ratio:.2g} {'met' if ratio >= problem.goal else 'MISSED'}" if ratio < 100 else f"{ratio:,.0f} met"


def watch_problems() -> Iterator[Problem]:
    for asked in ("watch-one-by-one", "watch-in-batches"):
        for size in (10_000, 50_000, 100_000):
            yield Problem("UC", f"{asked}, {size:,}", asked, channels(size), wrong_matches, 50, size // 2)


def channels(size: int) -> Callable[[], Facts]:
    """The tuples of UC with half of `near` as arriving."""

    def make() -> Facts:
        found: Facts = {
            name: [(first, second) for first, second in rows.tolist()] for name, rows in UC.tuples(size).items()
        }
        arriving, found["near"] = found["near"][: size // 2], found["near"][size // 2 :]
        return {**found, "arriving": arriving}

    return make


def wrong_matches(facts: Facts, answer: Sequence[Row]) -> str:
    wanted = joined({**facts, "near": [*facts["near"], *facts["arriving"]]})
    return "" if set(answer) == wanted else f"{len(answer):,} matches of {len(wanted):,}"


def wrong_labels(facts: Facts, answer: Sequence[Row]) -> str:
    wanted = labels(facts)
    return "" if set(answer) == wanted else f"{len(answer):,} labels, not {len(wanted):,}"


PROBLEMS: Mapping[str, tuple[Problem, ...]] = {
    "watch": tuple(watch_problems()),
    "manners": tuple(
        Problem(
            "Manners",
            f"{count:,} × {guests}",
            "manners",
            lambda count=count, guests=guests: parties(count, guests),
            wrong_rows,
            20,
            forms=("manners-newest-first",),
        )
        for count, guests in ((1, 16), (1, 32), (1, 64), (1, 128), (10, 32), (100, 32), (1_000, 32))
    ),
    "waltz": tuple(
        Problem("Waltz", f"{regions:,} regions", "waltz", lambda regions=regions: drawing(regions), wrong_labels, 20)
        for regions in (12, 50, 100, 400, 1_000, 2_000)
    ),
}
