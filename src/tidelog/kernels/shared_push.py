"""As `push`, into a set to which several threads push at the same time.

What is new to the set is new to one thread only: a bit is set, and an entry taken, in one step that no other thread can
come between; or, where first ids are divided between the threads, bits are set in plain steps. The set itself stays
where it is meanwhile: counters[USED] begins so high that each thread has its part of the free entries, and rows and
counters are a thread's own.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import fetch_or, inlined, kernel, prefetch, swap_if
from tidelog.kernels.push import DERIVED, FOUND, USED, WAITING, has_room, lacks, write_pairs
from tidelog.kernels.word_set import EMPTY, MARK, most_taken, word_of

_BLOCK = 128

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@inlined
def mine_of(word, mine):
    """The bits of those ids of a word that belong to the thread: `mine` has them for each of so many kinds of words as
    there are threads. Eight neighbours belong to one, because the bits of short rows share lines of the cache."""
    spread = (np.uint64(word) * _SPREAD) >> _HALF
    return mine[np.int64((spread * np.uint64(mine.size)) >> _HALF)]


@inlined
def is_mine(first, mine):
    """Whether an id belongs to the thread."""
    return (mine_of(first >> 6, mine) >> (first & 63)) & 1 == 1


@inlined
def share_words(first, words, bits, begin, count, entries, cells, width, out, counters, mine):
    """Adds the pair of `first` with each id of the words at `begin` to a set of pairs, as `push_words` does.

    Where ids are divided into several kinds of words, no other thread has pairs of `first`: their bits need no care.
    """
    if not has_room(first, words[begin + count - 1], count, entries, cells, width, out, counters):
        return False
    is_alone = mine.size > 1
    found = counters[FOUND]
    if width:
        row = np.int64(first) * width
        for at in range(begin, begin + count):
            held = cells[row + words[at]]
            new = bits[at] & ~held
            if new:
                if is_alone:
                    cells[row + words[at]] = held | new
                else:
                    new &= ~fetch_or(cells, row + words[at], new)
                found = write_pairs(first, words[at], new, out, found)
    else:
        for at in range(begin, begin + count):
            if not bits[at]:
                continue  # its ids were removed
            key = np.int64(first) | (np.int64(words[at]) << 38) | MARK
            place = _taken_entry(key, _first_place(key, entries.size), entries, counters)
            held = entries[place + 1]
            new = bits[at] & ~held
            if new:
                if is_alone:
                    entries[place + 1] = held | new
                else:
                    new &= ~fetch_or(entries, place + 1, new)
                found = write_pairs(first, words[at], new, out, found)
    counters[FOUND] = found
    return True


@inlined
def share_pair(first, second, entries, cells, width, out, waiting, counters, mine):
    """Adds one pair to a set of pairs, as `push_pair` does."""
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
        if mine.size > 1:
            cells[place] = held | bit
        elif held & bit == 0:  # most bits are known: then lines of the cache stay where they are
            held = fetch_or(cells, place, bit)
        out[found] = np.int64(first) | (np.int64(second) << 32)
        counters[FOUND] = found + ((held & bit) == 0)
    else:
        if counters[WAITING] == waiting.size and not settle_shared_pairs(entries, out, waiting, counters):
            return False
        waiting[counters[WAITING]] = np.int64(first) | (np.int64(second) << 32)
        counters[WAITING] += 1
    counters[DERIVED] += 1
    return True


@kernel
def settle_shared_pairs(entries, out, waiting, counters):
    """Looks for the pairs that wait in a table of words; False when it must grow first or `out` is too short."""
    count = counters[WAITING]
    if counters[FOUND] + count >= out.size:
        return lacks(count, 0, counters)
    limit = most_taken(entries.size // 2)
    places = np.empty(_BLOCK, np.int64)
    found = counters[FOUND]
    reached = 0
    while reached < count and counters[USED] + _BLOCK <= limit:
        size = min(_BLOCK, count - reached)
        for i in range(size):
            places[i] = _first_place(word_of(waiting[reached + i]), entries.size)
            prefetch(entries, 2 * places[i])
        for i in range(size):
            key = waiting[reached + i]
            place = _taken_entry(word_of(key), places[i], entries, counters)
            bit = np.int64(1) << ((key >> 32) & 63)
            if entries[place + 1] & bit == 0 and fetch_or(entries, place + 1, bit) & bit == 0:
                out[found] = key
                found += 1
        reached += size
    counters[FOUND] = found
    for i in range(reached, count):
        waiting[i - reached] = waiting[i]
    counters[WAITING] = count - reached
    return reached == count or lacks(0, max(_BLOCK, count - reached), counters)


@inlined
def share_id(identity, seen, out, counters):
    """Adds one id to a set of ids, as `push_id` does."""
    found = counters[FOUND]
    if identity >= seen.size:
        return lacks(0, 0, counters)
    if found + 1 >= out.size:
        return lacks(1, 0, counters)
    counters[DERIVED] += 1
    out[found] = identity
    counters[FOUND] = found + (seen[identity] == 0 and fetch_or(seen, identity, 1) == 0)
    return True


@inlined
def _first_place(key, size):
    return np.int64(mix(np.uint64(key)) >> np.uint64(1)) & (size // 2 - 1)


@inlined
def _taken_entry(key, place, entries, counters):
    """Where the entry of a word is, which is looked for from `place` on, and taken if it is not there."""
    mask = entries.size // 2 - 1
    while True:
        held = entries[2 * place]
        if held == EMPTY:
            held = swap_if(entries, 2 * place, EMPTY, key)
            if held == EMPTY:
                counters[USED] += 1
                break
        if held == key:
            break
        place = (place + 1) & mask
    return 2 * place
