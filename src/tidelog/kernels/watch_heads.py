"""Rows of heads, each with the number of matches that give it: it begins with the first and ends with the last."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, lean, prefetch
from tidelog.kernels.watch_finder import NONE, found_at, hash_tuple, tag_of
from tidelog.kernels.watch_tables import WIDTH, add_tuple, remove_tuple, seek_tuple
from tidelog.kernels.watch_totals import TUPLES


@lean
def count_heads(
    cells, links, tuple_finder, keys, entries, entry_finder, trees, totals,
    known, counts, watches, codes, rules, arrivals, signs, heads, start, kept,
):  # fmt: skip
    """Counts the matches from `start` on and moves those with which a row begins or ends forward, behind `kept` others;
    their `rules` are watches then.

    The rows are stored tuples, whose relations are the watches; counts[t] belongs to tuple t. What begins with an
    arrival is counted before what ends with it, so that a row that only changes its reason does neither. Returns the
    position reached and how many are kept: it stops before an arrival for which a table has to grow. `codes` is room
    for hashes.
    """
    for m in range(start, rules.size):
        watch = np.int64(watches[rules[m]])
        codes[m] = hash_tuple(watch, heads, m, known[watch, WIDTH])
        prefetch(tuple_finder, tag_of(codes[m]) & (tuple_finder.size - 1))
    at = start
    while at < rules.size:
        end = at + 1
        while end < rules.size and arrivals[end] == arrivals[at]:
            end += 1
        if not _has_room(links, tuple_finder, totals, end - at):
            return at, kept
        for sign in (1, -1):
            for m in range(at, end):
                if signs[m] != sign:
                    continue
                watch = np.int64(watches[rules[m]])
                place = seek_tuple(cells, links, tuple_finder, known, watch, heads, m, codes[m])
                number = found_at(tuple_finder, place)
                if number == NONE:
                    number = add_tuple(cells, links, tuple_finder, totals, known, watch, heads, m, codes[m], place)
                    counts[number] = 0
                counts[number] += sign
                if counts[number] != (sign > 0):
                    signs[m] = 0
                elif sign < 0:
                    remove_tuple(cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, number)
        for m in range(at, end):
            if signs[m] != 0:
                rules[kept], arrivals[kept], signs[kept] = watches[rules[m]], arrivals[m], signs[m]
                for c in range(heads.shape[1]):
                    heads[kept, c] = heads[m, c]
                kept += 1
        at = end
    return at, kept


@inlined
def _has_room(links, tuple_finder, totals, rows):
    return totals[TUPLES] + rows <= min(links.shape[0], tuple_finder.size // 2)
