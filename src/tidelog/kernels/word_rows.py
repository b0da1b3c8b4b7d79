"""Pairs by one of their ids: for each key the other ids as bits, 64 neighbours in a word, so that a whole row of ids is
added to another one word by word.

The words of key k stand at starts[k], counts[k] of them, in ascending order: their numbers in `words`, their bits in
`bits`; sizes[k] counts the ids. A row of words that is full moves to a place of at least twice its room, rooms[k]: one
that another row has left, or the tail. left[c] is the first left place with room for 2**c words, -1 if there is none;
its first word holds the next one.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel, prefetch

_AHEAD = 8
"""How many keys before its turn the row of a key is brought near."""

_NEIGHBOURS = 4
"""Of so many bits are the numbers of keys within a line of the cache."""


@kernel
def pack_pairs(pairs, key, low_bits, part, parts, packed):
    """Writes the pairs of one part of so many, a power of two, as numbers: the id in column `key` above `low_bits` of
    the other one. Returns how many. Neighbouring keys belong to one part, because they share lines of the cache."""
    found = 0
    for i in range(pairs.shape[0]):
        packed[found] = (np.int64(pairs[i, key]) << low_bits) | np.int64(pairs[i, 1 - key])
        found += (pairs[i, key] >> _NEIGHBOURS) & (parts - 1) == part
    return found


@kernel
def lay_out_words(packed, low_bits, first_place, keys, starts, counts, sizes, words, bits):
    """Writes the words of `packed` from a place on, and their keys; how many keys. Pairs are in order of key and word,
    each with the key above `low_bits`."""
    found = 0
    at = first_place
    last_word = (np.int64(1) << (low_bits - 6)) - 1
    i = 0
    while i < packed.size:
        key = packed[i] >> low_bits
        first, begin = i, at
        while i < packed.size and packed[i] >> low_bits == key:
            # Neither key nor word changes within these 64 ids.
            head = packed[i] >> 6
            held = np.int64(0)
            while i < packed.size and packed[i] >> 6 == head:
                held |= np.int64(1) << (packed[i] & 63)
                i += 1
            words[at] = head & last_word
            bits[at] = held
            at += 1
        keys[found] = key
        found += 1
        starts[key] = begin
        counts[key] = at - begin
        sizes[key] = i - first
    return found


@kernel
def merge_words(
    keys, first, from_starts, from_counts, from_sizes, from_words, from_bits,
    starts, counts, rooms, sizes, words, bits, left, tail, limit,
):  # fmt: skip
    """Adds the rows of these keys, from number `first` on, to others. Returns (number of the key reached, new tail).

    It stops early where a row must move and there is no room for it below `limit`.
    """
    for number in range(first, keys.size):
        key = keys[number]
        _look_ahead(keys, number, starts, counts, rooms, sizes, words, bits)
        begin = from_starts[key]
        end = begin + from_counts[key]
        missing = _words_missing(from_words, begin, end, words, starts[key], starts[key] + counts[key])
        if counts[key] + missing > rooms[key]:
            size = 0
            while (1 << size) < counts[key] + missing:
                size += 1
            place = np.int64(left[size])
            if place >= 0:
                left[size] = words[place]
            else:
                place = tail
                if tail + (1 << size) > limit:
                    return number, tail
                tail += 1 << size
            _move_words(starts[key], counts[key], place, words, bits)
            _leave_place(starts[key], rooms[key], words, left)
            starts[key] = place
            rooms[key] = 1 << size
        _merge_row(from_words, from_bits, begin, end, words, bits, starts[key], counts[key], missing)
        counts[key] += missing
        sizes[key] += from_sizes[key]
    return np.int64(keys.size), tail


@inlined
def _look_ahead(keys, number, starts, counts, rooms, sizes, words, bits):
    if number + 2 * _AHEAD < keys.size:
        key = keys[number + 2 * _AHEAD]
        prefetch(starts, key)
        prefetch(counts, key)
        prefetch(rooms, key)
        prefetch(sizes, key)
        place = starts[keys[number + _AHEAD]]
        prefetch(words, place)
        prefetch(bits, place)


@kernel
def _words_missing(from_words, begin, end, words, at, stop):
    """How many words of the first row the second has not."""
    missing = 0
    for i in range(begin, end):
        while at < stop and words[at] < from_words[i]:
            at += 1
        missing += at == stop or words[at] != from_words[i]
    return missing


@kernel
def _merge_row(from_words, from_bits, begin, end, words, bits, start, count, missing):
    """Merges a row into another one with room for the words that it has not, from the last word to the first."""
    at = start + count - 1
    place = at + missing
    i = end - 1
    while i >= begin:
        if at >= start and words[at] == from_words[i]:
            words[place] = words[at]
            bits[place] = bits[at] | from_bits[i]
            at -= 1
            i -= 1
        elif at >= start and words[at] > from_words[i]:
            words[place] = words[at]
            bits[place] = bits[at]
            at -= 1
        else:
            words[place] = from_words[i]
            bits[place] = from_bits[i]
            i -= 1
        place -= 1


@kernel
def _move_words(source, count, target, words, bits):
    for j in range(count):
        words[target + j] = words[source + j]
        bits[target + j] = bits[source + j]


@kernel
def _leave_place(begin, room, words, left):
    if room:
        size = 0
        while (1 << size) < room:
            size += 1
        words[begin] = left[size]
        left[size] = begin


@kernel
def remove_from_words(pairs, key_column, starts, counts, sizes, words, bits):
    """Takes out those of `pairs` that are there. A word stays, also without bits."""
    for i in range(pairs.shape[0]):
        key = pairs[i, key_column]
        other = pairs[i, 1 - key_column]
        if key >= starts.size:
            continue
        low = starts[key]
        end = low + counts[key]
        high = end
        while low < high:
            middle = (low + high) // 2
            if words[middle] < other >> 6:
                low = middle + 1
            else:
                high = middle
        bit = np.int64(1) << (other & 63)
        if low < end and words[low] == other >> 6 and bits[low] & bit:
            bits[low] &= ~bit
            sizes[key] -= 1


@kernel
def forget_words(keys, counts, sizes):
    """Takes the rows of these keys out."""
    for number in range(keys.size):
        counts[keys[number]] = 0
        sizes[keys[number]] = 0
