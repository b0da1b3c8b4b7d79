"""Activation: every match of a rule that one tuple is part of, found in the index alone.

A stored tuple is read only once it is part of a match. What a rule asks for is read from its tables, see
`watch_program`; which tuples may stand for a literal is found by `watch_candidates`.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, lean
from tidelog.kernels.watch_candidates import compare, entry_of, first_candidate, fits, next_candidate, value_of
from tidelog.kernels.watch_finder import FREE, NONE, hash_tuple
from tidelog.kernels.watch_program import (
    ARRIVALS,
    BEGUN,
    BIND,
    CHECK,
    CHOSEN,
    COMPARED,
    COMPARED_END,
    CONSTANTS,
    CONSTANTS_END,
    CURSORS,
    EFFECTIVE,
    ENDED,
    HEADS,
    HEADS_END,
    JOINED,
    LIE_UNDER,
    LITERAL,
    NEEDS,
    NEEDS_ABSENT,
    NEGATED,
    NEGATIONS,
    NEGATIONS_END,
    ON_PAGES,
    OPERATIONS,
    OPERATIONS_END,
    PRESENT,
    PRESENT_END,
    ROW,
    RULE,
    RULE_ENTRIES_READ,
    RULE_ROW,
    RULE_SEARCHES,
    STEP_LITERAL,
    STEP_OPERATIONS,
    STEP_OPERATIONS_END,
    STEP_RELATION,
    STEPS,
    STEPS_END,
    TUPLES_READ,
    VALUES,
)
from tidelog.kernels.watch_tables import BEGIN, COUNT, END, HOMES, PAGES, WIDTH, seek_tuple
from tidelog.kernels.watch_totals import FOUND

_NO_DEPTH, _NEEDS, _NEEDS_ABSENT, _ROW = np.int64(0), np.int64(NEEDS), np.int64(NEEDS_ABSENT), np.int64(ROW)
"""Not plain numbers: Numba compiles a kernel anew for each plain number that is handed to it."""


@inlined
def is_effective(
    links, keys, entries, entry_finder, trees, widest,
    known, program, space, statistics, occurrence, relation, rows, at, number,
):  # fmt: skip
    """Whether the tuple rows[at] of `relation` can stand for the literal of `occurrence`, and every other literal has a
    tuple that shares its values; then the first candidates are noted in `space`.

    For a positive literal the tuple is stored as `number`; for a negated one it is not (NONE).
    """
    rule = program[occurrence, RULE]
    statistics[rule, ARRIVALS] += 1
    if not _takes(links, keys, known, program, space, occurrence, relation, rows, at, number):
        return False
    if not _all_present(keys, entries, entry_finder, widest, known, program, space, statistics, occurrence):
        return False
    step = program[occurrence, STEPS]
    if step < program[occurrence, STEPS_END]:
        space[CURSORS, 0] = first_candidate(
            keys, entries, entry_finder, trees, widest, known, program, space, statistics, rule, step, _NO_DEPTH, _NEEDS
        )
        if space[CURSORS, 0] == NONE:
            return False
    statistics[rule, EFFECTIVE] += 1
    return True


@lean
def activate(
    cells, links, tuple_finder, keys, entries, entry_finder, trees, totals,
    known, program, space, statistics, occurrence, step, relation, rows, at, number, arrival, sign, marks, heads,
):  # fmt: skip
    """Writes every match in which the tuple rows[at] stands for the literal of `occurrence`; `is_effective` came first.

    With a negated literal the matches are those that the tuple's presence ends. A match is found for the first literal
    that the tuple stands for, so never twice. Match m is (rule, arrival, sign) in marks[m] and the values of the head
    in heads[m]. It begins with the first step; returns a step before that, or the step to go on with where `marks` has
    no more room.
    """
    rule = program[occurrence, RULE]
    widest = cells.shape[1]
    begin, end = program[occurrence, STEPS], program[occurrence, STEPS_END]
    while step >= begin and totals[FOUND] < marks.shape[0]:
        if begin < end:
            depth = step - begin
            candidate = space[CURSORS, depth]
            if candidate == NONE:
                step -= 1
                continue
            space[CURSORS, depth] = next_candidate(
                entries, trees, links, widest, known, program, space, statistics, rule, step, depth, candidate
            )
            statistics[rule, RULE_ENTRIES_READ] += 1
            if not fits(links, keys, known, program, space, step, candidate, number):
                continue
            space[CHOSEN, program[step, STEP_LITERAL]] = candidate
            if step + 1 < end:
                step += 1
                space[CURSORS, depth + 1] = first_candidate(
                    keys, entries, entry_finder, trees, widest, known, program, space, statistics,
                    rule, step, depth + 1, _NEEDS,
                )  # fmt: skip
                continue
        if _none_forbids(
            cells, links, tuple_finder, keys, entries, entry_finder, trees,
            known, program, space, statistics, occurrence, relation, rows, at,
        ):  # fmt: skip
            _write(cells, totals, program, space, statistics, occurrence, rows, at, arrival, sign, marks, heads)
        if begin == end:
            step -= 1
    return step


@inlined
def is_admitted(known, program, relation, rows, at):
    """Whether some literal of some rule has no constant that the tuple lacks; what none admits need not be indexed."""
    for occurrence in range(known[relation, BEGIN], known[relation, END]):
        i = program[occurrence, OPERATIONS]
        while i < program[occurrence, OPERATIONS_END] and _has_constant(program, occurrence, i, rows, at):
            i += 1
        if i == program[occurrence, OPERATIONS_END] or program[i, 0] != CHECK:  # constants come first
            return True
    return False


@lean
def _has_constant(program, occurrence, operation, rows, at):
    """Whether a column of a literal is compared with a constant, which the tuple has there."""
    if program[operation, 0] != CHECK:
        return False
    rule = program[occurrence, RULE_ROW]
    for constant in range(program[rule, CONSTANTS], program[rule, CONSTANTS_END]):
        if program[constant, 0] == program[operation, 2]:
            return program[constant, 3] == rows[at, program[operation, 1]]
    return False


@inlined
def _takes(links, keys, known, program, space, occurrence, relation, rows, at, number):
    """Whether the tuple can stand for the literal; binds the variables of the literal and the rule's constants."""
    rule = program[occurrence, RULE_ROW]
    for i in range(program[rule, CONSTANTS], program[rule, CONSTANTS_END]):
        variable = program[i, 0]
        space[ON_PAGES, variable] = program[i, 1]
        space[LIE_UNDER, variable] = program[i, 2]
        space[VALUES, variable] = program[i, 3]
    for i in range(program[occurrence, OPERATIONS], program[occurrence, OPERATIONS_END]):
        column = program[i, 1]
        variable = program[i, 2]
        if program[i, 0] != BIND:
            if space[VALUES, variable] != rows[at, column]:
                return False
            continue
        space[VALUES, variable] = rows[at, column]
        space[ON_PAGES, variable] = NONE
        if number != NONE and links[number, HOMES + column] != NONE:
            space[LIE_UNDER, variable] = links[number, HOMES + column]
            space[ON_PAGES, variable] = known[relation, PAGES + column]
    return compare(keys, program, space, program[occurrence, COMPARED], program[occurrence, COMPARED_END])


