"""Numbers for rows of any width: equal rows get equal numbers, counted from 0 in order of arrival.

`rows[n]` is row number n; `slots` finds it: the high half of a slot is a piece of the hash, the low half the number.
A row that was removed leaves its slot GONE, which no piece of a hash equals, so that a search goes on behind it.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import kernel, prefetch

EMPTY = -1
GONE = -2
_BLOCK = 128


@kernel
def number_rows(slots, rows, count, batch, columns, start, end, numbers):
    """Numbers the rows batch[start:end] (their `columns`), adding those not seen before to `rows`.

    Returns (position reached, new count). It stops early when the table is full enough to grow or `rows` has no room.
    """
    limit = min(slots.size - slots.size // 4, rows.shape[0])
    mask = slots.size - 1
    for i in range(start, end):
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


@kernel
def enter_rows(slots, rows, numbers, columns):
    """Makes rows[n] known under n for each of `numbers`; none is known yet, and no two are equal."""
    mask = slots.size - 1
    for i in range(numbers.size):
        code = _hash_row(rows, numbers[i], columns)
        place = np.int64(code & np.uint64(0xFFFFFFFF)) & mask
        while slots[place] != EMPTY:
            place = (place + 1) & mask
        slots[place] = (np.int64(code >> np.uint64(33)) << 32) | numbers[i]


@kernel
def find_rows(slots, rows, batch, columns, numbers):
    """Writes the number of each row of `batch`, -1 where the table does not have it."""
    mask = slots.size - 1
    codes = np.empty(_BLOCK, np.uint64)
    at = 0
    while at < batch.shape[0]:
        size = min(_BLOCK, batch.shape[0] - at)
        for i in range(size):
            codes[i] = _hash_row(batch, at + i, columns)
            prefetch(slots, np.int64(codes[i] & np.uint64(0xFFFFFFFF)) & mask)
        for i in range(size):
            numbers[at + i] = _find(slots, rows, batch, at + i, columns, codes[i])
        at += size


@kernel
def _find(slots, rows, batch, i, columns, code):
    mask = slots.size - 1
    tag = np.int64(code >> np.uint64(33))
    place = np.int64(code & np.uint64(0xFFFFFFFF)) & mask
    while slots[place] != EMPTY:
        slot = slots[place]
        if slot >> 32 == tag and _equal(rows, slot & 0xFFFFFFFF, batch, i, columns):
            return slot & 0xFFFFFFFF
        place = (place + 1) & mask
    return np.int64(-1)


@kernel
def remove_rows(slots, rows, batch, columns, numbers):
    """Removes each row of `batch`; writes the number it had, -1 where the table does not have it."""
    mask = slots.size - 1
    for i in range(batch.shape[0]):
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


@kernel
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


@kernel
def _hash_row(rows, i, columns):
    code = np.uint64(columns.size)
    for c in range(columns.size):
        code = mix(code ^ np.uint64(rows[i, columns[c]]))
    return mix(code)


@kernel
def _equal(rows, number, batch, i, columns):
    for c in range(columns.size):
        if rows[number, c] != batch[i, columns[c]]:
            return False
    return True
