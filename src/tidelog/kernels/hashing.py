"""Hash numbers of 64 bits."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel, lean

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


@kernel
def mix(key: np.uint64) -> np.uint64:
    """`key` with all its bits spread over the result, high bits and low."""
    key ^= key >> _HALF
    key *= _FIRST
    key ^= key >> _HALF
    key *= _SECOND
    return key ^ (key >> _HALF)


@inlined
def step(code, key):
    """The hash number of what `code` stands for and `key`, in that order: to be mixed in the end."""
    code = (code ^ key) * _FIRST
    return code ^ (code >> _HALF)


@lean
def sum_of_rows(rows, seed):
    """A number for a set of rows, the sum of those of its rows: sets whose numbers differ are different."""
    total = np.uint64(0)
    start = step(_SECOND, seed)  # far from all ids, which would undo a small one
    for row in range(rows.shape[0]):
        code = start
        for column in range(rows.shape[1]):
            code = step(code, np.uint64(rows[row, column]))
        total += mix(code)
    return total
