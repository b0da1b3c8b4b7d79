"""Ids that come from many places, each to be pushed once: they are gathered as bits first.

cells[w] has a bit for each id of word w that was gathered so far, touched[:size] are the words that have some.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import count_ones
from tidelog.kernels.jit import inlined, lowest_bit
from tidelog.kernels.push import DERIVED, push_pair, push_words
from tidelog.kernels.shared_push import share_pair, share_words

_SEVERAL = 2
"""Ids in a word, on average, from which on a table is asked for words. Single pairs wait for others, so that the
processor fetches several places at once."""


@inlined
def gather_words(words, bits, begin, count, cells, touched, size):
    """Gathers the ids of the words at `begin` (see `word_rows`); how many words there are then."""
    for at in range(begin, begin + count):
        word = words[at]
        if bits[at]:
            if cells[word] == 0:
                touched[size] = word
                size += 1
            cells[word] |= bits[at]
    return size


@inlined
def gather_block(ids, low, high, cells, touched, size):
    """Gathers ids[low:high, 0]; how many words there are then."""
    for at in range(low, high):
        word = ids[at, 0] >> 6
        if cells[word] == 0:
            touched[size] = word
            size += 1
        cells[word] |= np.int64(1) << (ids[at, 0] & 63)
    return size


@inlined
def take_gathered(cells, touched, bits, size):
    """Makes what was gathered words with their bits, the last of them the largest; how many ids they are."""
    ids = 0
    for i in range(size):
        if touched[i] > touched[size - 1]:
            largest = touched[i]
            touched[i] = touched[size - 1]
            touched[size - 1] = largest
        bits[i] = cells[touched[i]]
        cells[touched[i]] = 0
        ids += count_ones(np.uint64(bits[i]))
    return ids


@inlined
def push_gathered(first, words, bits, size, ids, entries, cells, width, out, waiting, counters):
    """Adds the pair of `first` with each of so many `ids` that were gathered to a set of pairs (see `push`)."""
    if width or ids >= _SEVERAL * size:
        if not push_words(first, words, bits, 0, size, entries, cells, width, out, counters):
            return False
        counters[DERIVED] += ids
        return True
    for at in range(size):
        left = bits[at]
        while left:
            if not push_pair(first, _id_of(words[at], left), entries, cells, width, out, waiting, counters):
                return False
            left &= left - 1
    return True


@inlined
def share_gathered(first, words, bits, size, ids, entries, cells, width, out, waiting, counters, mine):
    """As `push_gathered`, into a set to which several threads push (see `shared_push`)."""
    if width or ids >= _SEVERAL * size:
        if not share_words(first, words, bits, 0, size, entries, cells, width, out, counters, mine):
            return False
        counters[DERIVED] += ids
        return True
    for at in range(size):
        left = bits[at]
        while left:
            if not share_pair(first, _id_of(words[at], left), entries, cells, width, out, waiting, counters, mine):
                return False
            left &= left - 1
    return True


@inlined
def _id_of(word, left):
    """The lowest id of a word with these bits."""
    return (word << 6) + lowest_bit(left)
