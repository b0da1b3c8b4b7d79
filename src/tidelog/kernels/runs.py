"""Pairs with the same first id, side by side."""

from __future__ import annotations

from tidelog.kernels.jit import inlined, kernel

_SHORTER = 2
"""Runs are worth being made when there are that many times fewer of them then."""


@kernel
def count_runs(rows):
    """How many runs of rows have the same first id, and one more than the largest of these."""
    runs = reach = 0
    for i in range(rows.shape[0]):
        if i == 0 or rows[i, 0] != rows[i - 1, 0]:
            runs += 1
            reach = max(reach, rows[i, 0] + 1)
    return runs, reach


@kernel
def sort_into_runs(rows, runs, places, out):
    """Writes pairs, which have so many runs, to `out` in order of their first id; False where that would be not many
    fewer runs. `places` has a zero for each id and one more."""
    different = 0
    for i in range(rows.shape[0]):
        different += places[rows[i, 0] + 1] == 0
        places[rows[i, 0] + 1] += 1
    if runs < _SHORTER * different:
        return False
    for i in range(1, places.size):
        places[i] += places[i - 1]
    for i in range(rows.shape[0]):
        place = places[rows[i, 0]]
        places[rows[i, 0]] = place + 1
        out[place, 0] = rows[i, 0]
        out[place, 1] = rows[i, 1]
    return True


@inlined
def end_of_run(rows, begin, end):
    """The number of the first row behind `begin` that begins with another id."""
    stop = begin + 1
    while stop < end and rows[stop, 0] == rows[begin, 0]:
        stop += 1
    return stop
