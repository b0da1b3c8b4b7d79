"""A set of pairs over small ranges of ids: one bit for each pair that could be."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import kernel, lowest_bit, prefetch

_BLOCK = 128

_NEAR = 1 << 17
"""Bytes of bits that lie near enough not to be asked for ahead."""

_FIRST = np.uint64(0xFFFFFFFF)
_SECOND = np.uint64(32)
_SECOND_BYTE = np.uint64(35)
_SEVEN = np.uint64(7)


@kernel
def insert_bits(bits, stride, keys, out, found):
    """Adds packed pairs; writes the new ones to `out` from `found` on and returns the new `found`.

    A pair (a, b) is the bit b of the `stride` bytes at a * stride. `out` needs room for one key more than are new.
    """
    width = np.uint64(stride)
    block = np.uint64(_BLOCK if bits.size > _NEAR else keys.size)
    last = np.uint64(found)
    at = np.uint64(0)
    while at < np.uint64(keys.size):
        stop = min(at + block, np.uint64(keys.size))
        if bits.size > _NEAR:
            for i in range(at, stop):
                key = np.uint64(keys[i])
                prefetch(bits, (key & _FIRST) * width + (key >> _SECOND_BYTE))
        for i in range(at, stop):
            key = np.uint64(keys[i])
            place = (key & _FIRST) * width + (key >> _SECOND_BYTE)
            bit = np.uint8(1 << ((key >> _SECOND) & _SEVEN))
            held = bits[place]
            bits[place] = held | bit
            out[last] = keys[i]
            last += np.uint64((held & bit) == 0)
        at = stop
    return np.int64(last)


@kernel
def contains_bits(bits, stride, keys, result):
    """Writes to `result` which of the packed pairs are in the set; pairs outside its range are not."""
    sources = bits.size // stride
    for i in range(keys.size):
        source = keys[i] & 0xFFFFFFFF
        target = keys[i] >> 32
        inside = source < sources and (target >> 3) < stride
        result[i] = inside and (bits[source * stride + (target >> 3)] >> (target & 7)) & 1 != 0


@kernel
def unknown_bits(bits, stride, keys, out):
    """Writes the packed pairs that are not in the set to `out` and returns how many; `out` needs room for one more."""
    sources = bits.size // stride
    found = 0
    for i in range(keys.size):
        key = keys[i]
        source = key & 0xFFFFFFFF
        target = key >> 32
        out[found] = key
        inside = source < sources and (target >> 3) < stride
        found += not inside or (bits[source * stride + (target >> 3)] >> (target & 7)) & 1 == 0
    return found


@kernel
def bits_without(cells, width, others, others_width, out):
    """Writes the packed pairs of one set that are not in the other to `out`, and returns how many.

    A set has `width` words of its cells for each first id.
    """
    found = 0
    for i in range(cells.size):
        left = cells[i]
        if left:
            source = i // width
            word = i % width
            if word < others_width and source * others_width < others.size:
                left &= ~others[source * others_width + word]
            while left:
                out[found] = source | ((64 * word + np.int64(lowest_bit(left))) << 32)
                found += 1
                left &= left - 1
    return found


@kernel
def remove_bits(bits, stride, keys):
    """Takes packed pairs out of the set; pairs outside its range are not in it."""
    sources = bits.size // stride
    for i in range(keys.size):
        source = keys[i] & 0xFFFFFFFF
        target = keys[i] >> 32
        if source < sources and (target >> 3) < stride:
            place = source * stride + (target >> 3)
            bits[place] = bits[place] & np.uint8(255 - (1 << (target & 7)))


@kernel
def insert_ids(seen, ids, out, found):
    """Marks `ids` in `seen` (a byte each); writes the new ones to `out` from `found` on, returns the new `found`."""
    for i in range(ids.size):
        identity = ids[i]
        out[found] = identity
        found += seen[identity] == 0
        seen[identity] = 1
    return found


@kernel
def contains_ids(seen, ids, result):
    """Writes to `result` which of `ids` are marked in `seen`; those that it does not reach to are not."""
    for i in range(ids.size):
        result[i] = ids[i] < seen.size and seen[ids[i]] != 0


@kernel
def count_different(ids, seen):
    """Marks ids in `seen`, which has a byte for each; how many were not marked."""
    found = 0
    for i in range(ids.size):
        found += seen[ids[i]] == 0
        seen[ids[i]] = 1
    return found
