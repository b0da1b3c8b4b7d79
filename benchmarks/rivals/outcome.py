"""What one engine took for one problem, and what it answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TypeAlias

from benchmarks.rivals.problems import Row

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


def to_text(outcome: Outcome) -> str:
    return json.dumps(asdict(outcome))


def from_text(text: str) -> Outcome:
    said = json.loads(text)
    return Outcome(said["load"], said["run"], [tuple(row) for row in said["answer"]])
