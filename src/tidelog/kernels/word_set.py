"""A set of pairs of ids that keeps 64 neighbouring second ids in one word: small and quick where ids lie close.

A pair is packed into 64 bits, the second id in the high half. An entry is two numbers side by side: the key of the word
(a pair whose second id has MARK instead of its low six bits, so that no key is 0) and its bits. Both are 0 in a free
entry: a new table takes no memory before it is written to.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import inlined, kernel, lowest_bit, prefetch

EMPTY = 0
MARK = 1 << 32
_WORD = ~(63 << 32)
_BLOCK = 128


@inlined
def most_taken(entries):
    """Of so many entries, how many may be taken before the table should grow: with more than five in eight, most words
    are looked for in several places."""
    return entries // 2 + entries // 8


@inlined
def word_of(key):
    """The key of the word that a pair is in."""
    return (key & _WORD) | MARK


@kernel
def insert_words(entries, used, keys, start, out, found):
    """Adds the keys from `start` on; the new ones are written to `out` from position `found` on.

    Returns (position reached, entries used, new value of `found`). It stops early when the table should grow.
    `out` needs room for one key more than are new.
    """
    mask = entries.size // 2 - 1
    limit = most_taken(entries.size // 2)
    places = np.empty(_BLOCK, np.int64)
    at = start
    while at < keys.size:
        size = min(_BLOCK, keys.size - at)
        _find_places(entries, keys, at, size, places)
        for i in range(size):
            key = keys[at + i]
            word = word_of(key)
            place = places[i]
            while entries[2 * place] != word:
                if entries[2 * place] == EMPTY:
                    if used >= limit:
                        return at + i, used, found
                    used += 1
                    entries[2 * place] = word
                    break
                place = (place + 1) & mask
            bit = np.int64(1) << ((key >> 32) & 63)
            held = entries[2 * place + 1]
            entries[2 * place + 1] = held | bit
            out[found] = key
            found += (held & bit) == 0
        at += size
    return at, used, found


@kernel
def contains_words(entries, keys, result):
    """Writes to `result` which of `keys` are in the set."""
    places = np.empty(_BLOCK, np.int64)
    at = 0
    while at < keys.size:
        size = min(_BLOCK, keys.size - at)
        _find_places(entries, keys, at, size, places)
        for i in range(size):
            result[at + i] = _holds(entries, keys[at + i], places[i])
        at += size


@kernel
def unknown_words(entries, keys, out):
    """Writes the keys that are not in the set to `out` and returns how many; `out` needs room for one more."""
    places = np.empty(_BLOCK, np.int64)
    found = 0
    at = 0
    while at < keys.size:
        size = min(_BLOCK, keys.size - at)
        _find_places(entries, keys, at, size, places)
        for i in range(size):
            out[found] = keys[at + i]
            found += not _holds(entries, keys[at + i], places[i])
        at += size
    return found


@kernel
def words_without(entries, others, out):
    """Writes the pairs of one set that are not in the other to `out`, and returns how many.

    In tables of one size a word has about the same place, most often exactly, so that both are read in order.
    """
    mask = others.size // 2 - 1
    found = 0
    for i in range(0, entries.size, 2):
        if entries[i + 1]:
            word = entries[i]
            place = (i // 2) & mask
            if others[2 * place] != word:
                place = _place_of(word, mask)
                while others[2 * place] != word and others[2 * place] != EMPTY:
                    place = (place + 1) & mask
            left = entries[i + 1] & ~others[2 * place + 1]
            while left:
                out[found] = (word ^ MARK) | (np.int64(lowest_bit(left)) << 32)
                found += 1
                left &= left - 1
    return found


@kernel
def remove_words(entries, keys):
    """Takes `keys` out of the set. A word stays where it is, also without bits."""
    mask = entries.size // 2 - 1
    places = np.empty(_BLOCK, np.int64)
    at = 0
    while at < keys.size:
        size = min(_BLOCK, keys.size - at)
        _find_places(entries, keys, at, size, places)
        for i in range(size):
            key = keys[at + i]
            word = word_of(key)
            place = places[i]
            while entries[2 * place] != word and entries[2 * place] != EMPTY:
                place = (place + 1) & mask
            if entries[2 * place] == word:
                entries[2 * place + 1] &= ~(np.int64(1) << ((key >> 32) & 63))
        at += size


@kernel
def spread_words(entries, row_bytes, stride):
    """Sets the bit of each pair of the set: bit b of the `stride` bytes at a * stride for the pair (a, b)."""
    for i in range(0, entries.size, 2):
        if entries[i] != EMPTY:
            place = (entries[i] & 0xFFFFFFFF) * stride + (entries[i] >> 35)
            for byte in range(8):
                held = (entries[i + 1] >> (8 * byte)) & 255
                if held:
                    row_bytes[place + byte] = row_bytes[place + byte] | np.uint8(held)


@kernel
def gather_words(cells, width, entries):
    """Puts each word that has bits into the empty table; `width` words of `cells` for each first id."""
    mask = entries.size // 2 - 1
    used = 0
    for i in range(cells.size):
        if cells[i]:
            word = (i // width) | ((i % width) << 38) | MARK
            place = _place_of(word, mask)
            while entries[2 * place] != EMPTY:
                place = (place + 1) & mask
            entries[2 * place] = word
            entries[2 * place + 1] = cells[i]
            used += 1
    return used


@kernel
def move_words(entries, target):
    """Puts all entries into the larger, empty `target`.

    Whether an entry is taken cannot be foreseen: those that are, are noted first without asking.
    """
    mask = target.size // 2 - 1
    taken = np.empty(_BLOCK, np.int64)
    for begin in range(0, entries.size, 2 * _BLOCK):
        count = 0
        for i in range(begin, min(begin + 2 * _BLOCK, entries.size), 2):
            taken[count] = i
            count += entries[i] != EMPTY
        for number in range(count):
            i = taken[number]
            place = _place_of(entries[i], mask)
            while target[2 * place] != EMPTY:
                place = (place + 1) & mask
            target[2 * place] = entries[i]
            target[2 * place + 1] = entries[i + 1]


@kernel
def _find_places(entries, keys, at, size, places):
    """Writes where each of keys[at : at + size] is looked for first. A run of keys of one word is hashed once."""
    mask = entries.size // 2 - 1
    before = np.int64(EMPTY)
    place = np.int64(0)
    for i in range(size):
        word = word_of(keys[at + i])
        if word != before:
            place = _place_of(word, mask)
            prefetch(entries, 2 * place)
            before = word
        places[i] = place


@kernel
def _holds(entries, key, place):
    """Whether the set has `key`, which is looked for from `place` on. A free entry has no bits."""
    mask = entries.size // 2 - 1
    word = word_of(key)
    while entries[2 * place] != word:
        if entries[2 * place] == EMPTY:
            break
        place = (place + 1) & mask
    return (entries[2 * place + 1] >> ((key >> 32) & 63)) & 1 != 0


@kernel
def _place_of(word, mask):
    return np.int64(mix(np.uint64(word)) >> np.uint64(1)) & mask
