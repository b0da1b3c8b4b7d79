"""Which of several ways is the quickest: takes what each try has cost, says how to try next.

The way to begin with is what the analysis says. When it has cost enough, another is tried in turn with it for a few
times, and takes its place if it is clearly quicker. That costs a small share of the time, and less each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TURNS = (True, False, False, True, False, True, True, False)
"""Whether it is the turn of the other way when two are compared. What fires is tried again to see that nothing is left,
so that dear and cheap tries come in turn: in this order each way gets as many of both."""

PATIENCE = 8.0
"""How many times the cost of a comparison is spent before the next one; twice as many each time."""

LEAST = 0.02
"""Seconds that tries must have cost before ways are compared."""

QUICKER = 0.8
"""The share of the time that another way may take at most to be chosen."""


@dataclass(frozen=True, slots=True)
class Overturned:
    """Another way is chosen, for the seconds that a try took by the former one and takes by this one."""

    before: float
    after: float


class MeasuredChoice:
    """The choice among ways, of which it is said which ones have something to build before they can be used.

    `current` is the way to try next, by its number.
    """

    def __init__(self, have_to_build: Sequence[bool]) -> None:
        self._have_to_build = have_to_build
        self.current = 0
        self._settled = 0
        self._patience = PATIENCE
        self._first: float | None = None
        self._spent = 0.0
        self._tries = 0
        self._other = 0
        self._costs: list[float] | None = None

    @property
    def is_comparing(self) -> bool:
        """Whether two ways are tried in turn."""
        return self._costs is not None

    def note(self, seconds: float) -> Overturned | None:
        """Takes note of what the try cost; says so when another way is chosen by that."""
        if len(self._have_to_build) == 1:
            return None
        if self._first is None:
            # The first try looks at everything: about as much as it takes to build something.
            self._first = seconds
            return None
        if self._costs is not None:
            return self._compare(self._costs, seconds)
        self._spent += seconds
        self._tries += 1
        self._other = (self._settled + 1) % len(self._have_to_build)
        building = self._first if self._have_to_build[self._other] else 0.0
        if self._spent > max(LEAST, self._patience * (building + sum(TURNS) * self._spent / self._tries)):
            self._costs = []
            self.current = self._other
        return None

    def _compare(self, costs: list[float], seconds: float) -> Overturned | None:
        costs.append(seconds)
        if len(costs) < len(TURNS):
            self.current = self._other if TURNS[len(costs)] else self._settled
            return None
        others = sum(cost for cost, is_other in zip(costs, TURNS, strict=True) if is_other)
        before, after = (total / sum(TURNS) for total in (sum(costs) - others, others))
        is_quicker = after < QUICKER * before
        self._settled = self.current = self._other if is_quicker else self._settled
        self._patience *= 2
        self._costs, self._spent, self._tries = None, 0.0, 0
        return Overturned(before, after) if is_quicker else None
