"""Tuples arrive and go, in order: each is put into the index, and what it begins and ends comes out in one step."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, lean
from tidelog.kernels.watch_finder import NONE, found_at
from tidelog.kernels.watch_join import activate, is_admitted, is_effective
from tidelog.kernels.watch_order import DEEPEST, add_to_order
from tidelog.kernels.watch_program import (
    NEGATED,
    STEPS,
)
from tidelog.kernels.watch_tables import (
    AHEAD,
    BEGIN,
    END,
    HOMES,
    PAGES,
    add_tuple,
    fetch_entries,
    index_tuple,
    look_ahead,
    remove_tuple,
    seek_tuple,
)
from tidelog.kernels.watch_totals import (
    ENTRIES,
    FOUND,
    MADE_NODES,
    MADE_TUPLES,
    NUMBER,
    OCCURRENCE,
    STEP,
    TUPLES,
    TURN,
)

COMES, GOES, LIES, ASKS = 1, -1, 0, 2
"""A tuple comes or goes; or it is stored already and is put under the entries of the columns that rules look at by now,
or asks what it is part of."""

FAR, NEAR = 12, 6
"""How many arrivals ahead memory is asked for: first the places of values, then the entries found there."""


@lean
def apply_arrivals(
    cells, links, tuple_finder, keys, entries, entry_finder, trees, totals,
    known, program, space, statistics, codes, marks, heads, relations, signs, rows, start,
):  # fmt: skip
    """Takes the tuples rows[i] of relations[i] from `start` on; signs[i] says what becomes of each, see above.

    Returns the position reached and the number of matches written so far, see `activate`. It stops early where a table
    or `marks` has to grow, and goes on from there: `totals` says how far an arrival is whose matches had no room.
    """
    fits = start
    for i in range(start - FAR, relations.size):
        if i + FAR < relations.size:
            look_ahead(tuple_finder, entry_finder, known, np.int64(relations[i + FAR]), rows, i + FAR, codes)
        if start <= i + NEAR < relations.size:
            fetch_entries(entries, entry_finder, known, np.int64(relations[i + NEAR]), i + NEAR, codes)
        if i < start:
            continue
        relation = np.int64(relations[i])
        sign = signs[i]
        comes = sign != GOES
        place = seek_tuple(cells, links, tuple_finder, known, relation, rows, i, codes[i & (AHEAD - 1), cells.shape[1]])
        step = totals[STEP]
        waits = step != NONE
        if waits:
            number, turn, first = totals[NUMBER], totals[TURN], totals[OCCURRENCE]
            fits = i + 1
        else:
            if i == fits:
                fits += _arrivals_with_room(cells, links, tuple_finder, keys, entry_finder, trees, totals)
                if i == fits:
                    return i, totals[FOUND]
            number, turn, first = found_at(tuple_finder, place), np.int64(0), known[relation, BEGIN]
            if sign in (LIES, ASKS):
                turn = np.int64(1)
            elif (number == NONE) != comes:
                continue
        # What uses the tuple is looked for while it is stored, what it forbids while it is not: what ends comes first.
        while turn < 2:
            if turn == 1 and sign == GOES and not waits:
                remove_tuple(cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, number)
                number = np.int64(NONE)
            elif turn == 1 and sign != ASKS and not waits:
                if sign == COMES:
                    code = codes[i & (AHEAD - 1), cells.shape[1]]
                    number = add_tuple(cells, links, tuple_finder, totals, known, relation, rows, i, code, place)
                if is_admitted(known, program, relation, rows, i):
                    index_tuple(
                        cells, links, keys, entries, entry_finder, trees, totals, known, relation, number,
                        codes, i & (AHEAD - 1),
                    )  # fmt: skip
                if sign == LIES:
                    break
            for occurrence in range(first, known[relation, END]):
                if not waits:
                    if (program[occurrence, NEGATED] == 1) != (comes == (turn == 0)) or not is_effective(
                        links, keys, entries, entry_finder, trees, cells.shape[1],
                        known, program, space, statistics, occurrence, relation, rows, i, number,
                    ):  # fmt: skip
                        continue
                    step = program[occurrence, STEPS]
                step = activate(
                    cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, program, space,
                    statistics, occurrence, step, relation, rows, i, number, i, 2 * turn - 1, marks, heads,
                )  # fmt: skip
                waits = False
                totals[STEP] = NONE
                if step >= program[occurrence, STEPS]:
                    totals[NUMBER], totals[TURN], totals[OCCURRENCE], totals[STEP] = number, turn, occurrence, step
                    return i, totals[FOUND]
            turn += 1
            first = known[relation, BEGIN]
    found = totals[FOUND]
    totals[FOUND] = 0
    return relations.size, found


@lean
def order_stored(
    cells, links, tuple_finder, keys, _entries, entry_finder, trees, totals, known, relation, column, start
):  # fmt: skip
    """Puts the indexed tuples of a relation into the new order of a column, from `start` on; the number reached."""
    at = PAGES + 2 * cells.shape[1] + column
    for number in range(start, totals[MADE_TUPLES]):
        if not _arrivals_with_room(cells, links, tuple_finder, keys, entry_finder, trees, totals):
            return np.int64(number)
        entry = np.int64(links[number, HOMES + column])
        if links[number, 0] == relation and entry != NONE:
            add_to_order(trees, totals, known, relation, at, keys[entry], entry)
    return totals[MADE_TUPLES]


@inlined
def _arrivals_with_room(cells, links, tuple_finder, keys, entry_finder, trees, totals):
    """For how many more tuples, each with an entry for each column, every table has room."""
    width = cells.shape[1]
    return min(
        links.shape[0] - totals[TUPLES],
        tuple_finder.size // 2 - totals[TUPLES],
        (keys.size - totals[ENTRIES]) // width,
        (entry_finder.size // 2 - totals[ENTRIES]) // width,
        (trees.shape[0] - totals[MADE_NODES]) // (width * DEEPEST),
    )
