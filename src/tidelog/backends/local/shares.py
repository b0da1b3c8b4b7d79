"""Where threads put the rows of one head at the same time: the set is shared, and each has stretches of the rows.

While threads run, nobody changes the form or the size of the set. A thread that finds no room in it stops, and so do
the others once their piece is done; `gather` then closes the gaps between what was written and makes room.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.sinks import Arrays
from tidelog.facts.membership import IdSet, PairSet, Rows
from tidelog.facts.relation import Relation
from tidelog.kernels.push import COUNTERS, DERIVED, ENTRIES, FOUND, ROWS, USED, WAITING, WAITING_ROOM
from tidelog.kernels.shared_push import settle_shared_pairs

_STRETCH = 1 << 16
"""Rows that a thread gets room for at a time. What is never written to takes no memory."""

_MOST_EXPECTED = 1 << 20
"""Rows for which there is room before they come, at most: most of what is derived may be known."""

_ENTRIES = 1 << 13
"""Entries that a set has for each of several threads at least: whenever one lacks free ones, all stop."""

_LINES = 16
"""Numbers around those of a thread, so that no other thread writes to the same lines of the cache."""

Stretch = tuple[int, int]
"""Rows from a number to another."""


class RowRoom:
    """The room behind the rows of a relation, given out in stretches."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.entries_taken = 0
        """Entries of the set that threads took when they last pushed."""
        self._lock = Lock()
        self.begin(0)

    def begin(self, expected: int) -> None:
        """Has what is staged become rows, and knows how many rows are expected to be derived. To make room for them
        later takes longer, when more rows must move."""
        self.relation.settle()
        self._lacking = max(_STRETCH, min(expected, _MOST_EXPECTED) // 4)

    def open(self, threads: int) -> None:
        """Makes room for so many threads; what was written must have become rows before.

        They are expected to take as many entries as the last time: where the set lacks them, all have to stop, and it
        grows all the same.
        """
        held = self.relation.membership
        if threads > 1 and isinstance(held, PairSet):
            while not held.is_bits and (held.room < threads * _ENTRIES or held.free < self.entries_taken):
                held.make_room()
        self.rows = self.relation.pushing(4 * self._lacking)
        self._next, self._end = self.relation.count, self.rows.shape[0]

    def take(self, lacking: int) -> Stretch | None:
        """Room for that many rows and more; None if it must be opened again first."""
        size = max(2 * lacking, _STRETCH)
        with self._lock:
            if self._next + size > self._end:
                self._lacking = max(self._lacking, size)
                return None
            self._next += size
            return self._next - size, self._next


class Share:
    """What one of several threads pushes to a relation of one or two columns."""

    def __init__(self, room: RowRoom) -> None:
        self.lacks_room = False
        self.counters = np.zeros(_LINES + COUNTERS + _LINES, np.int64)[_LINES : _LINES + COUNTERS]
        self._room = room
        self._waiting = np.empty(WAITING_ROOM, np.int64)
        self._written: list[Stretch] = []
        self._stretch: Stretch = (0, 0)
        self._first_used = 0

    def open(self, threads: int) -> None:
        """Takes its part of what is free in the set, which so many threads share, and room for rows."""
        self.lacks_room = False
        self.counters[:] = 0
        self._stretch = self._room.take(0) or (0, 0)
        held = self._room.relation.membership
        if isinstance(held, PairSet):
            self._first_used = self.counters[USED] = held.used + held.free - held.free // threads

    def arrays(self) -> Arrays:
        """Arrays to push to."""
        held = self._room.relation.membership
        begin, end = self._stretch
        rows = self._room.rows[begin:end]
        if isinstance(held, IdSet):
            return held.seen, rows.reshape(-1), self.counters
        assert isinstance(held, PairSet)
        return *held.arrays, rows.view(np.int64).reshape(-1), self._waiting, self.counters

    def make_row_room(self) -> bool:
        """Makes room for rows if those were lacking; False if that is to be done for all threads, or if it was not rows
        that were lacking."""
        if not self.counters[ROWS]:
            return False
        stretch = self._room.take(int(self.counters[ROWS]))
        if stretch is None:
            return False
        self._note_written()
        self._stretch = stretch
        self.counters[ROWS] = 0
        return True

    def settle(self) -> None:
        """Looks for the pairs that wait, as far as there is room."""
        held = self._room.relation.membership
        if isinstance(held, PairSet) and not held.is_bits:
            while True:
                entries, _, _, out, waiting, counters = self.arrays()
                if settle_shared_pairs(entries, out, waiting, counters) or not self.make_row_room():
                    return

    def derived(self) -> int:
        """How many rows were derived since the last time, known ones included."""
        derived, self.counters[DERIVED] = int(self.counters[DERIVED]), 0
        return derived

    def take_written(self) -> list[Stretch]:
        """Where rows were written since the last time."""
        self._note_written()
        written, self._written = self._written, []
        return written

    def entries_taken(self) -> int:
        """How many entries of the set it has taken since it was opened."""
        return int(self.counters[USED] - self._first_used)

    def take_waiting(self) -> Rows:
        """The pairs that could not be looked for."""
        left = self._waiting[: self.counters[WAITING]].view(np.int32).reshape(-1, 2)
        self.counters[WAITING] = 0
        return left

    @property
    def lacks_reach(self) -> bool:
        """Whether it stopped at ids that the set does not reach to."""
        return self.lacks_room and not self.counters[ENTRIES] and not self.counters[ROWS]

    def _note_written(self) -> None:
        begin = self._stretch[0]
        if self.counters[FOUND]:
            self._written.append((begin, begin + int(self.counters[FOUND])))
            self.counters[FOUND] = 0


def gather(room: RowRoom, shares: Sequence[Share]) -> None:
    """Makes what the threads wrote rows of the relation, and makes room for what they lacked."""
    relation = room.relation
    before = relation.count
    count = close_gaps(room.rows, before, sorted(stretch for share in shares for stretch in share.take_written()))
    relation.pushed(count)
    held = relation.membership
    if isinstance(held, PairSet):
        was_bits = held.is_bits
        room.entries_taken = sum(share.entries_taken() for share in shares)
        held.take(room.rows[before:count], held.used + room.entries_taken)
        if was_bits and any(share.lacks_reach for share in shares):
            held.make_room()
        # A set that has become bits just now needs no more entries.
        lacking = max(int(share.counters[ENTRIES]) for share in shares)
        while not held.is_bits and held.free // len(shares) < lacking:
            held.make_room()
        for share in shares:
            relation.stage(share.take_waiting())
        relation.settle()
    elif isinstance(held, IdSet) and any(share.lacks_reach for share in shares):
        held.make_room()
    for share in shares:
        share.counters[[ROWS, ENTRIES]] = 0


def close_gaps(rows: npt.NDArray[np.int32], begin: int, written: Sequence[Stretch]) -> int:
    """Moves rows from the last of the stretches written, which are in order, into the gaps between them.

    They lie side by side from `begin` on then; the number behind the last is returned.
    """
    end = begin + sum(stop - start for start, stop in written)
    spare = [(max(start, end), stop) for start, stop in written if stop > end]
    reached = begin
    for start, stop in [*written, (end, end)]:
        reached = _fill(rows, reached, min(start, end), spare)
        reached = max(reached, min(stop, end))
    return end


def _fill(rows: npt.NDArray[np.int32], begin: int, end: int, spare: list[Stretch]) -> int:
    """Fills a gap with spare rows; its end."""
    while begin < end:
        start, stop = spare.pop()
        size = min(end - begin, stop - start)
        rows[begin : begin + size] = rows[stop - size : stop]
        if start < stop - size:
            spare.append((start, stop - size))
        begin += size
    return begin
