"""Where generated code puts the rows of a head: the arrays of a relation, lent while it runs."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import IdSet, PairSet, RowSet
from tidelog.facts.relation import Relation
from tidelog.kernels.push import (
    COUNTERS,
    DERIVED,
    ENTRIES,
    FOUND,
    ROWS,
    USED,
    WAITING,
    WAITING_ROOM,
    settle_pairs,
    settle_rows,
)

Arrays: TypeAlias = tuple[npt.NDArray[Any] | int, ...]

_ROOM = 1 << 16
"""Rows for which there is room behind those that are there. What is never written to takes no memory."""


class Sink(Protocol):
    """A relation that takes pushed rows."""

    def arrays(self) -> Arrays:
        """Arrays to push to, until the next call of another method. What was pushed before is settled."""
        ...

    def make_room(self) -> None:
        """Makes room for what the counters say was lacking."""
        ...

    def settle(self) -> int:
        """Stages what was pushed; how many rows were derived since the last time, known ones included."""
        ...


class IdSink:
    """Takes ids."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._counters = np.zeros(COUNTERS, np.int64)
        self._settled = 0

    def arrays(self) -> Arrays:
        self._settle_found()
        rows = self._relation.pushing(_ROOM)
        self._settled = self._counters[FOUND] = self._relation.count
        return self._set.seen, rows.reshape(-1), self._counters

    def make_room(self) -> None:
        self._settle_found()
        if not self._counters[ROWS]:
            self._set.make_room()

    def settle(self) -> int:
        self._settle_found()
        return _taken(self._counters)

    def _settle_found(self) -> None:
        # Rows that came in another way since then are none of its business.
        if self._counters[FOUND] != self._settled:
            self._relation.pushed(int(self._counters[FOUND]))
            self._settled = self._relation.count

    @property
    def _set(self) -> IdSet:
        held = self._relation.membership
        assert isinstance(held, IdSet)
        return held


class PairSink:
    """Takes pairs."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._counters = np.zeros(COUNTERS, np.int64)
        self._waiting = np.empty(WAITING_ROOM, np.int64)
        self._room = _ROOM
        self._settled = 0

    def arrays(self) -> Arrays:
        self._settle_found()
        rows = self._relation.pushing(self._room)
        self._resume()
        return *self._set.arrays, rows.view(np.int64).reshape(-1), self._waiting, self._counters

    def make_room(self) -> None:
        was_bits = self._set.is_bits
        self._settle_found()
        self._room = max(self._room, 2 * int(self._counters[ROWS]))
        if was_bits and not self._counters[ROWS]:
            self._set.make_room()
        # A set that has become bits just now needs no more entries.
        while not self._set.is_bits and self._set.free < self._counters[ENTRIES]:
            self._set.make_room()

    def settle(self) -> int:
        self._settle_found()
        while self._counters[WAITING]:
            entries, _, width, out, _, counters = self.arrays()
            if width:
                # The set has become bits while these were waiting.
                self._relation.stage(self._waiting[: self._counters[WAITING]].view(np.int32).reshape(-1, 2))
                self._relation.settle()
                self._counters[WAITING] = 0
                self._resume()
            elif not settle_pairs(entries, out, self._waiting, counters):
                self.make_room()
            else:
                self._settle_found()
        self._settle_found()
        return _taken(self._counters)

    def _settle_found(self) -> None:
        if self._counters[FOUND] != self._settled:
            self._relation.pushed(int(self._counters[FOUND]))
            self._set.take(self._relation.rows[self._settled : self._relation.count], int(self._counters[USED]))
            self._resume()

    def _resume(self) -> None:
        """Takes note of the rows that there are."""
        self._settled = self._counters[FOUND] = self._relation.count
        self._counters[USED] = self._set.used

    @property
    def _set(self) -> PairSet:
        held = self._relation.membership
        assert isinstance(held, PairSet)
        return held


class RowSink:
    """Takes rows of three columns and more."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._counters = np.zeros(COUNTERS, np.int64)
        self._waiting = np.empty((WAITING_ROOM, relation.width), np.int32)
        self._columns = np.arange(relation.width)
        self._numbers = np.empty(WAITING_ROOM, np.int32)
        self._settled = 0

    def arrays(self) -> Arrays:
        self._settle_found()
        self._relation.settle()
        held = self._set
        self._settled = self._counters[USED] = held.count
        return held.slots, held.rows, self._waiting, self._columns, self._numbers, self._counters

    def make_room(self) -> None:
        self._settle_found()
        self._set.reserve(self._set.count + int(self._counters[ENTRIES]))

    def settle(self) -> int:
        self._settle_found()
        while self._counters[WAITING]:
            if not settle_rows(*self.arrays()):
                self.make_room()
            self._settle_found()
        self._settle_found()
        return _taken(self._counters)

    def _settle_found(self) -> None:
        relation, held = self._relation, self._set
        new = int(self._counters[USED]) - self._settled
        if new:
            held.count = self._settled = self._settled + new
            relation.take_numbered()

    @property
    def _set(self) -> RowSet:
        held = self._relation.membership
        assert isinstance(held, RowSet)
        return held


def sink_for(relation: Relation) -> IdSink | PairSink | RowSink:
    """What takes pushed rows of a relation."""
    match relation.width:
        case 1:
            return IdSink(relation)
        case 2:
            return PairSink(relation)
        case _:
            return RowSink(relation)


def _taken(counters: npt.NDArray[np.int64]) -> int:
    derived = int(counters[DERIVED])
    counters[DERIVED] = 0
    return derived
