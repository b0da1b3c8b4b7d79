"""Finders: hash tables with linear probing over numbers, which the caller compares with what it looks for.

The high half of a word is a piece of the hash, the low half the number found; a free place is NONE.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import inlined, lean

NONE = -1
LOW = 0xFFFFFFFF


@inlined
def hash_tuple(relation, rows, at, width):
    """The hash of the tuple rows[at] of `relation`."""
    code = np.uint64(relation)
    for c in range(width):
        code = mix(code ^ np.uint64(rows[at, c]))
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
def enter(finder, code, number):
    """Makes a number found by its hash; there is a free place."""
    mask = finder.size - 1
    tag = tag_of(code)
    place = tag & mask
    while finder[place] != NONE:
        place = (place + 1) & mask
    finder[place] = (tag << 32) | number


@lean
def leave(finder, code, number):
    """Takes a number out; those behind it that would not be found any more move up."""
    mask = finder.size - 1
    tag = tag_of(code)
    place = tag & mask
    while finder[place] != (tag << 32) | number:
        place = (place + 1) & mask
    behind = (place + 1) & mask
    while finder[behind] != NONE:
        wanted = (finder[behind] >> 32) & mask
        if ((behind - wanted) & mask) >= ((behind - place) & mask):
            finder[place] = finder[behind]
            place = behind
        behind = (behind + 1) & mask
    finder[place] = NONE


@lean
def move_finder(finder, target):
    """Puts everything that `finder` finds into the empty, larger `target`."""
    mask = target.size - 1
    for i in range(finder.size):
        if finder[i] != NONE:
            place = (finder[i] >> 32) & mask
            while target[place] != NONE:
                place = (place + 1) & mask
            target[place] = finder[i]
