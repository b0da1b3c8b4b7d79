"""An index: the rows of each group lie side by side, oldest first, in blocks that move to a larger place when full.

For group g: starts[g] is where its block begins in `payload`, counts[g] how many rows it has, olds[g] how many of them
are old (not in the current delta), rooms[g] how many fit. `payload` holds the columns that are not part of the key.
A row whose group is negative is left out. The groups of rows are a column, `key`, of an array: often of these rows
themselves. A column that is negative stands for the number of the row.

Where each row is looked at, places in arrays are unsigned: then compiled code does not ask whether they count from the
end.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel, prefetch

_BLOCK = 128

_AHEAD = 8
"""How many rows before its turn the block of a row is brought near."""


@kernel
def append_blocks(groups, key, rows, first_row, columns, start, starts, counts, rooms, payload, tail, free):
    """Adds rows[first_row + i] (its `columns`) to the block of groups[i, key], for i from `start` on.

    A block that is full moves to one of at least twice its room: a place that another block has left, or the tail.
    free[c] is the first left place with room for 2**c rows, -1 if there is none; the place itself holds the next one.
    Returns (position reached, new tail, rows of the longest block met): it stops early where a block must move and
    `payload` is too short.
    """
    width = columns.size
    longest = 0
    for i in range(start, groups.shape[0]):
        group = groups[i, key]
        _look_ahead(groups, key, i, starts, counts, rooms, payload)
        if group < 0:
            continue
        count = counts[group]
        if count == rooms[group] and width:
            size = 1
            while (1 << size) <= count:
                size += 1
            begin = free[size]
            if begin >= 0:
                free[size] = payload[begin, 0]
            else:
                begin = tail
                if tail + (1 << size) > payload.shape[0]:
                    return i, tail, longest
                tail += 1 << size
            _move_block(payload, starts[group], begin, count)
            _leave_place(payload, starts[group], rooms[group], free)
            starts[group] = begin
            rooms[group] = 1 << size
        _write_row(payload, starts[group] + count, rows, first_row + i, columns)
        counts[group] = count + 1
        longest = max(longest, count + 1)
    return groups.shape[0], tail, longest


@inlined
def _look_ahead(groups, key, i, starts, counts, rooms, payload):
    if i + 2 * _AHEAD < groups.shape[0]:
        far = groups[i + 2 * _AHEAD, key]
        if far >= 0:
            prefetch(starts, far)
            prefetch(counts, far)
            prefetch(rooms, far)
        near = groups[i + _AHEAD, key]
        if near >= 0:
            prefetch(payload, (np.int64(starts[near]) + counts[near]) * payload.shape[1])


@kernel
def _move_block(payload, source, target, count):
    for j in range(count):
        for c in range(payload.shape[1]):
            payload[target + j, c] = payload[source + j, c]


@kernel
def _leave_place(payload, begin, room, free):
    """Notes that the place of a block is free, for blocks of the largest power of two that fits."""
    if room:
        size = 0
        while (2 << size) <= room:
            size += 1
        payload[begin, 0] = free[size]
        free[size] = begin


@kernel
def lay_out_blocks(groups, key, starts, rooms):
    """Gives each group of an empty index exactly the room that the rows of `groups` need; returns the tail."""
    for i in range(groups.shape[0]):
        if groups[i, key] >= 0:
            rooms[groups[i, key]] += 1
    tail = 0
    for group in range(rooms.size):
        starts[group] = tail
        tail += rooms[group]
    return tail


@kernel
def fill_blocks(groups, key, rows, first_row, columns, starts, counts, payload):
    """As `append_blocks`, to blocks that are empty and have room for all: no block has to move."""
    if columns.size == 1 and columns[0] >= 0:
        column = columns[0]
        for i in range(groups.shape[0]):
            group = groups[i, key]
            _look_ahead(groups, key, i, starts, counts, counts, payload)
            if group >= 0:
                place = np.uint64(starts[np.uint64(group)] + counts[np.uint64(group)])
                payload[place, 0] = rows[np.uint64(first_row + i), np.uint64(column)]
                counts[np.uint64(group)] += 1
        return
    for i in range(groups.shape[0]):
        group = groups[i, key]
        _look_ahead(groups, key, i, starts, counts, counts, payload)
        if group >= 0:
            place = starts[np.uint64(group)] + counts[np.uint64(group)]
            _write_row(payload, place, rows, first_row + i, columns)
            counts[np.uint64(group)] += 1


@inlined
def _write_row(payload, place, rows, number, columns):
    for c in range(columns.size):
        value = rows[np.uint64(number), np.uint64(columns[c])] if columns[c] >= 0 else number
        payload[np.uint64(place), np.uint64(c)] = value


@kernel
def set_old(groups, key, counts, olds):
    """Makes every row of these groups old."""
    for i in range(groups.shape[0]):
        if groups[i, key] >= 0:
            olds[groups[i, key]] = counts[groups[i, key]]


@kernel
def remove_from_blocks(groups, rows, numbers, columns, starts, counts, olds, payload):
    """Takes rows[numbers[i]] out of the block of groups[i]; the rows behind it move up."""
    width = columns.size
    for i in range(groups.size):
        group = groups[i]
        begin = starts[group]
        end = begin + counts[group]
        place = begin
        while width and not _stands_at(payload, place, rows, numbers[i], columns):
            place += 1
        if place - begin < olds[group]:
            olds[group] -= 1
        for j in range(place, end - 1):
            for c in range(width):
                payload[j, c] = payload[j + 1, c]
        counts[group] -= 1


@kernel
def _stands_at(payload, place, rows, number, columns):
    for c in range(columns.size):
        if payload[place, c] != (rows[number, columns[c]] if columns[c] >= 0 else number):
            return False
    return True


@kernel
def probe_blocks(groups, starts, lows, highs, begins, lengths):
    """For each group number, where its rows from lows[g] up to highs[g] begin and how many they are; their total.

    A number that is not a group has no rows. `lows` may be empty: then rows count from the first.
    """
    total = 0
    at = 0
    while at < groups.size:
        stop = min(at + _BLOCK, groups.size)
        for i in range(at, stop):
            group = groups[np.uint64(i)]
            if 0 <= group < starts.size:
                prefetch(starts, group)
                prefetch(highs, group)
        for i in range(at, stop):
            group, place = groups[np.uint64(i)], np.uint64(i)
            begins[place] = 0
            lengths[place] = 0
            if 0 <= group < starts.size:
                which = np.uint64(group)
                low = lows[which] if lows.size else 0
                begins[place] = starts[which] + low
                lengths[place] = highs[which] - low
                total += lengths[place]
        at = stop
    return total


@kernel
def present_in_blocks(begins, lengths, payload, rows, columns, result):
    """Writes for each of `rows` whether its block has a row whose columns, in order, equal its `columns`."""
    for i in range(begins.size):
        result[i] = False
        for j in range(begins[i], begins[i] + lengths[i]):
            same = True
            for c in range(columns.size):
                same = same and payload[j, c] == rows[i, columns[c]]
            if same:
                result[i] = True
                break


@kernel
def present_agreeing(keys, compared, begins, lengths, payload, columns, result):
    """Writes for each of `keys` whether its block has a row whose `columns` equal its columns `compared`."""
    for i in range(begins.size):
        result[i] = False
        for j in range(begins[i], begins[i] + lengths[i]):
            if _agrees(keys, i, compared, payload, j, columns):
                result[i] = True
                break


@kernel
def expand_agreeing(left, keep, keys, compared, begins, lengths, payload, columns, take, out, row, offset):
    """As `rows.expand`, of those rows of a block whose `columns` equal the columns `compared` of keys[row]."""
    size = out.shape[0]
    filled = 0
    while row < left.shape[0] and filled < size:
        end = begins[row] + lengths[row]
        place = begins[row] + offset
        while place < end and filled < size:
            if _agrees(keys, row, compared, payload, place, columns):
                for c in range(out.shape[1]):
                    if keep[c] >= 0:
                        value = left[np.uint64(row), np.uint64(keep[c])]
                    else:
                        value = payload[np.uint64(place), np.uint64(take[c])]
                    out[np.uint64(filled), np.uint64(c)] = value
                filled += 1
            place += 1
        offset = place - begins[row]
        if place == end:
            row += 1
            offset = 0
    return filled, row, offset


@inlined
def _agrees(keys, i, compared, payload, j, columns):
    for c in range(compared.size):
        place = np.uint64(columns[np.uint64(c)])
        if keys[np.uint64(i), np.uint64(compared[np.uint64(c)])] != payload[np.uint64(j), place]:
            return False
    return True


@kernel
def bisect_blocks(values, begins, lengths, bounds, side, upper):
    """Narrows each block of ascending `values` to those on one side of bounds[i].

    `upper` keeps what lies below the bound (else above); `side` 1 counts the bound itself in, 0 does not.
    """
    for i in range(begins.size):
        low = begins[i]
        high = low + lengths[i]
        end = high
        after = (side == 1) == (upper == 1)
        while low < high:
            middle = (low + high) // 2
            if values[middle] < bounds[i] or (after and values[middle] == bounds[i]):
                low = middle + 1
            else:
                high = middle
        if upper == 1:
            lengths[i] = low - begins[i]
        else:
            begins[i] = low
            lengths[i] = end - low


EMPTY_COUNTS = np.empty(0, np.int32)
