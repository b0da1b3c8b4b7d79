"""What one engine took for one problem, and what it answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks.rivals.problems import Facts, Row

Seconds: TypeAlias = float


@dataclass(frozen=True, slots=True)
class Run:
    """CPU seconds to give the facts and to run the rules, and what reads the answer afterwards."""

    load: Seconds
    run: Seconds
    read: Callable[[], Iterable[Row]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """CPU seconds to give the facts and to run the rules, and rows of the answer."""

    load: Seconds
    run: Seconds
    answer: list[Row]

    @property
    def total(self) -> Seconds:
        return self.load + self.run


def least(runs: Iterable[Run]) -> Outcome:
    """The run that took least, with its answer."""
    best = min(runs, key=lambda run: run.load + run.run)
    return Outcome(best.load, best.run, sorted(set(best.read())))


def print_outcome(problems: Mapping[str, Callable[[Facts], Run]], arguments: list[str], unmeasured: int = 0) -> None:
    """Prints the outcome of `PROBLEM FACTS REPEAT`: the least of so many runs, after some that are not measured."""
    problem, path, repeat = arguments
    facts: Facts = json.loads(Path(path).read_text())
    for _ in range(unmeasured):
        problems[problem](facts)
    print(to_text(least(problems[problem](facts) for _ in range(int(repeat)))))


def to_text(outcome: Outcome) -> str:
    return json.dumps(asdict(outcome))


def from_text(text: str) -> Outcome:
    said = json.loads(text)
    return Outcome(said["load"], said["run"], [tuple(row) for row in said["answer"]])
