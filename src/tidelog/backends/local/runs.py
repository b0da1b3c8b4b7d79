"""The delta of a relation of pairs in runs: rows with the same first id lie side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from tidelog.facts.large_arrays import empty
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
        self._room = SortingRoom()

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
        self._sorting = Sorting(pairs, parts, self._room)
        return self._sorting.tasks

    def _read(self, start: int, end: int) -> Rows:
        return np.ascontiguousarray(self._relation.living(start, end))


class SortingRoom:
    """Where pairs are sorted into runs. It is kept: fresh memory takes as long as sorting."""

    def __init__(self) -> None:
        self.out: Numbers = np.empty(0, np.int64)
        self.begins: Numbers = np.empty(1, np.int64)
        self._own: list[npt.NDArray[np.int32]] = []
        self._places: list[Numbers] = []

    def reserve(self, pairs: int, parts: int) -> None:
        """Has room for so many pairs, to be sorted in so many parts."""
        if pairs > self.out.size:
            self.out, self.begins = empty((2 * pairs,), np.int64), empty((2 * pairs + 1,), np.int64)
        self._own += [np.empty(0, np.int32) for _ in range(parts - len(self._own))]
        self._places += [np.empty(0, np.int64) for _ in range(parts - len(self._places))]

    def of_part(self, part: int, runs: int, places: int) -> tuple[npt.NDArray[np.int32], Numbers]:
        """What a part needs for so many runs, and a zero for each of so many places."""
        if runs > self._own[part].size:
            self._own[part] = empty((2 * runs,), np.int32)
        if places > self._places[part].size:
            self._places[part] = empty((2 * places,), np.int64)
        self._places[part][:places] = 0
        return self._own[part][:runs], self._places[part][:places]


class Sorting:
    """Pairs on their way into runs, in so many parts, a power of two.

    Once all `tasks` are done, `rows` are the same pairs with those of an id side by side; None where most of these lie
    so already, or ids are so many that sorting costs more than reading.
    """

    def __init__(self, pairs: Rows, parts: int, room: SortingRoom) -> None:
        jit.work(pairs.shape[0])
        room.reserve(pairs.shape[0], parts)
        self._packed = pairs.view(np.int64).reshape(-1)
        self._parts = parts
        self._room = room
        self._out, begins = room.out[: self._packed.size], room.begins
        runs, self._reach = map(int, find_runs(self._packed, begins))
        begins[runs] = self._packed.size
        self._begins = begins[: runs + 1]
        self._is_sorted = False

    @property
    def tasks(self) -> list[Callable[[], None]]:
        """What there is to do. Nothing holds on to it: it holds the pairs."""
        is_worth_it = self._reach <= _MANY_IDS * self._packed.size
        return [partial(self._sort, part) for part in range(self._parts)] if is_worth_it else []

    def _sort(self, part: int) -> None:
        room = self._room.of_part(part, self._begins.size, self._reach + 1)
        if sort_into_runs(self._packed, self._begins, part, self._parts, *room, self._out):
            self._is_sorted = True

    @property
    def rows(self) -> Rows | None:
        return self._out.view(np.int32).reshape(-1, 2) if self._is_sorted else None
