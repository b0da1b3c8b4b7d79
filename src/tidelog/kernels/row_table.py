"""Numbers for rows of any width: equal rows get equal numbers, counted from 0 in order of arrival.

`rows[n]` is row number n; `slots` finds it: the high half of a slot is a piece of the hash, the low half the number.
A row that was removed leaves its slot GONE, which no piece of a hash equals, so that a search goes on behind it.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix, step
from tidelog.kernels.jit import inlined, lean, prefetch

EMPTY = -1
GONE = -2

_AHEAD = 8
"""How many rows before its turn what a row is compared with is brought near; the slot of it, twice as many."""


@lean
def number_rows(slots, rows, count, batch, columns, start, end, numbers):
    """Numbers the rows batch[start:end] (their `columns`), adding those not seen before to `rows`.

    Returns (position reached, new count). It stops early when the table is full enough to grow or `rows` has no room.
    """
    limit = min(slots.size - slots.size // 4, rows.shape[0])
    mask = slots.size - 1
    for i in range(start, end):
        _look_ahead(slots, rows, batch, i, end, columns)
        code = _hash_row(batch, i, columns)
        tag = np.int64(code >> np.uint64(33))
        place = np.int64(code & np.uint64(0xFFFFFFFF)) & mask
        while True:
            slot = slots[place]
            if slot == EMPTY:
                if count >= limit:
                    return i, count
                for c in range(columns.size):
                    rows[count, c] = batch[i, columns[c]]
                slots[place] = (tag << 32) | count
                numbers[i] = count
                count += 1
                break
            if slot >> 32 == tag and _equal(rows, slot & 0xFFFFFFFF, batch, i, columns):
                numbers[i] = slot & 0xFFFFFFFF
                break
            place = (place + 1) & mask
    return end, count


@lean
def enter_rows(slots, rows, numbers, columns):
    """Makes rows[n] known under n for each of `numbers`; none is known yet, and no two are equal."""
    mask = slots.size - 1
    for i in range(numbers.size):
        if i + _AHEAD < numbers.size:
            prefetch(slots, np.int64(_hash_row(rows, numbers[i + _AHEAD], columns) & np.uint64(0xFFFFFFFF)) & mask)
        code = _hash_row(rows, numbers[i], columns)
        place = np.int64(code & np.uint64(0xFFFFFFFF)) & mask
        while slots[place] != EMPTY:
            place = (place + 1) & mask
        slots[place] = (np.int64(code >> np.uint64(33)) << 32) | numbers[i]


@lean
def find_rows(slots, rows, batch, columns, numbers):
    """Writes the number of each row of `batch`, -1 where the table does not have it."""
    for i in range(batch.shape[0]):
        _look_ahead(slots, rows, batch, i, batch.shape[0], columns)
        numbers[i] = _find(slots, rows, batch, i, columns)


@inlined
def _find(slots, rows, batch, i, columns):
    mask = slots.size - 1
    code = _hash_row(batch, i, columns)
    tag = np.int64(code >> np.uint64(33))
    place = np.int64(code & np.uint64(0xFFFFFFFF)) & mask
    while slots[place] != EMPTY:
        slot = slots[place]
        if slot >> 32 == tag and _equal(rows, slot & 0xFFFFFFFF, batch, i, columns):
            return slot & 0xFFFFFFFF
        place = (place + 1) & mask
    return np.int64(-1)


@lean
def remove_rows(slots, rows, batch, columns, numbers):
    """Removes each row of `batch`; writes the number it had, -1 where the table does not have it."""
    mask = slots.size - 1
    for i in range(batch.shape[0]):
        _look_ahead(slots, rows, batch, i, batch.shape[0], columns)
        code = _hash_row(batch, i, columns)
        tag = np.int64(code >> np.uint64(33))
        place = np.int64(code & np.uint64(0xFFFFFFFF)) & mask
        numbers[i] = -1
        while slots[place] != EMPTY:
            slot = slots[place]
            if slot >> 32 == tag and _equal(rows, slot & 0xFFFFFFFF, batch, i, columns):
                numbers[i] = slot & 0xFFFFFFFF
                slots[place] = GONE
                break
            place = (place + 1) & mask


@lean
def move_rows(slots, target, rows, columns):
    """Puts the rows that `slots` finds into the empty `target`."""
    mask = target.size - 1
    for i in range(slots.size):
        if slots[i] >= 0:
            code = _hash_row(rows, slots[i] & 0xFFFFFFFF, columns)
            place = np.int64(code & np.uint64(0xFFFFFFFF)) & mask
            while target[place] != EMPTY:
                place = (place + 1) & mask
            target[place] = slots[i]


@inlined
def _look_ahead(slots, rows, batch, i, end, columns):
    """Has the slots brought near that the rows behind row i ask for, then the rows that those slots find."""
    mask = slots.size - 1
    if i + 2 * _AHEAD < end:
        prefetch(slots, np.int64(_hash_row(batch, i + 2 * _AHEAD, columns) & np.uint64(0xFFFFFFFF)) & mask)
        slot = slots[np.int64(_hash_row(batch, i + _AHEAD, columns) & np.uint64(0xFFFFFFFF)) & mask]
        if slot >= 0:
            prefetch(rows, (slot & 0xFFFFFFFF) * rows.shape[1])


@inlined
def _hash_row(rows, i, columns):
    code = np.uint64(columns.size)
    for c in range(columns.size):
        code = step(code, np.uint64(rows[i, columns[c]]))
    return mix(code)


@inlined
def _equal(rows, number, batch, i, columns):
    for c in range(columns.size):
        if rows[number, c] != batch[i, columns[c]]:
            return False
    return True
