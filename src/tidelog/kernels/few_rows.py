"""Sets of a few rows: comparing each with each costs less than making a table of them."""

from __future__ import annotations

from tidelog.kernels.jit import kernel, lean


@kernel
def different_rows(rows, out):
    """Writes each different row of `rows` to `out`, in the order they came; returns how many."""
    filled = 0
    for i in range(rows.shape[0]):
        if not _is_among(rows, i, out, filled):
            for c in range(rows.shape[1]):
                out[filled, c] = rows[i, c]
            filled += 1
    return filled


@kernel
def rows_without(rows, others, out):
    """Writes the rows of `rows` that are not among `others` to `out`, in the order they came; returns how many."""
    filled = 0
    for i in range(rows.shape[0]):
        if not _is_among(rows, i, others, others.shape[0]):
            for c in range(rows.shape[1]):
                out[filled, c] = rows[i, c]
            filled += 1
    return filled


@lean
def _is_among(rows, i, others, count):
    for j in range(count):
        same = True
        for c in range(rows.shape[1]):
            same = same and rows[i, c] == others[j, c]
        if same:
            return True
    return False
