"""Sets of rows of ids: which rows of a batch are new?

A relation of one column marks ids in an array. Pairs, the common case, are kept as bits, in words of a hash table or
in one array. Wider rows are numbered.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.facts.buffers import SIZE, borrow, give_back
from tidelog.facts.large_arrays import zeros
from tidelog.kernels.bit_set import contains_bits, contains_ids, insert_bits, insert_ids, remove_bits, unknown_bits
from tidelog.kernels.row_table import EMPTY, enter_rows, find_rows, move_rows, number_rows, remove_rows
from tidelog.kernels.rows import largest_of_pairs
from tidelog.kernels.word_set import (
    contains_words,
    gather_words,
    insert_words,
    most_taken,
    move_words,
    remove_words,
    spread_words,
    unknown_words,
)

Rows = npt.NDArray[np.int32]
Keys = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_SMALLEST = 64
_FEW_BYTES = 1 << 22
_SMALL_TABLE = 1 << 20
_NO_CELLS = np.zeros(0, np.int64)


class Membership(Protocol):
    """A set of rows of one width. Its `room` is how much it holds before it has to grow."""

    @property
    def room(self) -> int: ...

    def add(self, rows: Rows, out: Rows, found: int) -> int:
        """Adds `rows`; writes those that are new to `out` from `found` on, and returns the new `found`.

        `out` has room for all of `rows` and one more behind `found`.
        """
        ...

    def contains(self, rows: Rows) -> Mask:
        """Which of `rows` are in the set."""
        ...

    def unknown(self, rows: Rows) -> Rows:
        """Those of `rows` that are not in the set. Threads may ask while nobody adds rows."""
        ...

    def remove(self, rows: Rows) -> None:
        """Takes `rows`, which are in the set, out of it."""
        ...


class IdSet:
    """Rows of one column."""

    def __init__(self, room: int = _SMALLEST) -> None:
        self._seen = np.zeros(room, np.uint8)

    @property
    def seen(self) -> npt.NDArray[np.uint8]:
        """A byte for each id, 0 where it is not in the set."""
        return self._seen

    def make_room(self) -> None:
        """Makes the array reach further."""
        self._seen = np.concatenate([self._seen, np.zeros_like(self._seen)])

    @property
    def room(self) -> int:
        return self._seen.size

    def add(self, rows: Rows, out: Rows, found: int) -> int:
        ids = rows.reshape(-1)
        top = int(ids.max(initial=0))
        if top >= self._seen.size:
            self._seen = np.concatenate([self._seen, np.zeros(max(top + 1, 2 * self._seen.size), np.uint8)])
        return int(insert_ids(self._seen, ids, out.reshape(-1), found))

    def contains(self, rows: Rows) -> Mask:
        result = np.empty(rows.shape[0], np.bool_)
        contains_ids(self._seen, np.ascontiguousarray(rows).reshape(-1), result)
        return result

    def unknown(self, rows: Rows) -> Rows:
        return chosen(rows, ~self.contains(rows))

    def remove(self, rows: Rows) -> None:
        self._seen[rows.reshape(-1)] = 0


class PairSet:
    """Rows of two columns, packed into 64-bit keys.

    They are kept as words of 64 neighbours in a hash table, or as one bit for each pair that could be, once that
    takes less room, or `few_bytes`.
    """

    def __init__(self, room: int = _SMALLEST, few_bytes: int = _FEW_BYTES) -> None:
        self.count = 0
        self.few_bytes = few_bytes
        self._entries = _free_entries(room)
        self._used = 0
        self._bits: npt.NDArray[np.uint8] | None = None
        self._stride = 0
        self._ranges = [0, 0]
        self._outgrown = [-1, -1]

    @property
    def room(self) -> int:
        return self._entries.size // 2

    @property
    def arrays(self) -> tuple[Keys, Keys, int]:
        """What `kernels.push` calls the entries, the cells and the width of the set."""
        if self._bits is None:
            return self._entries, _NO_CELLS, 0
        return self._entries, self._bits.view(np.int64), self._stride // 8

    @property
    def is_bits(self) -> bool:
        """Whether there is a bit for each pair that could be."""
        return self._bits is not None

    @property
    def used(self) -> int:
        """How many entries are taken."""
        return self._used

    @property
    def free(self) -> int:
        """How many entries can be taken before it has to grow."""
        return int(most_taken.python(self._entries.size // 2)) - self._used

    def take(self, rows: Rows, used: int) -> None:
        """Notes that `rows` were added to the arrays, of which so many entries are taken now."""
        self.count += rows.shape[0]
        self._used = used
        if self._bits is None:
            self._note_ranges(rows)
            self._become_bits_if_they_pay()

    def make_room(self) -> None:
        """Makes the arrays reach further."""
        if self._bits is None:
            self._grow_words()
        else:
            self._turn_into_words()
            self._outgrown = [*self._ranges]

    def add(self, rows: Rows, out: Rows, found: int) -> int:
        keys = rows.view(np.int64).reshape(-1)
        packed = out.view(np.int64).reshape(-1)
        self._fit_ranges(rows)
        if self._bits is None and not self.count and self._bits_pay(rows.shape[0]):
            self._turn_into_bits()
        before = found
        if self._bits is not None:
            found = int(insert_bits(self._bits, self._stride, keys, packed, found))
        else:
            found = self._add_words(keys, packed, found)
        self.count += found - before
        if self._bits is None:
            self._become_bits_if_they_pay()
        return found

    def contains(self, rows: Rows) -> Mask:
        keys = np.ascontiguousarray(rows).view(np.int64).reshape(-1)
        result = np.empty(keys.size, np.bool_)
        if self._bits is not None:
            contains_bits(self._bits, self._stride, keys, result)
        else:
            contains_words(self._entries, keys, result)
        return result

    def unknown(self, rows: Rows) -> Rows:
        keys = rows.view(np.int64).reshape(-1)
        lent = borrow(2) if keys.size < SIZE else np.empty((keys.size + 1, 2), np.int32)
        out = lent.view(np.int64).reshape(-1)
        if self._bits is not None:
            found = unknown_bits(self._bits, self._stride, keys, out)
        else:
            found = unknown_words(self._entries, keys, out)
        result = lent[:found].copy()
        if lent.shape[0] == SIZE:
            give_back(lent)
        return result

    def remove(self, rows: Rows) -> None:
        keys = np.ascontiguousarray(rows).view(np.int64).reshape(-1)
        if self._bits is not None:
            remove_bits(self._bits, self._stride, keys)
        else:
            remove_words(self._entries, keys)
        self.count -= keys.size

    def _add_words(self, keys: Keys, out: Keys, found: int) -> int:
        before = self._used
        reached, self._used, found = insert_words(self._entries, before, keys, 0, out, found)
        while reached < keys.size:
            # As many of the rest are expected to need a word of their own as of those so far.
            self._grow_words(self._used + (self._used - before) * (keys.size - reached) // max(1, reached))
            reached, self._used, found = insert_words(self._entries, self._used, keys, reached, out, found)
        return int(found)

    def _grow_words(self, expected: int = 0) -> None:
        """Makes room for more words, and for as many as are expected: moving them several times costs more.

        What is expected from the first few is not worth much, so it never grows more than eightfold.
        """
        room = self._entries.size // 2
        most = 8 * room
        room *= 4 if self._entries.nbytes < _SMALL_TABLE else 2
        while room < most and most_taken.python(room) <= expected:
            room *= 2
        entries = _free_entries(room)
        move_words(self._entries, entries)
        self._entries = entries

    def _note_ranges(self, rows: Rows) -> None:
        """Notes the largest ids."""
        for column, largest in enumerate(largest_of_pairs(rows)):
            self._ranges[column] = max(self._ranges[column], int(largest) + 1)

    def _note_cells(self, cells: Keys) -> None:
        """Notes ranges that the pairs of a bit set lie in; what was taken into it was not looked at."""
        rows, words = (np.flatnonzero(cells.any(axis=axis)) for axis in (1, 0))
        if rows.size:
            self._ranges = [max(self._ranges[0], int(rows[-1]) + 1), max(self._ranges[1], 64 * int(words[-1]) + 64)]

    def _fit_ranges(self, rows: Rows) -> None:
        """Notes the largest ids; a bit set that does not reach them becomes words again."""
        self._note_ranges(rows)
        bits = self._bits
        if bits is not None and (self._ranges[1] > 8 * self._stride or self._ranges[0] * self._stride > bits.size):
            self._turn_into_words()

    def _become_bits_if_they_pay(self) -> None:
        # Bits that did not reach far enough would not do so now: ids must be seen first that lie further out.
        if self._ranges != self._outgrown and self._bits_pay(self._used):
            self._turn_into_bits()

    def _bits_pay(self, used: int) -> bool:
        size = self._ranges[0] * ((self._ranges[1] + 7) // 8)
        return used > _SMALLEST and size <= max(self.few_bytes, self._entries.nbytes)

    def _turn_into_bits(self) -> None:
        # A little more than the ids seen so far, because ids often still arrive.
        self._stride = 8 * ((self._ranges[1] + self._ranges[1] // 8 + 63) // 64)
        self._bits = zeros((self._ranges[0] + self._ranges[0] // 8) * self._stride, np.uint8)
        if self._used:
            spread_words(self._entries, self._bits, self._stride)
            self._entries = _free_entries(_SMALLEST)
            self._used = 0

    def _turn_into_words(self) -> None:
        assert self._bits is not None
        cells = self._bits.view(np.int64)
        self._note_cells(cells.reshape(-1, self._stride // 8))
        room = self._entries.size // 2
        while most_taken.python(room) <= np.count_nonzero(cells):
            room *= 2
        self._entries = _free_entries(room)
        self._used = int(gather_words(cells, self._stride // 8, self._entries))
        self._bits = None


class RowSet:
    """Rows of three columns and more, numbered in order of arrival. Also numbers the groups of an index."""

    def __init__(self, width: int, room: int = _SMALLEST) -> None:
        self.count = 0
        self.rows: Rows = np.empty((2 * room - room // 2, width), np.int32)
        self._columns = np.arange(width)
        self._slots = np.full(2 * room, EMPTY, np.int64)

    @property
    def room(self) -> int:
        return self._slots.size // 2

    @property
    def slots(self) -> Keys:
        """What finds the number of a row (see `kernels.row_table`)."""
        return self._slots

    def make_room(self) -> None:
        """Makes the arrays reach further."""
        self._resize(2 * self._slots.size)

    def add(self, rows: Rows, out: Rows, found: int) -> int:
        before = self.count
        self.number(rows, self._columns)
        new = self.count - before
        out[found : found + new] = self.rows[before : self.count]
        return found + new

    def contains(self, rows: Rows) -> Mask:
        return self.find(rows, self._columns) >= 0

    def unknown(self, rows: Rows) -> Rows:
        return chosen(rows, ~self.contains(rows))

    def remove(self, rows: Rows) -> None:
        self.withdraw(rows)

    def withdraw(self, rows: Rows) -> Rows:
        """Takes `rows` out of the set; returns the number that each had, -1 for rows that were not in it."""
        numbers = np.empty(rows.shape[0], np.int32)
        remove_rows(self._slots, self.rows, rows, self._columns, numbers)
        return numbers

    def enter(self, rows: Rows, numbers: npt.NDArray[np.integer]) -> None:
        """Takes rows into the empty set with the numbers that they have in `rows`; all are different."""
        self.reserve(rows.shape[0])
        self.rows[: rows.shape[0]] = rows
        self.count = rows.shape[0]
        enter_rows(self._slots, self.rows, numbers, self._columns)

    def go_on(self, rows: Rows, first: int) -> bool:
        """Gives the numbers from `first` on, where those so far end, to `rows`, which are new."""
        assert first == self.count
        self.number(rows, self._columns)
        return True

    def number(self, batch: Rows, columns: npt.NDArray[np.int64]) -> Rows:
        """The number of each row of `batch`, looked at through `columns`; new rows get new numbers."""
        numbers = np.empty(batch.shape[0], np.int32)
        before, reached = self.count, 0
        while True:
            reached, self.count = number_rows(
                self._slots, self.rows, self.count, batch, columns, reached, batch.shape[0], numbers
            )
            self.count = int(self.count)
            if reached == batch.shape[0]:
                return numbers
            # As many of the rest are expected to be new as of those so far: moving all rows several times costs more.
            expected = (self.count - before) * (batch.shape[0] - reached) // max(1, reached)
            self.reserve(max(self.count + expected, self._slots.size - self._slots.size // 4 + 1))

    def find(self, batch: Rows, columns: npt.NDArray[np.int64]) -> Rows:
        """The number of each row of `batch`, -1 for rows not in the set."""
        numbers = np.empty(batch.shape[0], np.int32)
        find_rows(self._slots, self.rows, batch, columns, numbers)
        return numbers

    def reserve(self, count: int) -> None:
        """Makes room for that many rows in one step."""
        size = self._slots.size
        while size - size // 4 < count:
            size *= 4 if 8 * size < _SMALL_TABLE else 2
        if size > self._slots.size:
            self._resize(size)

    def _resize(self, size: int) -> None:
        if size - size // 4 > self.rows.shape[0]:
            rows = np.empty((size - size // 4, self.rows.shape[1]), np.int32)
            rows[: self.count] = self.rows[: self.count]
            self.rows = rows
        slots = np.full(size, EMPTY, np.int64)
        move_rows(self._slots, slots)
        self._slots = slots


def membership_for(width: int, room: int = _SMALLEST) -> IdSet | PairSet | RowSet:
    """An empty set of rows of that width, with as much room as another one had."""
    if width == 1:
        return IdSet(room)
    return PairSet(room) if width == 2 else RowSet(width, room)


def passing_membership(width: int, rows: int) -> IdSet | PairSet | RowSet:
    """As `membership_for`, for so many rows that are soon thrown away: bits would have to be cleared first."""
    if width == 1:
        return IdSet()
    if width > 2:
        return RowSet(width, room_for(rows))
    # Pairs share words, more or fewer of them: a little room to begin with saves most of the growing.
    return PairSet(max(_SMALLEST, 1 << (rows // 4).bit_length()), few_bytes=0)


def room_for(rows: int) -> int:
    """The room of a set of wide rows that need not grow for so many of them."""
    return max(_SMALLEST, 1 << (2 * rows // 3).bit_length())


def chosen(rows: Rows, mask: Mask) -> Rows:
    """The rows that the mask says; the array itself if those are all."""
    if mask.all():
        return rows
    if rows.shape[1] == 2 and rows.flags.c_contiguous:
        # As one number each, rows are picked several times faster.
        return rows.view(np.int64).reshape(-1)[mask].view(np.int32).reshape(-1, 2)
    return rows.take(np.flatnonzero(mask), axis=0)


def _free_entries(count: int) -> Keys:
    """A table of that many free entries."""
    return zeros(2 * count, np.int64)
