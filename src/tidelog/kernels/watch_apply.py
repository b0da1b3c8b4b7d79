"""Tuples arrive and go, in order: each is put into the index, and what it begins and ends comes out in one step."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import kernel
from tidelog.kernels.watch_join import (
    CHECK,
    CONSTANTS,
    CONSTANTS_END,
    NEGATED,
    OPERATIONS,
    OPERATIONS_END,
    RULE,
    RULE_ROW,
    RULE_SEARCHES,
    TUPLES_READ,
    activate,
    is_admitted,
)
from tidelog.kernels.watch_tables import (
    BEGIN,
    END,
    ENTRIES,
    FIRST,
    FOUND,
    FREE_TUPLE,
    HOMES,
    MADE_ENTRIES,
    MADE_TUPLES,
    NONE,
    PAGES,
    TUPLES,
    add_tuple,
    fetch_entries,
    fetch_places,
    find_tuple,
    index_tuple,
    remove_tuple,
)

FAR, NEAR = 12, 6
"""How many arrivals ahead memory is asked for: first the places of values, then the entries found there."""


@kernel
def apply_arrivals(
    cells, links, tuple_finder, keys, entries, entry_finder, totals,
    known, program, space, statistics, relations, signs, rows, start, marks, heads,
):  # fmt: skip
    """Takes the tuples rows[i] of relations[i] from `start` on: signs[i] above 0 inserts, else deletes.

    Returns (position reached, marks, heads) with all matches, see `activate`; stops early where a table has to grow.
    """
    for i in range(start, relations.size):
        if not _has_room(cells, tuple_finder, keys, entry_finder, totals):
            return i, marks, heads
        if i + FAR < relations.size:
            fetch_places(tuple_finder, entry_finder, known, np.int64(relations[i + FAR]), rows, i + FAR)
            fetch_entries(keys, entries, entry_finder, known, np.int64(relations[i + NEAR]), rows, i + NEAR)
        relation = np.int64(relations[i])
        number = find_tuple(cells, links, tuple_finder, known, relation, rows, i)
        comes = signs[i] > 0
        if (number == NONE) != comes:
            continue
        # What uses the tuple is looked for while it is stored, what it forbids while it is not: what ends comes first.
        for sign in (-1, 1):
            if sign == 1 and comes:
                number = add_tuple(cells, links, tuple_finder, totals, known, relation, rows, i)
                if is_admitted(known, program, relation, rows, i):
                    index_tuple(cells, links, keys, entries, entry_finder, totals, known, relation, number)
            elif sign == 1:
                remove_tuple(cells, links, tuple_finder, keys, entries, entry_finder, totals, known, number)
                number = np.int64(NONE)
            for occurrence in range(known[relation, BEGIN], known[relation, END]):
                if (program[occurrence, NEGATED] == 1) == (comes == (sign == -1)):
                    marks, heads = activate(
                        cells, links, tuple_finder, keys, entries, entry_finder, totals, known, program, space,
                        statistics, occurrence, relation, rows, i, number, i, sign, marks, heads,
                    )  # fmt: skip
    return relations.size, marks, heads


@kernel
def activate_stored(
    cells, links, tuple_finder, keys, entries, entry_finder, totals,
    known, program, space, statistics, occurrence, relation, marks, heads,
):  # fmt: skip
    """Writes every match there is now; `occurrence` is that of a positive literal of a rule, of `relation`.

    Only the tuples under a constant of the literal are gone through, if it has one.
    """
    rule = program[occurrence, RULE]
    widest = cells.shape[1]
    column = widest
    number = known[relation, FIRST]
    row = program[occurrence, RULE_ROW]
    for i in range(program[occurrence, OPERATIONS], program[occurrence, OPERATIONS_END]):
        for constant in range(program[row, CONSTANTS], program[row, CONSTANTS_END]):
            is_here = program[i, 0] == CHECK and program[constant, 0] == program[i, 2]
            if is_here and program[constant, 1] == known[relation, PAGES + program[i, 1]]:
                column = program[i, 1]
                slot = known[relation, PAGES + widest + column]
                number = np.int64(entries[program[constant, 2], 2 * slot])
    while number != NONE:
        before = totals[FOUND]
        marks, heads = activate(
            cells, links, tuple_finder, keys, entries, entry_finder, totals,
            known, program, space, statistics, occurrence, relation, cells, number, number, 0, 1, marks, heads,
        )  # fmt: skip
        statistics[rule, RULE_SEARCHES] += 1
        statistics[rule, TUPLES_READ] += totals[FOUND] > before
        number = np.int64(links[number, HOMES + widest + column])
    return marks, heads


@kernel
def index_stored(cells, links, tuple_finder, keys, entries, entry_finder, totals, known, program, relation, start):
    """Indexes the tuples of a relation that rules admit by now, from `start` on; the number reached, see above."""
    for number in range(start, totals[MADE_TUPLES]):
        if not _has_room(cells, tuple_finder, keys, entry_finder, totals):
            return np.int64(number)
        if links[number, 0] == relation and is_admitted(known, program, relation, cells, number):
            index_tuple(cells, links, keys, entries, entry_finder, totals, known, relation, number)
    return totals[MADE_TUPLES]


@kernel
def _has_room(cells, tuple_finder, keys, entry_finder, totals):
    """Whether one more tuple, with an entry for each column, fits into every table."""
    width = cells.shape[1]
    return (
        (totals[FREE_TUPLE] != NONE or totals[MADE_TUPLES] < cells.shape[0])
        and totals[MADE_ENTRIES] + width <= keys.size
        and 2 * (totals[TUPLES] + 1) <= tuple_finder.size
        and 2 * (totals[ENTRIES] + width) <= entry_finder.size
    )
