"""Numbers for rows of any width: equal rows get equal numbers, counted from 0 in order of arrival.

`rows[n]` is row number n; `slots` finds it: the high half of a slot is a piece of the hash, the low half the number.
The same piece says where a search begins, so that a larger table is filled without a look at the rows.
A row that was removed leaves its slot GONE, which no piece of a hash equals, so that a search goes on behind it.

Most rows have two to four columns: the places of the first four are read once, not for each row, which halves the time
of a search. Where there are fewer, the first stands for those that are missing. Places in arrays are unsigned: then
compiled code does not ask whether they count from the end, a fifth of the time.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import step
from tidelog.kernels.jit import inlined, lean, prefetch

EMPTY = -1
GONE = -2

_AHEAD = 8
"""How many rows before its turn what a row is compared with is brought near; the slot of it, twice as many."""

_NEAR = 1 << 20
"""Slots up to which rows are near enough as it is: to ask for them takes longer than to wait."""

_PIECE = np.uint64(0x7FFFFFFF)
_HALF = np.uint64(32)
_MIXED = np.uint64(0xD6E8FEB86659FD93)


@lean
def number_rows(slots, rows, count, batch, columns, start, end, numbers):
    """Numbers the rows batch[start:end] (their `columns`), adding those not seen before to `rows`.

    Returns (position reached, new count). It stops early when the table is full enough to grow or `rows` has no room.
    """
    first, second, third, fourth = _places(columns)
    limit = min(slots.size - slots.size // 4, rows.shape[0])
    mask = slots.size - 1
    _look_at_first(slots, batch, start, end, columns, first, second, third, fourth, numbers)
    for i in range(start, end):
        _look_ahead(slots, rows, batch, i, end, columns, first, second, third, fourth, numbers)
        row = np.uint64(i)
        tag = np.int64(numbers[row])
        place = tag & mask
        while True:
            slot = slots[np.uint64(place)]
            if slot == EMPTY:
                if count >= limit:
                    return i, count
                for c in range(columns.size):
                    rows[np.uint64(count), np.uint64(c)] = batch[row, np.uint64(columns[c])]
                slots[np.uint64(place)] = (tag << 32) | count
                numbers[row] = count
                count += 1
                break
            if slot >> 32 == tag and _equal(rows, slot & 0xFFFFFFFF, batch, row, columns, first, second, third, fourth):
                numbers[row] = slot & 0xFFFFFFFF
                break
            place = (place + 1) & mask
    return end, count


@lean
def enter_rows(slots, rows, numbers, columns):
    """Makes rows[n] known under n for each of `numbers`; none is known yet, and no two are equal."""
    first, second, third, fourth = _places(columns)
    mask = slots.size - 1
    for i in range(numbers.size):
        if i + _AHEAD < numbers.size:
            ahead = _hash_row(rows, numbers[i + _AHEAD], columns, first, second, third, fourth)
            prefetch(slots, ahead & mask)
        number = numbers[np.uint64(i)]
        tag = _hash_row(rows, number, columns, first, second, third, fourth)
        place = tag & mask
        while slots[np.uint64(place)] != EMPTY:
            place = (place + 1) & mask
        slots[np.uint64(place)] = (tag << 32) | number


@lean
def find_rows(slots, rows, batch, columns, numbers):
    """Writes the number of each row of `batch`, -1 where the table does not have it."""
    first, second, third, fourth = _places(columns)
    _look_at_first(slots, batch, 0, batch.shape[0], columns, first, second, third, fourth, numbers)
    for i in range(batch.shape[0]):
        _look_ahead(slots, rows, batch, i, batch.shape[0], columns, first, second, third, fourth, numbers)
        place = _find(slots, rows, batch, i, np.int64(numbers[i]), columns, first, second, third, fourth)
        numbers[i] = slots[place] & 0xFFFFFFFF if place >= 0 else -1


@lean
def remove_rows(slots, rows, batch, columns, numbers):
    """Removes each row of `batch`; writes the number it had, -1 where the table does not have it."""
    first, second, third, fourth = _places(columns)
    _look_at_first(slots, batch, 0, batch.shape[0], columns, first, second, third, fourth, numbers)
    for i in range(batch.shape[0]):
        _look_ahead(slots, rows, batch, i, batch.shape[0], columns, first, second, third, fourth, numbers)
        place = _find(slots, rows, batch, i, np.int64(numbers[i]), columns, first, second, third, fourth)
        numbers[i] = -1
        if place >= 0:
            numbers[i] = slots[place] & 0xFFFFFFFF
            slots[place] = GONE


@lean
def move_rows(slots, target):
    """Puts what `slots` finds into the empty `target`."""
    mask = target.size - 1
    for i in range(slots.size):
        slot = slots[np.uint64(i)]
        if slot >= 0:
            place = (slot >> 32) & mask
            while target[np.uint64(place)] != EMPTY:
                place = (place + 1) & mask
            target[np.uint64(place)] = slot


@inlined
def _places(columns):
    """The first four columns, the first of them where there are fewer."""
    first = columns[0] if columns.size else 0
    second = columns[1] if columns.size > 1 else first
    third = columns[2] if columns.size > 2 else first
    fourth = columns[3] if columns.size > 3 else first
    return np.uint64(first), np.uint64(second), np.uint64(third), np.uint64(fourth)


@inlined
def _find(slots, rows, batch, i, tag, columns, first, second, third, fourth):
    """The place in `slots` that finds row i of `batch`, whose hash has the piece `tag`; -1 where there is none."""
    mask = slots.size - 1
    place = tag & mask
    while slots[np.uint64(place)] != EMPTY:
        slot = slots[np.uint64(place)]
        if slot >> 32 == tag and _equal(rows, slot & 0xFFFFFFFF, batch, i, columns, first, second, third, fourth):
            return place
        place = (place + 1) & mask
    return np.int64(-1)


@inlined
def _look_at_first(slots, batch, start, end, columns, first, second, third, fourth, numbers):
    """Has the slots brought near that the first rows ask for; notes the pieces of their hashes in `numbers`."""
    mask = slots.size - 1
    for i in range(start, min(start + 2 * _AHEAD, end)):
        row = np.uint64(i)
        numbers[row] = _hash_row(batch, row, columns, first, second, third, fourth)
        prefetch(slots, numbers[row] & mask)


@inlined
def _look_ahead(slots, rows, batch, i, end, columns, first, second, third, fourth, numbers):
    """Has the slots brought near that the rows behind row i ask for, then the rows that those slots find.

    Until it is the turn of a row, its place in `numbers` has the piece of its hash.
    """
    mask = slots.size - 1
    if i + 2 * _AHEAD < end:
        ahead = np.uint64(i + 2 * _AHEAD)
        numbers[ahead] = _hash_row(batch, ahead, columns, first, second, third, fourth)
        prefetch(slots, numbers[ahead] & mask)
        if slots.size > _NEAR:
            slot = slots[np.uint64(numbers[np.uint64(i + _AHEAD)] & mask)]
            if slot >= 0:
                prefetch(rows, (slot & 0xFFFFFFFF) * rows.shape[1])


@inlined
def _hash_row(rows, i, columns, first, second, third, fourth):
    """The piece of the hash of row i that a slot has."""
    i = np.uint64(i)
    code = np.uint64(columns.size)
    if columns.size:
        code = step(code, _pair(rows[i, first], rows[i, second]))
    if columns.size > 2:
        code = step(code, _pair(rows[i, third], rows[i, fourth]))
        for c in range(4, columns.size):
            code = step(code, np.uint64(rows[i, np.uint64(columns[np.uint64(c)])]))
    code *= _MIXED
    return np.int64((code ^ (code >> _HALF)) & _PIECE)


@inlined
def _pair(one, other):
    return np.uint64(one) | (np.uint64(other) << _HALF)


@inlined
def _equal(rows, number, batch, i, columns, first, second, third, fourth):
    known, row = np.uint64(number), np.uint64(i)
    if columns.size and rows[known, 0] != batch[row, first]:
        return False
    if columns.size > 1 and rows[known, 1] != batch[row, second]:
        return False
    if columns.size > 2 and rows[known, 2] != batch[row, third]:
        return False
    if columns.size > 3 and rows[known, 3] != batch[row, fourth]:
        return False
    for c in range(4, columns.size):
        if rows[known, np.uint64(c)] != batch[row, np.uint64(columns[np.uint64(c)])]:
            return False
    return True
