"""How far partitions may go: takes what each said about an exchange, returns what the next one may do.

What is certain is what no mail on its way can change any more: all before the first iteration that mail is about, and
that a partition has not reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from tidelog.pipeline.production.stage import NOTHING_SENT, Progress, Told


class Pace(Enum):
    """How many iterations partitions do between two exchanges, at most: the value."""

    SYNCHRONOUS = 1
    ASYNCHRONOUS = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """The facts before iteration `end` are those before iteration `start`."""

    start: int
    end: int


class Director:
    """What is known of a run: how many cycles are certain, how many rows came, whether it is at its end.

    Rules that go round are found in Brent's way: one state is remembered, the one after 1, 2, 4, 8 … iterations.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self.progress = Progress(horizon=pace.value - 1)
        self.cycles = 0
        self.rows = 0
        self.is_done = False
        self._most = 1

    def hear(self, told: Sequence[Told], same: Iterable[tuple[int, int]]) -> Turn | None:
        """Takes what all partitions said, and when the facts of which partition were as remembered.

        A turn, when the rules go round.
        """
        self.rows = sum(each.rows for each in told)
        sent = [each.first_sent for each in told if each.first_sent != NOTHING_SENT]
        not_done = [each.end for each in told if not each.is_done]
        self.is_done = not sent and not not_done
        self.cycles = min([*sent, *not_done, max(each.cycles for each in told)])
        turn = self._compare(len(told), list(same))
        if turn is None and not self.is_done:
            confirmed = min([*sent, *not_done])
            self.progress = Progress(confirmed + self._pace.value, confirmed, self.progress.remembered)
        return turn

    def _compare(self, partitions: int, same: list[tuple[int, int]]) -> Turn | None:
        """Looks at the states that were certain when this exchange began."""
        remembered, confirmed = self.progress.remembered, self.progress.confirmed
        for iteration in range(remembered + 1, confirmed + 1):
            if sum(each == iteration for _, each in same) == partitions:
                return Turn(remembered, iteration)
            if iteration - remembered == self._most:
                self._most *= 2
                self.progress = Progress(self.progress.horizon, confirmed, iteration)
                return None
        return None
