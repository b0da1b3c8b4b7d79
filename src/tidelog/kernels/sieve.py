"""A sieve lets all keys of a set through and few others: what is looked for among many rows need not be searched for
at most of them.

It is bits, as many as a power of two, of which each key sets the one that its hash number says.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import kernel


@kernel
def make_sieve(keys, bits):
    """Sets the bits of `keys` in the words `bits`, none of which is set yet."""
    mask = 64 * bits.size - 1
    for i in range(keys.size):
        place = np.int64(mix(np.uint64(keys[i])) >> np.uint64(1)) & mask
        bits[place >> 6] |= np.int64(1) << (place & 63)


@kernel
def sift(keys, bits, out, numbers):
    """Writes the keys that the sieve lets through to `out`, and their numbers; returns how many.

    Both need room for one more.
    """
    mask = 64 * bits.size - 1
    found = 0
    for i in range(keys.size):
        place = np.int64(mix(np.uint64(keys[i])) >> np.uint64(1)) & mask
        out[found] = keys[i]
        numbers[found] = i
        found += (bits[place >> 6] >> (place & 63)) & 1
    return found
