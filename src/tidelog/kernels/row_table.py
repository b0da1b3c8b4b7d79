"""Numbers for rows of any width: equal rows get equal numbers, counted from 0 in order of arrival.

`rows[n]` is row number n; `slots` finds it: the high half of a slot is a piece of the hash, the low half the number.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import kernel

EMPTY = -1


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
def find_rows(slots, rows, batch, columns, numbers):
    """Writes the number of each row of `batch`, -1 where the table does not have it."""
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
                break
            place = (place + 1) & mask


@kernel
def rehash_rows(slots, rows, count, columns):
    """Fills the empty `slots` with rows[:count], which are all different."""
    mask = slots.size - 1
    for i in range(count):
        code = _hash_row(rows, i, columns)
        place = np.int64(code & np.uint64(0xFFFFFFFF)) & mask
        while slots[place] != EMPTY:
            place = (place + 1) & mask
        slots[place] = (np.int64(code >> np.uint64(33)) << 32) | i


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