@inlined
def _all_present(keys, entries, entry_finder, widest, known, program, space, statistics, occurrence):
    """Whether each literal that shares a value with the tuple has one for it, and each other literal has any."""
    rule = program[occurrence, RULE]
    for i in range(program[occurrence, PRESENT], program[occurrence, PRESENT_END]):
        variable = program[i, 0]
        relation = program[i, 1]
        column = program[i, 2]
        if variable == NONE:
            if known[relation, COUNT] == 0:
                return False
            continue
        page = known[relation, PAGES + column]
        entry = entry_of(keys, entries, entry_finder, space, statistics, rule, variable, page)
        statistics[rule, RULE_ENTRIES_READ] += 1
        if entry == NONE or entries[entry, known[relation, PAGES + widest + column] + 1] == 0:
            return False
    return True


@lean
def _none_forbids(
    cells, links, tuple_finder, keys, entries, entry_finder, trees,
    known, program, space, statistics, occurrence, relation, rows, at,
):  # fmt: skip
    """Whether no tuple makes a negated literal false; an arriving one counts for the first that it stands for."""
    rule = program[occurrence, RULE_ROW]
    for step in range(program[rule, NEGATIONS], program[rule, NEGATIONS_END]):
        is_earlier = program[occurrence, NEGATED] and program[step, STEP_LITERAL] < program[occurrence, LITERAL]
        if is_earlier and _stands_for(keys, program, space, step, relation, rows, at):
            return False
        if not _is_absent(
            cells, links, tuple_finder, keys, entries, entry_finder, trees,
            known, program, space, statistics, program[occurrence, RULE], step,
        ):  # fmt: skip
            return False
    return True


