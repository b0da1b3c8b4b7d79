"""Pairs with the same first id, side by side."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel, prefetch

_SHORTER = 2
"""Runs are worth being made when there are that many times fewer of them then."""

_AHEAD = 8
"""How many runs before its turn the place of a run is brought near."""


@kernel
def count_runs(packed):
    """How many runs of pairs, each one number with the first id in its low half, have the same first id, and one more
    than the largest of these."""
    runs = reach = 0
    before = np.int64(-1)
    for i in range(packed.size):
        first = packed[i] & 0xFFFFFFFF
        if first != before:
            runs += 1
            reach = max(reach, first + 1)
            before = first
    return runs, reach


@kernel
def sort_into_runs(packed, begins, places, out):
    """Writes pairs to `out` in order of their first id, run by run; False where that would be not many fewer runs.

    `begins` has room for the number of each run's first pair and one more, `places` a zero for each id and one more.
    """
    different = runs = 0
    before = np.int64(-1)
    for i in range(packed.size):
        first = packed[i] & 0xFFFFFFFF
        if first != before:
            different += places[first + 1] == 0
            begins[runs] = i
            runs += 1
            before = first
        places[first + 1] += 1
    if runs < _SHORTER * different:
        return False
    begins[runs] = packed.size
    for i in range(1, places.size):
        places[i] += places[i - 1]
    for run in range(runs):
        if run + _AHEAD < runs:
            prefetch(out, places[packed[begins[run + _AHEAD]] & 0xFFFFFFFF])
        first = packed[begins[run]] & 0xFFFFFFFF
        place = places[first]
        for i in range(begins[run], begins[run + 1]):
            out[place] = packed[i]
            place += 1
        places[first] = place
    return True


@inlined
def end_of_run(rows, begin, end):
    """The number of the first row behind `begin` that begins with another id."""
    stop = begin + 1
    while stop < end and rows[stop, 0] == rows[begin, 0]:
        stop += 1
    return stop
