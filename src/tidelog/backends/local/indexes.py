"""Indexes over a relation's rows, kept up to date as it grows: the rows of one key lie side by side, oldest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.facts.growing import longer
from tidelog.facts.large_arrays import empty
from tidelog.facts.membership import Mask, Rows, RowSet
from tidelog.facts.relation import Relation
from tidelog.kernels import jit
from tidelog.kernels.blocks import (
    EMPTY_COUNTS,
    append_blocks,
    fill_blocks,
    lay_out_blocks,
    present_in_blocks,
    probe_blocks,
    remove_from_blocks,
    set_old,
)
from tidelog.kernels.rows import largest_in_column
from tidelog.plan.nodes import Version

Positions = npt.NDArray[np.int64]

Groups: TypeAlias = tuple[Rows, int]
"""An array, and its column that has the group of each row."""

_TAIL = 1 << 10
_MANY = 1 << 20

_MORE_AT_ONCE = 2
"""Rows that wait for each that is there, from which on all are laid out at once: no block has to move then."""

ROW_NUMBER = -1
"""The column of an index that holds the number of the row."""

_REMOVAL_WORTH = 4
"""How much reading a row of a block takes less than indexing it."""


@dataclass(frozen=True, slots=True)
class Matches:
    """For each probing row, a range of rows of `payload`."""

    begins: Positions
    lengths: Positions
    payload: Rows
    total: int


class Index:
    """The rows of `relation` by the values of its `key` columns; `payload_columns` are the others.

    A key of one column is a group number as it stands, since ids are dense; wider keys are numbered. `is_numbered` adds
    the number of the row as the last column of the payload, ROW_NUMBER.
    """

    def __init__(self, relation: Relation, key: tuple[int, ...], *, is_numbered: bool = False) -> None:
        self._relation = relation
        self._key = np.array(key, np.int64)
        others = tuple(column for column in range(relation.width) if column not in key)
        self.payload_columns = (*others, ROW_NUMBER) if is_numbered else others
        self._columns = np.array(self.payload_columns, np.int64)
        self._tail = 0
        self._rooms: npt.NDArray[np.int32]
        self._parts: list[_Part] = []
        self.forget()

    def forget(self) -> None:
        """Forgets every row, as when the relation was cleared. Where a group stays what it is, its block keeps its
        place: the next rows find as much room as these had."""
        if self._tail and self._groups is None:
            if self._rooms is self._counts:
                self._rooms = self._counts.copy()
            self._counts[:] = 0
            self._olds = self._counts
        else:
            self._begin()
        self._end = 0
        self._longest = 0
        self._delta_start = 0
        self._generation = self._relation.generation
        self._removals = 0

    def _begin(self) -> None:
        """Gives no group a block."""
        self._groups = RowSet(self._key.size) if self._key.size > 1 else None
        self._starts = np.zeros(0, np.int32)
        self._counts = np.zeros(0, np.int32)
        # While all rows are old, or no block has room to spare, these are the same array as the counts.
        self._olds = self._counts
        self._rooms = self._counts
        self._payload: Rows = np.empty((0, len(self.payload_columns)), np.int32)
        self._tail = 0
        self._free = np.full(32, -1, np.int32)

    def probe(self, rows: Rows, columns: npt.NDArray[np.int64], version: Version) -> Matches:
        """The matches of each row of `rows`, whose `columns` hold the key."""
        self.catch_up()
        groups = self._find_groups(rows, columns)
        begins = np.empty(groups.size, np.int64)
        lengths = np.empty(groups.size, np.int64)
        lows = self._olds if version is Version.DELTA else EMPTY_COUNTS
        highs = self._olds if version is Version.OLD else self._counts
        total = probe_blocks(groups, self._starts, lows, highs, begins, lengths)
        return Matches(begins, lengths, self._payload, int(total))

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Starts, olds, counts and payload (see `kernels.blocks`), then what finds the number of a wider key."""
        blocks = (self._starts, self._olds, self._counts, self._payload)
        return blocks if self._groups is None else (*blocks, self._groups.slots, self._groups.rows)

    def distinct(self) -> int:
        """How many different keys there are."""
        self.catch_up()
        return self._groups.count if self._groups is not None else int(np.count_nonzero(self._counts))

    def has_no_longer_block(self, size: int) -> bool:
        """Whether no key has, or had, more than `size` rows."""
        self.catch_up()
        return self._longest <= size

    @property
    def is_up_to_date(self) -> bool:
        """Whether it has taken in all that has come and gone."""
        relation = self._relation
        seen = (self._generation, self._removals, self._end, self._delta_start)
        return seen == (relation.generation, relation.removed, relation.stored, relation.delta_start)

    @property
    def rows_waiting(self) -> int:
        """How many rows it has yet to take in."""
        relation = self._relation
        return relation.stored - (self._end if self._generation == relation.generation else 0)

    def has_rows(self, rows: Rows) -> Mask:
        """For each row of `rows` whether the relation has it."""
        matches = self.probe(rows, self._key, Version.FULL)
        result = np.empty(rows.shape[0], np.bool_)
        others = self._columns[self._columns != ROW_NUMBER]
        present_in_blocks(matches.begins, matches.lengths, matches.payload, rows, others, result)
        return result

    def catch_up(self) -> None:
        """Takes in the rows stored since the last look, and what has become old."""
        for take in self.shares(1):
            take()
        self.end()

    def shares(self, parts: int) -> list[Callable[[], None]]:
        """What there is to do to catch up, as tasks of which several may run at the same time. Then it must `end`.

        Only the first rows are divided: those that come to others may move a block to a place that others want.
        """
        relation = self._relation
        if self._generation != relation.generation:
            self.forget()
        if self._removals != relation.removed:
            self._take_out()
        if (self._end, self._delta_start) == (relation.stored, relation.delta_start):
            return []
        if relation.delta_start - self._end > _MORE_AT_ONCE * self._end > 0:
            self.forget()
            self._removals = relation.removed
        first = relation.delta_start or relation.stored
        return [self.end] if self._end or first < self._tail // 2 else self._begin_layout(first, parts)

    def end(self) -> None:
        """Is up to date, once what `shares` gave is done."""
        relation = self._relation
        if self._parts:
            self._end_layout()
        if (self._end, self._delta_start) == (relation.stored, relation.delta_start):
            return
        appended = self._append(self._end, relation.delta_start)
        if self._olds is not self._counts:
            if appended is None or self._delta_start != self._end:
                appended = self._number_groups(self._delta_start, relation.delta_start)
            set_old(*appended, self._counts, self._olds)
        if max(self._end, relation.delta_start) < relation.stored:
            self._separate()
            self._append(max(self._end, relation.delta_start), relation.stored)
        self._end, self._delta_start = relation.stored, relation.delta_start

    def _take_out(self) -> None:
        """Takes out the rows removed since the last look; where that means reading too much, all is indexed again."""
        relation = self._relation
        gone = relation.removals[self._removals :]
        gone = gone[gone < self._end]
        self._removals = relation.removed
        if not gone.size:
            return
        rows = relation.rows[gone]
        groups = self._find_groups(rows, self._key)
        if int(self._counts[groups].sum()) > _REMOVAL_WORTH * max(relation.size, _TAIL):
            self.forget()
            self._removals = relation.removed
            return
        self._separate()
        jit.work(gone.size)
        remove_from_blocks(
            groups, relation.rows, gone, self._columns, self._starts, self._counts, self._olds, self._payload
        )

    def _append(self, start: int, end: int) -> Groups | None:
        """Takes in the rows from `start` to `end`; their groups, None if there are no such rows."""
        if start >= end:
            return None
        jit.work(end - start)
        groups = self._number_groups(start, end)
        self._separate()
        reached = 0
        while True:
            reached, self._tail, longest = append_blocks(
                *groups, self._relation.rows, start, self._columns, reached,
                self._starts, self._counts, self._rooms, self._payload, self._tail, self._free,
            )  # fmt: skip
            self._longest = max(self._longest, longest)
            if reached == end - start:
                return groups
            self._make_room()

    def _begin_layout(self, count: int, parts: int) -> list[Callable[[], None]]:
        """Tasks that take in the first `count` rows; each group gets exactly the room that it needs, and each part of
        the rows a place there."""
        jit.work(count)
        groups, key = self._number_groups(0, count)
        self._free[:] = -1
        if count > self._payload.shape[0]:
            more = _growth(count) if count < self._relation.stored else 1  # what is never written to takes no memory
            self._payload = empty((more * count, self._columns.size), np.int32)
        cuts = [count * part // parts for part in range(parts + 1)]
        pieces: list[Groups] = [(groups[begin:end], key) for begin, end in pairwise(cuts)]
        rooms = np.zeros_like(self._counts)
        before: list[Rows] = []
        for piece in pieces:
            before.append(rooms.copy() if before else rooms)
            self._tail = int(lay_out_blocks(*piece, self._starts, rooms))
        self._parts = [_Part(0, pieces[0], self._starts, self._counts)]
        for begin, piece, taken in zip(cuts[1:-1], pieces[1:], before[1:], strict=True):
            self._parts.append(_Part(begin, piece, self._starts + taken, np.zeros_like(self._counts)))
        return [partial(self._fill, part) for part in self._parts]

    def _fill(self, part: _Part) -> None:
        fill_blocks(
            *part.groups, self._relation.rows, part.begin, self._columns, part.starts, part.counts, self._payload
        )

    def _end_layout(self) -> None:
        for part in self._parts[1:]:
            self._counts += part.counts
        self._end = self._parts[-1].begin + self._parts[-1].groups[0].shape[0]
        self._delta_start = min(self._end, self._relation.delta_start)
        self._longest = int(self._counts.max(initial=0))
        if self._rooms is not self._counts:
            self._rooms[:] = self._counts
        if not self._delta_start:
            self._olds = np.zeros_like(self._counts)
        self._parts = []

    def _separate(self) -> None:
        """Gives room and age arrays of their own, before rows come that are new or need room."""
        if self._rooms is self._counts:
            self._rooms = self._counts.copy()
        if self._olds is self._counts:
            self._olds = self._counts.copy()

    def _make_room(self) -> None:
        """Makes the payload several times as long; what is never written to takes no memory.

        A block that moves may need more than that: then this is done again.
        """
        rows = self._payload.shape[0]
        target = empty((_growth(rows) * rows + _TAIL, self._columns.size), np.int32)
        target[: self._tail] = self._payload[: self._tail]
        self._payload = target

    def _number_groups(self, start: int, end: int) -> Groups:
        """Group numbers of the relation's rows from `start` to `end`, with room for each of them in the arrays."""
        rows, column = self._relation.rows[start:end], 0
        if self._groups is not None:
            groups = self._groups.number(rows, self._key).reshape(-1, 1)
            needed = self._groups.count
        elif self._key.size:
            groups, column = rows, int(self._key[0])
            needed = int(largest_in_column(rows, column)) + 1
        else:
            groups, needed = np.zeros((len(rows), 1), np.int32), 1
        dead = self._relation.dead(start, end)
        if dead is not None:
            groups, column = np.where(dead, np.int32(-1), groups[:, column]).reshape(-1, 1), 0
        self._reach(needed)
        return groups, column

    def _reach(self, groups: int) -> None:
        """Has room for so many groups in the arrays."""
        if groups > self._starts.size:
            room = max(groups, self._starts.size + self._starts.size // 2)
            self._starts = longer(self._starts, room)
            counts = longer(self._counts, room)
            self._olds = counts if self._olds is self._counts else longer(self._olds, room)
            self._rooms = counts if self._rooms is self._counts else longer(self._rooms, room)
            self._counts = counts

    def _find_groups(self, rows: Rows, columns: npt.NDArray[np.int64]) -> Rows:
        if self._groups is not None:
            return self._groups.find(rows, columns)
        if columns.size:
            return np.ascontiguousarray(rows[:, columns[0]])
        return np.zeros(rows.shape[0], np.int32)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the first rows, from number `begin` on, their groups, and where in the block of a group their places
    start, of which so many are filled."""

    begin: int
    groups: Groups
    starts: Rows
    counts: Rows


def _growth(rows: int) -> int:
    """How many times as long the room for so many rows becomes."""
    return 16 if rows < _MANY else 4