@lean
def _stands_for(keys, program, space, step, relation, rows, at):
    """Whether the tuple makes this negated literal false."""
    if program[step, STEP_RELATION] != relation:
        return False
    for i in range(program[step, STEP_OPERATIONS], program[step, STEP_OPERATIONS_END]):
        if value_of(keys, space, program[i, 2]) != rows[at, program[i, 1]]:
            return False
    return True


@lean
def _is_absent(
    cells, links, tuple_finder, keys, entries, entry_finder, trees, known, program, space, statistics, rule, step
):  # fmt: skip
    """Whether no stored tuple makes a negated literal false; whole tuples are searched for, others looked through."""
    relation = program[step, STEP_RELATION]
    begin, end = program[step, STEP_OPERATIONS], program[step, STEP_OPERATIONS_END]
    width = known[relation, WIDTH]
    if end - begin == width:
        for i in range(begin, end):
            space[ROW, program[i, 1]] = value_of(keys, space, program[i, 2])
        statistics[rule, RULE_SEARCHES] += 1
        code = hash_tuple(relation, space, _ROW, width)
        place = seek_tuple(cells, links, tuple_finder, known, relation, space, _ROW, code)
        return tuple_finder[place] == FREE
    widest = cells.shape[1]
    depth = space.shape[1] - 1
    candidate = first_candidate(
        keys, entries, entry_finder, trees, widest, known, program, space, statistics, rule, step, depth, _NEEDS_ABSENT
    )
    while candidate != NONE:
        statistics[rule, RULE_ENTRIES_READ] += 1
        same = True
        for i in range(begin, end):
            same = same and links[candidate, HOMES + program[i, 1]] == space[NEEDS_ABSENT, i - begin]
        if same:
            return False
        candidate = next_candidate(
            entries, trees, links, widest, known, program, space, statistics, rule, step, depth, candidate
        )
    return True


@lean
def _write(cells, totals, program, space, statistics, occurrence, rows, at, arrival, sign, marks, heads):
    """Writes one match, for which there is room."""
    number = program[occurrence, RULE]
    rule = program[occurrence, RULE_ROW]
    statistics[number, BEGUN if sign > 0 else ENDED] += 1
    statistics[number, TUPLES_READ] += program[rule, JOINED] - 1 + program[occurrence, NEGATED]
    filled = totals[FOUND]
    totals[FOUND] += 1
    marks[filled, 0] = number
    marks[filled, 1] = arrival
    marks[filled, 2] = sign
    begin = program[rule, HEADS]
    for i in range(begin, program[rule, HEADS_END]):
        literal = program[i, 0]
        if literal == NONE:
            heads[filled, i - begin] = program[i, 1]
        elif literal == program[occurrence, LITERAL]:
            heads[filled, i - begin] = rows[at, program[i, 1]]
        else:
            heads[filled, i - begin] = cells[space[CHOSEN, literal], program[i, 1]]
