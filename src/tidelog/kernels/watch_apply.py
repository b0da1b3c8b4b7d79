"""Tuples arrive and go, in order: each is put into the index, and what it begins and ends comes out in one step."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel
from tidelog.kernels.watch_finder import NONE
from tidelog.kernels.watch_join import activate, is_admitted, is_effective
from tidelog.kernels.watch_order import DEEPEST, add_to_order
from tidelog.kernels.watch_program import (
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
)
from tidelog.kernels.watch_tables import (
    AHEAD,
    BEGIN,
    END,
    FIRST,
    HOMES,
    PAGES,
    add_tuple,
    fetch_entries,
    find_tuple,
    index_tuple,
    look_ahead,
    remove_tuple,
)
from tidelog.kernels.watch_totals import (
    ENTRIES,
    FOUND,
    FREE_TUPLE,
    MADE_ENTRIES,
    MADE_NODES,
    MADE_TUPLES,
    TUPLES,
)

_ZERO, _ONE = np.int64(0), np.int64(1)
"""Not plain numbers: Numba compiles a kernel anew for each plain number that is handed to it."""

FAR, NEAR = 12, 6
"""How many arrivals ahead memory is asked for: first the places of values, then the entries found there."""


@kernel
def apply_arrivals(
    cells, links, tuple_finder, keys, entries, entry_finder, trees, totals,
    known, program, space, statistics, relations, signs, rows, start, marks, heads,
):  # fmt: skip
    """Takes the tuples rows[i] of relations[i] from `start` on: signs[i] above 0 inserts, else deletes.

    Returns (position reached, marks, heads) with all matches, see `activate`; stops early where a table has to grow.
    """
    codes = np.empty((AHEAD, cells.shape[1] + 1), np.uint64)
    for i in range(start, min(start + FAR, relations.size)):
        look_ahead(tuple_finder, entry_finder, known, np.int64(relations[i]), rows, i, codes)
    for i in range(start, relations.size):
        if not _has_room(cells, links, tuple_finder, keys, entry_finder, trees, totals):
            return i, marks, heads
        if i + FAR < relations.size:
            look_ahead(tuple_finder, entry_finder, known, np.int64(relations[i + FAR]), rows, i + FAR, codes)
        if i + NEAR < relations.size:
            fetch_entries(entries, entry_finder, known, np.int64(relations[i + NEAR]), i + NEAR, codes)
        relation = np.int64(relations[i])
        code = codes[i % AHEAD, cells.shape[1]]
        number = find_tuple(cells, links, tuple_finder, known, relation, rows, i, code)
        comes = signs[i] > 0
        if (number == NONE) != comes:
            continue
        # What uses the tuple is looked for while it is stored, what it forbids while it is not: what ends comes first.
        for sign in (-1, 1):
            if sign == 1 and comes:
                number = add_tuple(cells, links, tuple_finder, totals, known, relation, rows, i, code)
                if is_admitted(known, program, relation, rows, i):
                    index_tuple(
                        cells, links, keys, entries, entry_finder, trees, totals, known, relation, number,
                        codes, i % AHEAD,
                    )  # fmt: skip
            elif sign == 1:
                remove_tuple(cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, number)
                number = np.int64(NONE)
            for occurrence in range(known[relation, BEGIN], known[relation, END]):
                if (program[occurrence, NEGATED] == 1) == (comes == (sign == -1)) and is_effective(
                    links, keys, entries, entry_finder, trees, cells.shape[1],
                    known, program, space, statistics, occurrence, relation, rows, i, number,
                ):  # fmt: skip
                    marks, heads = activate(
                        cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, program, space,
                        statistics, occurrence, relation, rows, i, number, i, sign, marks, heads,
                    )  # fmt: skip
    return relations.size, marks, heads


@kernel
def activate_stored(
    cells, links, tuple_finder, keys, entries, entry_finder, trees, totals,
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
                number = np.int64(entries[program[constant, 2], known[relation, PAGES + widest + column]])
    values = np.empty((1, widest), np.int64)
    while number != NONE:
        for c in range(widest):
            values[0, c] = cells[number, c]
        statistics[rule, RULE_SEARCHES] += 1
        if is_effective(
            links, keys, entries, entry_finder, trees, widest,
            known, program, space, statistics, occurrence, relation, values, _ZERO, number,
        ):  # fmt: skip
            before = totals[FOUND]
            marks, heads = activate(
                cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, program, space,
                statistics, occurrence, relation, values, _ZERO, number, _ZERO, _ONE, marks, heads,
            )  # fmt: skip
            statistics[rule, TUPLES_READ] += totals[FOUND] > before
        number = np.int64(links[number, HOMES + widest + column])
    return marks, heads


@kernel
def index_stored(
    cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, program, relation, start
):  # fmt: skip
    """Indexes the tuples of a relation that rules admit by now, from `start` on; the number reached, see above."""
    codes = np.empty((AHEAD, cells.shape[1] + 1), np.uint64)
    for number in range(start, totals[MADE_TUPLES]):
        if not _has_room(cells, links, tuple_finder, keys, entry_finder, trees, totals):
            return np.int64(number)
        if links[number, 0] == relation and is_admitted(known, program, relation, cells, number):
            look_ahead(tuple_finder, entry_finder, known, relation, cells, number, codes)
            index_tuple(
                cells, links, keys, entries, entry_finder, trees, totals, known, relation, number,
                codes, number % AHEAD,
            )  # fmt: skip
    return totals[MADE_TUPLES]


@kernel
def order_stored(
    cells, links, tuple_finder, keys, _entries, entry_finder, trees, totals, known, relation, column, start
):  # fmt: skip
    """Puts the indexed tuples of a relation into the new order of a column, from `start` on; the number reached."""
    at = PAGES + 2 * cells.shape[1] + column
    for number in range(start, totals[MADE_TUPLES]):
        if not _has_room(cells, links, tuple_finder, keys, entry_finder, trees, totals):
            return np.int64(number)
        entry = np.int64(links[number, HOMES + column])
        if links[number, 0] == relation and entry != NONE:
            add_to_order(trees, totals, known, relation, at, keys[entry], entry)
    return totals[MADE_TUPLES]


@inlined
def _has_room(cells, links, tuple_finder, keys, entry_finder, trees, totals):
    """Whether one more tuple, with an entry for each column, fits into every table."""
    width = cells.shape[1]
    return (
        (totals[FREE_TUPLE] != NONE or totals[MADE_TUPLES] < links.shape[0])
        and totals[MADE_ENTRIES] + width <= keys.size
        and 2 * (totals[TUPLES] + 1) <= tuple_finder.size
        and 2 * (totals[ENTRIES] + width) <= entry_finder.size
        and totals[MADE_NODES] + width * DEEPEST <= trees.shape[0]
    )
