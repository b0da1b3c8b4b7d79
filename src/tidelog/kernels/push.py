"""Where pushed rows go: each is looked for in the set of its relation and, where it is new, added to set and rows.

Generated code calls these for one row, or for all rows of a key at once. counters[FOUND] is the number of rows of the
relation, counters[USED] how many entries of its set are taken, counters[WAITING] how many rows wait to be looked for,
counters[DERIVED] how many rows came, known ones included. A kernel that finds no room returns False: the caller makes
room and pushes the same rows again, which changes nothing for those that were added before. counters[ROWS] and
counters[ENTRIES] say for how many rows and entries there must be room then; where both are 0, ids lie outside of what
the set reaches.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import inlined, kernel, lowest_bit, prefetch
from tidelog.kernels.row_table import find_rows, number_rows
from tidelog.kernels.word_set import EMPTY, MARK, insert_words, most_taken

FOUND, USED, WAITING, DERIVED, ROWS, ENTRIES = 0, 1, 2, 3, 4, 5
COUNTERS = 6

WAITING_ROOM = 1 << 12
"""Rows that wait until they are looked for together, so that the processor fetches several places at once."""


_AHEAD = 8
"""How many rows before its turn what a row asks for is brought near."""


@inlined
def push_words(first, words, bits, begin, count, entries, cells, width, out, counters):
    """Adds the pair of `first` with each id of the words at `begin` (see `word_rows`) to a set of pairs.

    A set with `width` has a bit for each pair, `width` words for each first id; else it is a table of words.
    """
    if not has_room(first, words[begin + count - 1], count, entries, cells, width, out, counters):
        return False
    found = counters[FOUND]
    if width:
        row = np.int64(first) * width
        for at in range(begin, begin + count):
            held = cells[row + words[at]]
            new = bits[at] & ~held
            if new:
                cells[row + words[at]] = held | new
                found = write_pairs(first, words[at], new, out, found)
    else:
        used = counters[USED]
        mask = entries.size // 2 - 1
        for at in range(begin, begin + count):
            if not bits[at]:
                continue  # its ids were removed
            key = np.int64(first) | (np.int64(words[at]) << 38) | MARK
            place = np.int64(mix(np.uint64(key)) >> np.uint64(1)) & mask
            while entries[2 * place] != key:
                if entries[2 * place] == EMPTY:
                    entries[2 * place] = key
                    used += 1
                    break
                place = (place + 1) & mask
            held = entries[2 * place + 1]
            new = bits[at] & ~held
            if new:
                entries[2 * place + 1] = held | new
                found = write_pairs(first, words[at], new, out, found)
        counters[USED] = used
    counters[FOUND] = found
    return True


@inlined
def has_room(first, last_word, count, entries, cells, width, out, counters):
    """Whether a set has room for that many words, of which that is the last."""
    if counters[FOUND] + 64 * np.int64(count) >= out.size:
        return lacks(64 * np.int64(count), 0, counters)
    if width:
        return ((np.int64(first) + 1) * width <= cells.size and last_word < width) or lacks(0, 0, counters)
    return counters[USED] + count <= most_taken(entries.size // 2) or lacks(0, count, counters)


@inlined
def _held_word(first, word, entries, cells, width):
    """The bits of a word that a set has."""
    if width:
        place = np.int64(first) * width + word
        return cells[place] if word < width and place < cells.size else np.int64(0)
    # A free entry has no bits.
    return entries[_place_of(np.int64(first) | (np.int64(word) << 38) | MARK, entries) + 1]


@inlined
def _place_of(key, entries):
    """Where the entry of a word is, or the free one where it is to be."""
    mask = entries.size // 2 - 1
    place = np.int64(mix(np.uint64(key)) >> np.uint64(1)) & mask
    while entries[2 * place] != key and entries[2 * place] != EMPTY:
        place = (place + 1) & mask
    return 2 * place


@inlined
def lacks(rows, entries, counters):
    counters[ROWS] = rows
    counters[ENTRIES] = entries
    return False


@inlined
def write_pairs(first, word, bits, out, found):
    while bits:
        out[found] = np.int64(first) | ((np.int64(word) << 38) + (np.int64(lowest_bit(bits)) << 32))
        found += 1
        bits &= bits - 1
    return found


@inlined
def push_pair(first, second, entries, cells, width, out, waiting, counters):
    """Adds one pair to a set of pairs; in a table of words it waits for others."""
    if width:
        found = counters[FOUND]
        word = second >> 6
        place = np.int64(first) * width + word
        if found + 1 >= out.size:
            return lacks(1, 0, counters)
        if word >= width or place >= cells.size:
            return lacks(0, 0, counters)
        bit = np.int64(1) << (second & 63)
        held = cells[place]
        cells[place] = held | bit
        out[found] = np.int64(first) | (np.int64(second) << 32)
        counters[FOUND] = found + ((held & bit) == 0)
        counters[DERIVED] += 1
        return True
    if counters[WAITING] == waiting.size and not settle_pairs(entries, out, waiting, counters):
        return False
    waiting[counters[WAITING]] = np.int64(first) | (np.int64(second) << 32)
    counters[WAITING] += 1
    counters[DERIVED] += 1
    return True


@kernel
def settle_pairs(entries, out, waiting, counters):
    """Looks for the pairs that wait in a table of words; False when it must grow first or `out` is too short."""
    count = counters[WAITING]
    if counters[FOUND] + count >= out.size:
        return lacks(count, 0, counters)
    reached, used, found = insert_words(entries, counters[USED], waiting[:count], 0, out, counters[FOUND])
    counters[USED] = used
    counters[FOUND] = found
    for i in range(reached, count):
        waiting[i - reached] = waiting[i]
    counters[WAITING] = count - reached
    return reached == count or lacks(0, count - reached, counters)


@inlined
def push_id(identity, seen, out, counters):
    """Adds one id to a set of ids."""
    found = counters[FOUND]
    if identity >= seen.size:
        return lacks(0, 0, counters)
    if found + 1 >= out.size:
        return lacks(1, 0, counters)
    counters[DERIVED] += 1
    out[found] = identity
    counters[FOUND] = found + (seen[identity] == 0)
    seen[identity] = 1
    return True


@kernel
def settle_rows(slots, rows, waiting, columns, numbers, counters):
    """Looks for the rows that wait among numbered rows; False when those must grow first."""
    count = counters[WAITING]
    reached, used = number_rows(slots, rows, counters[USED], waiting, columns, 0, count, numbers)
    counters[USED] = used
    for i in range(reached, count):
        for c in range(columns.size):
            waiting[i - reached, c] = waiting[i, c]
    counters[WAITING] = count - reached
    return reached == count or lacks(0, count - reached, counters)


@inlined
def has_pair(first, second, entries, cells, width):
    """Whether a set of pairs has this one."""
    return (_held_word(first, second >> 6, entries, cells, width) >> (second & 63)) & 1 != 0


@inlined
def has_id(identity, seen):
    """Whether a set of ids has this one."""
    return identity < seen.size and seen[identity] != 0


@inlined
def look_ahead(rows, column, row, end, starts, counts, payload):
    """Has the blocks brought near that the rows behind `row` ask for: where one begins, then its first ids."""
    if row + 2 * _AHEAD < end:
        prefetch(starts, rows[row + 2 * _AHEAD, column])
        prefetch(counts, rows[row + 2 * _AHEAD, column])
        near = rows[row + _AHEAD, column]
        if 0 <= near < starts.size:
            prefetch(payload, np.int64(starts[near]) * payload.shape[1])


@inlined
def is_in_block(identity, payload, low, high):
    """Whether one of some rows of one column is `identity`."""
    for at in range(low, high):
        if payload[at, 0] == identity:
            return True
    return False


@kernel
def number_of_row(row, slots, rows, columns, number):
    """The number of a row among numbered rows, -1 where it is not there. `row` and `number` have room for one."""
    find_rows(slots, rows, row, columns, number)
    return number[0]
