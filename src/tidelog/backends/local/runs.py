"""The delta of a relation of pairs in runs: rows with the same first id lie side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import Rows
from tidelog.facts.relation import Relation
from tidelog.kernels import jit
from tidelog.kernels.runs import find_runs, sort_into_runs

Numbers = npt.NDArray[np.int64]

_MANY_IDS = 8
"""Ids for each row, from which on it takes longer to look at all ids than to read the rows as they came."""


class Runs:
    """Rows of `relation` that were stored one after the other."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._asked: tuple[int, ...] = ()
        self._asking: tuple[int, ...] = ()
        self._rows: Rows | None = None
        self._sorting: Sorting | None = None
        self._room: Numbers = np.empty((2, 0), np.int64)

    @property
    def rows_waiting(self) -> int:
        """How many rows the delta has."""
        return self._relation.stored - self._relation.delta_start

    def catch_up(self) -> None:
        """Takes in what is the delta now, so that threads can read it."""
        self.delta()

    def delta(self) -> Rows:
        """The delta."""
        return self.between(self._relation.delta_start, self._relation.stored)

    def between(self, start: int, end: int) -> Rows:
        """The rows from number `start` up to `end` that were not removed, kept until others are asked for."""
        for sort in self._begin(start, end, parts=1):
            sort()
        self.end()
        return self._read(start, end) if self._rows is None else self._rows

    def shares(self, parts: int) -> list[Callable[[], None]]:
        """What there is to do to catch up, as tasks of which several may run at the same time. Then it must `end`."""
        return self._begin(self._relation.delta_start, self._relation.stored, parts)

    def end(self) -> None:
        """Is up to date, once what `shares` gave is done."""
        if self._sorting is not None:
            self._asked, self._rows, self._sorting = self._asking, self._sorting.rows, None

    def _begin(self, start: int, end: int, parts: int) -> list[Callable[[], None]]:
        self._asking = (start, end, self._relation.generation, self._relation.removed)
        self._sorting = None
        if self._asking == self._asked:
            return []
        pairs = self._read(start, end)
        # The room is kept: fresh memory takes as long as sorting.
        if pairs.shape[0] >= self._room.shape[1]:
            self._room = np.empty((2, 2 * pairs.shape[0] + 1), np.int64)
        self._sorting = Sorting(pairs, parts, self._room)
        return self._sorting.tasks()

    def _read(self, start: int, end: int) -> Rows:
        return np.ascontiguousarray(self._relation.living(start, end))


class Sorting:
    """Pairs on their way into runs, in so many parts, a power of two, with `room` for as many numbers as there are.

    Once all `tasks` are done, `rows` are the same pairs with those of an id side by side; None where most of these lie
    so already, or ids are so many that sorting costs more than reading. It does not hold its tasks, which hold it: rows
    are to be free before Python looks for such circles.
    """

    def __init__(self, pairs: Rows, parts: int, room: Numbers) -> None:
        jit.work(pairs.shape[0])
        self._packed = pairs.view(np.int64).reshape(-1)
        self._parts = parts
        self._out, begins = room[0, : self._packed.size], room[1]
        runs, self._reach = map(int, find_runs(self._packed, begins))
        begins[runs] = self._packed.size
        self._begins = begins[: runs + 1]
        self._is_sorted = False

    def tasks(self) -> list[Callable[[], None]]:
        """What there is to do: one task for each part, or nothing where that is not worth it."""
        is_worth_it = self._reach <= _MANY_IDS * self._packed.size
        return [partial(self._sort, part) for part in range(self._parts)] if is_worth_it else []

    def _sort(self, part: int) -> None:
        room = np.empty(self._begins.size, np.int32), np.zeros(self._reach + 1, np.int64)
        if sort_into_runs(self._packed, self._begins, part, self._parts, *room, self._out):
            self._is_sorted = True

    @property
    def rows(self) -> Rows | None:
        return self._out.view(np.int32).reshape(-1, 2) if self._is_sorted else None
