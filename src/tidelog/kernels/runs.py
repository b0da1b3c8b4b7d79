"""Pairs with the same first id, side by side."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel, prefetch

_SHORTER = 2
"""Runs are worth being made when there are that many times fewer of them then."""

_AHEAD = 8
"""How many runs before its turn the place of a run is brought near."""

_NEIGHBOURS = 4
"""Of so many bits are the numbers of ids whose places are within two lines of the cache."""


@kernel
def find_runs(packed, begins):
    """Writes the number of the first pair of each run, and one number more. Returns how many runs there are, and one
    more than the largest first id.

    A run is of pairs, each one number with the first id in its low half, with the same first id.
    """
    runs = reach = 0
    before = np.int64(-1)
    for i in range(packed.size):
        first = packed[i] & 0xFFFFFFFF
        begins[runs] = i
        runs += first != before
        reach = max(reach, first + 1)
        before = first
    return runs, reach


@kernel
def sort_into_runs(packed, begins, part, parts, own, places, out):
    """Writes the pairs of one part of so many, a power of two, to `out` in order of their first id, run by run, behind
    those of lower parts; False where that would be not many fewer runs: then they are written as they came, or not at
    all if they are all pairs.

    `begins` are the numbers of the first pair of each run, and behind the last; `own` has room for as many. `places`
    has a zero for each id and one more. Neighbouring ids belong to one part, because they share lines of the cache.
    """
    runs = low = 0
    for run in range(begins.size - 1):
        owner = ((packed[begins[run]] & 0xFFFFFFFF) >> _NEIGHBOURS) & (parts - 1)
        own[runs] = run
        runs += owner == part
        low += (begins[run + 1] - begins[run]) * (owner < part)
    different = 0
    for i in range(runs):
        first = packed[begins[own[i]]] & 0xFFFFFFFF
        different += places[first + 1] == 0
        places[first + 1] += begins[own[i] + 1] - begins[own[i]]
    is_worth_it = runs >= _SHORTER * different
    if not is_worth_it and parts == 1:
        return False
    places[0] = low
    for i in range(1, places.size):
        places[i] += places[i - 1]
    for i in range(runs):
        if i + _AHEAD < runs:
            prefetch(out, places[packed[begins[own[i + _AHEAD]]] & 0xFFFFFFFF])
        first = packed[begins[own[i]]] & 0xFFFFFFFF
        place = places[first] if is_worth_it else low
        for at in range(begins[own[i]], begins[own[i] + 1]):
            out[place] = packed[at]
            place += 1
        places[first] = low = place
    return is_worth_it


@inlined
def end_of_run(rows, begin, end):
    """The number of the first row behind `begin` that begins with another id."""
    stop = begin + 1
    while stop < end and rows[stop, 0] == rows[begin, 0]:
        stop += 1
    return stop
