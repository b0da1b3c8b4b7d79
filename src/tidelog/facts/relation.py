"""A relation's rows: append-only, so that the row number is the age and a delta is a range of rows.

0 ……………… old ……………… | …… delta …… | …… staged ……
                      delta_start    stored          count
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tidelog.facts.membership import IdSet, PairSet, Rows, RowSet, membership_for
from tidelog.kernels import jit

_SMALLEST = 64
_GATHER = 1 << 16
_GROWTH = 4


class Relation:
    """Rows of ids without duplicates. `width` is the number of columns, but 1 for a relation without any."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.width = max(1, arity)
        self.clear()

    def clear(self) -> None:
        """Forgets every row."""
        self.rows: Rows = np.empty((_SMALLEST, self.width), np.int32)
        self.count = self.stored = self.delta_start = 0
        self._membership: IdSet | PairSet | RowSet | None = None
        self._waiting: list[Rows] = []
        self._waiting_rows = 0

    @property
    def membership(self) -> IdSet | PairSet | RowSet:
        """The set of all rows, stored and staged. It is made when somebody asks, because rows that are loaded once
        and only joined need none."""
        if self._membership is None:
            # Threads may ask at once: nobody may see the set before it is full. The rows are all new to it, so that
            # each is written to where it stands.
            made = membership_for(self.width)
            self._reserve(self.count + 1)
            made.add(self.rows[: self.count], self.rows, 0)
            self._membership = made
        return self._membership

    @property
    def has_membership(self) -> bool:
        """Whether the set of all rows is at hand already."""
        return self._membership is not None

    def stage(self, rows: Rows) -> None:
        """Takes rows derived in this round; small batches wait until there are enough of them to be worth a look.

        The array is free again afterwards: what waits is a copy.
        """
        if not rows.shape[0]:
            return
        is_enough = self._waiting_rows + rows.shape[0] >= _GATHER
        self._waiting.append(rows if is_enough else rows.copy())
        self._waiting_rows += rows.shape[0]
        if is_enough:
            self.settle()

    def settle(self) -> None:
        """Makes every row taken so far staged: new ones are appended, known ones dropped."""
        if not self._waiting_rows:
            return
        rows = self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        jit.work(rows.shape[0])
        self._reserve(self.count + rows.shape[0] + 1)
        self.count = self.membership.add(np.ascontiguousarray(rows), self.rows, self.count)

    def advance(self) -> int:
        """Makes what is staged the delta, and the former delta old; returns the size of the new delta."""
        self.settle()
        self.delta_start, self.stored = self.stored, self.count
        return self.stored - self.delta_start

    def insert_different(self, batches: Iterable[Rows]) -> int:
        """As `insert` into a relation without rows, of rows that are known to be all different; no set is made."""
        assert not self.count
        for rows in batches:
            self._reserve(self.count + rows.shape[0])
            self.rows[self.count : self.count + rows.shape[0]] = rows
            self.count += rows.shape[0]
        self.delta_start = self.stored = self.count
        return self.count

    def insert(self, rows: Rows) -> int:
        """Adds old rows, outside of any round; returns how many were new."""
        self.stage(rows)
        return self.keep_staged()

    def keep_staged(self) -> int:
        """Makes what is staged old, outside of any round; returns how many rows that are."""
        self.settle()
        new = self.count - self.stored
        if not self.stored:
            self._membership = None
        self.delta_start = self.stored = self.count
        return new

    def _reserve(self, room: int) -> None:
        if room > self.rows.shape[0]:
            # What is never written to takes no memory: plenty of room saves copies, and a batch of known rows is free.
            rows = np.empty((max(room, _GROWTH * self.count), self.width), np.int32)
            rows[: self.count] = self.rows[: self.count]
            self.rows = rows
