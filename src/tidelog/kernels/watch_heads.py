"""Rows of heads, each with the number of matches that give it: it begins with the first and ends with the last."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel, prefetch
from tidelog.kernels.watch_finder import NONE, hash_tuple, tag_of
from tidelog.kernels.watch_tables import WIDTH, add_tuple, find_tuple, remove_tuple
from tidelog.kernels.watch_totals import FREE_TUPLE, MADE_TUPLES, TUPLES


@kernel
def count_heads(
    cells, links, tuple_finder, keys, entries, entry_finder, trees, totals,
    known, counts, watches, rules, arrivals, signs, heads, start, kept,
):  # fmt: skip
    """Counts the matches from `start` on, and marks in `kept` those with which a row of a watch begins or ends.

    The rows are stored tuples, whose relations are the watches; counts[t] belongs to tuple t. What begins with an
    arrival is counted before what ends with it, so that a row that only changes its reason does neither. Returns the
    position reached: it stops before an arrival for which a table has to grow.
    """
    codes = np.empty(rules.size, np.uint64)
    for m in range(start, rules.size):
        watch = watches[rules[m]]
        codes[m] = hash_tuple(watch, heads, m, known[watch, WIDTH])
        prefetch(tuple_finder, tag_of(codes[m]) & (tuple_finder.size - 1))
    at = start
    while at < rules.size:
        end = at + 1
        while end < rules.size and arrivals[end] == arrivals[at]:
            end += 1
        if not _has_room(links, tuple_finder, totals, end - at):
            return at
        for m in range(at, end):
            if signs[m] > 0:
                watch = watches[rules[m]]
                number = find_tuple(cells, links, tuple_finder, known, watch, heads, m, codes[m])
                if number == NONE:
                    number = add_tuple(cells, links, tuple_finder, totals, known, watch, heads, m, codes[m])
                    counts[number] = 0
                counts[number] += 1
                kept[m] = counts[number] == 1
        for m in range(at, end):
            if signs[m] < 0:
                number = find_tuple(cells, links, tuple_finder, known, watches[rules[m]], heads, m, codes[m])
                counts[number] -= 1
                kept[m] = counts[number] == 0
                if kept[m]:
                    remove_tuple(cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, number)
        at = end
    return at


@inlined
def _has_room(links, tuple_finder, totals, rows):
    free = links.shape[0] - totals[MADE_TUPLES]
    fits = rows <= free or (rows == 1 and totals[FREE_TUPLE] != NONE)
    return fits and 2 * (totals[TUPLES] + rows) <= tuple_finder.size
