"""Finders: hash tables with linear probing over numbers, which the caller compares with what it looks for.

The high half of a word is a piece of the hash, the low half the number found plus one. A free place is zero, as new
memory is.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix, step
from tidelog.kernels.jit import inlined, lean

NONE = -1
FREE = 0
LOW = 0xFFFFFFFF


@inlined
def hash_tuple(relation, rows, at, width):
    """The hash of the tuple rows[at] of `relation`."""
    code = np.uint64(relation)
    for c in range(width):
        code = step(code, np.uint64(rows[at, c]))
    return mix(code)


@inlined
def hash_key(page, key):
    """The hash of a value on a page."""
    return mix(np.uint64(key) ^ (np.uint64(page) << np.uint64(40)))


@inlined
def tag_of(code):
    """The piece of a hash that a finder keeps. Its low bits are the place where the search begins."""
    return np.int64(code >> np.uint64(33))


@inlined
def word_of(code, number):
    """What a finder keeps of a number and its hash."""
    return (tag_of(code) << 32) | (number + 1)


@inlined
def found_at(finder, place):
    """The number at a place, NONE where it is free."""
    return (finder[place] & LOW) - 1


@lean
def leave(finder, code, number):
    """Takes a number out; those behind it that would not be found any more move up."""
    mask = finder.size - 1
    word = word_of(code, number)
    place = tag_of(code) & mask
    while finder[place] != word:
        place = (place + 1) & mask
    behind = (place + 1) & mask
    while finder[behind] != FREE:
        wanted = (finder[behind] >> 32) & mask
        if ((behind - wanted) & mask) >= ((behind - place) & mask):
            finder[place] = finder[behind]
            place = behind
        behind = (behind + 1) & mask
    finder[place] = FREE


@lean
def move_finder(finder, target, block):
    """Puts everything that `finder` finds into the empty, larger `target`.

    Free places are left out first, a `block` at a time: no processor foresees which they are.
    """
    mask = target.size - 1
    for begin in range(0, finder.size, block.size - 1):
        found = 0
        for i in range(begin, min(begin + block.size - 1, finder.size)):
            block[found] = finder[i]
            found += finder[i] != FREE
        for i in range(found):
            place = (block[i] >> 32) & mask
            while target[place] != FREE:
                place = (place + 1) & mask
            target[place] = block[i]
