"""Activation: every match of a rule that one tuple is part of, found in the index alone.

A candidate is judged by the entries its columns lie under, never by its values, so that a stored tuple is read only
once it is part of a match. The rules are rows of one table, `program`, written by `activation.rule_tables`. Rows are of
several sorts, whose columns are named below: an occurrence is a literal that a tuple can stand for, with a range of
steps, one for each other positive literal; a step has operations, one for each column that is compared with another.

`space` is where an activation notes how far it is; its rows are named below too.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import kernel, lean
from tidelog.kernels.watch_tables import (
    BEGIN,
    COUNT,
    END,
    FIRST,
    FOUND,
    HOMES,
    NONE,
    PAGES,
    WIDTH,
    find_entry,
    find_tuple,
)

COLUMNS = 12
"""Columns of `program`."""

# of an occurrence
RULE, LITERAL, NEGATED, OPERATIONS, OPERATIONS_END, PRESENT, PRESENT_END = 0, 1, 2, 3, 4, 5, 6
STEPS, STEPS_END, COMPARED, COMPARED_END, RULE_ROW = 7, 8, 9, 10, 11
# of a step; a negated literal is one too
STEP_RELATION, STEP_LITERAL, STEP_OPERATIONS, STEP_OPERATIONS_END, STEP_COMPARED, STEP_COMPARED_END = range(6)
EXCLUDES, NEEDS_AT = 6, 7
# of a rule
CONSTANTS, CONSTANTS_END, NEGATIONS, NEGATIONS_END, HEADS, HEADS_END, JOINED = range(7)

CHECK, BIND, SAME = 0, 1, 2
"""What a literal's column does with its variable: compare it, give it its value, or compare it with a column before."""

EQUAL, NOT_EQUAL, LESS, LESS_EQUAL = 0, 1, 2, 3

VALUES, ON_PAGES, LIE_UNDER, NEEDS, NEEDS_ABSENT, CURSORS, LISTS, CHOSEN, ROW = range(9)
SPACE = 9
"""Of each variable its value, the page where its entry is known (NONE: nowhere) and that entry; of each operation the
entry that a candidate needs; of each step the next candidate and the list it is from; of each literal its tuple."""

ARRIVALS, EFFECTIVE, RULE_SEARCHES, RULE_ENTRIES_READ, TUPLES_READ, BEGUN, ENDED = range(7)
STATISTICS = 7
"""What is counted for each rule; an activation is effective when every joined literal has a tuple for the values."""


@kernel
def activate(
    cells, links, tuple_finder, keys, entries, entry_finder, totals,
    known, program, space, statistics, occurrence, relation, rows, at, number, arrival, sign, marks, heads,
):  # fmt: skip
    """Writes every match in which the tuple rows[at] of `relation` stands for the literal of `occurrence`.

    For a positive literal the tuple is stored as `number`; for a negated one it is not (NONE), and the matches are
    those that its presence ends. A match is found for the first literal that the tuple stands for, so never twice.
    Match m is (rule, arrival, sign) in marks[m] and the values of the head in heads[m]; returns both, which may be new.
    """
    rule = program[occurrence, RULE]
    statistics[rule, ARRIVALS] += 1
    if not _takes(links, keys, known, program, space, occurrence, relation, rows, at, number):
        return marks, heads
    if not _all_present(keys, entries, entry_finder, cells.shape[1], known, program, space, statistics, occurrence):
        return marks, heads
    statistics[rule, EFFECTIVE] += 1
    begin, end = program[occurrence, STEPS], program[occurrence, STEPS_END]
    step = begin
    if begin < end:
        space[CURSORS, 0] = _open(
            keys, entries, entry_finder, cells.shape[1], known, program, space, statistics, rule, step, 0, NEEDS
        )
    while step >= begin:
        if begin < end:
            depth = step - begin
            candidate = space[CURSORS, depth]
            if candidate == NONE:
                step -= 1
                continue
            space[CURSORS, depth] = links[candidate, HOMES + cells.shape[1] + space[LISTS, depth]]
            statistics[rule, RULE_ENTRIES_READ] += 1
            if not _fits(links, keys, known, program, space, step, candidate, number):
                continue
            space[CHOSEN, program[step, STEP_LITERAL]] = candidate
            if step + 1 < end:
                step += 1
                space[CURSORS, depth + 1] = _open(
                    keys, entries, entry_finder, cells.shape[1], known, program, space, statistics,
                    rule, step, depth + 1, NEEDS,
                )  # fmt: skip
                continue
        if _none_forbids(
            cells, links, tuple_finder, keys, entries, entry_finder,
            known, program, space, statistics, occurrence, relation, rows, at,
        ):  # fmt: skip
            if totals[FOUND] == marks.shape[0]:
                marks, heads = _with_more_room(marks, heads)
            _write(cells, totals, program, space, statistics, occurrence, rows, at, arrival, sign, marks, heads)
        if begin == end:
            break
    return marks, heads


@lean
def is_admitted(known, program, relation, rows, at):
    """Whether some literal of some rule has no constant that the tuple lacks; what none admits need not be indexed."""
    for occurrence in range(known[relation, BEGIN], known[relation, END]):
        rule = program[occurrence, RULE_ROW]
        admits = True
        for i in range(program[occurrence, OPERATIONS], program[occurrence, OPERATIONS_END]):
            if program[i, 0] != CHECK:
                continue
            for constant in range(program[rule, CONSTANTS], program[rule, CONSTANTS_END]):
                if program[constant, 0] == program[i, 2] and program[constant, 3] != rows[at, program[i, 1]]:
                    admits = False
        if admits:
            return True
    return False


@lean
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
    return _compare(keys, program, space, program[occurrence, COMPARED], program[occurrence, COMPARED_END])


@lean
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
        entry = _entry_of(keys, entries, entry_finder, space, statistics, rule, variable, page)
        statistics[rule, RULE_ENTRIES_READ] += 1
        if entry == NONE or entries[entry, 2 * known[relation, PAGES + widest + column] + 1] == 0:
            return False
    return True


@lean
def _open(keys, entries, entry_finder, widest, known, program, space, statistics, rule, step, depth, needs):
    """The first candidate of a step, from the shortest list that its bound columns offer."""
    relation = program[step, STEP_RELATION]
    begin = program[step, STEP_OPERATIONS]
    base = begin - program[step, NEEDS_AT]
    space[LISTS, depth] = widest
    first = known[relation, FIRST]
    fewest = known[relation, COUNT]
    for i in range(begin, program[step, STEP_OPERATIONS_END]):
        if program[i, 0] != CHECK:
            continue
        column = program[i, 1]
        page = known[relation, PAGES + column]
        entry = _entry_of(keys, entries, entry_finder, space, statistics, rule, program[i, 2], page)
        statistics[rule, RULE_ENTRIES_READ] += 1
        if entry == NONE:
            return np.int64(NONE)
        space[needs, i - base] = entry
        slot = known[relation, PAGES + widest + column]
        if entries[entry, 2 * slot + 1] <= fewest:
            fewest = np.int64(entries[entry, 2 * slot + 1])
            first = np.int64(entries[entry, 2 * slot])
            space[LISTS, depth] = column
    return first


@lean
def _fits(links, keys, known, program, space, step, candidate, number):
    """Whether a candidate lies under every entry that it must; binds the variables that are new with it."""
    if candidate == number and program[step, EXCLUDES]:
        return False
    relation = program[step, STEP_RELATION]
    begin = program[step, STEP_OPERATIONS]
    base = begin - program[step, NEEDS_AT]
    for i in range(begin, program[step, STEP_OPERATIONS_END]):
        column = program[i, 1]
        variable = program[i, 2]
        home = links[candidate, HOMES + column]
        if program[i, 0] == CHECK:
            if home != space[NEEDS, i - base]:
                return False
        elif program[i, 0] == BIND:
            space[LIE_UNDER, variable] = home
            space[ON_PAGES, variable] = known[relation, PAGES + column]
        elif keys[home] != keys[space[LIE_UNDER, variable]]:
            return False
    return _compare(keys, program, space, program[step, STEP_COMPARED], program[step, STEP_COMPARED_END])


@lean
def _compare(keys, program, space, begin, end):
    """Whether these comparisons hold."""
    for i in range(begin, end):
        operator = program[i, 0]
        left = _value_of(keys, space, program[i, 1])
        right = _value_of(keys, space, program[i, 2])
        if operator == EQUAL:
            holds = left == right
        elif operator == NOT_EQUAL:
            holds = left != right
        elif operator == LESS:
            holds = left < right
        else:
            holds = left <= right
        if not holds:
            return False
    return True


@lean
def _value_of(keys, space, variable):
    if space[ON_PAGES, variable] == NONE or space[LIE_UNDER, variable] == NONE:
        return space[VALUES, variable]
    return keys[space[LIE_UNDER, variable]]


@lean
def _entry_of(keys, entries, entry_finder, space, statistics, rule, variable, page):
    """The entry of the value of a variable on `page`: known from a column there, else searched for."""
    if space[ON_PAGES, variable] == page:
        return space[LIE_UNDER, variable]
    value = _value_of(keys, space, variable)
    entry = find_entry(keys, entries, entry_finder, page, value)
    statistics[rule, RULE_SEARCHES] += 1
    if space[ON_PAGES, variable] == NONE:
        space[VALUES, variable] = value
        space[LIE_UNDER, variable] = entry
        space[ON_PAGES, variable] = page
    return entry


@lean
def _none_forbids(
    cells, links, tuple_finder, keys, entries, entry_finder,
    known, program, space, statistics, occurrence, relation, rows, at,
):  # fmt: skip
    """Whether no tuple makes a negated literal false; an arriving one counts for the first that it stands for."""
    rule = program[occurrence, RULE_ROW]
    for step in range(program[rule, NEGATIONS], program[rule, NEGATIONS_END]):
        is_earlier = program[occurrence, NEGATED] and program[step, STEP_LITERAL] < program[occurrence, LITERAL]
        if is_earlier and _stands_for(keys, program, space, step, relation, rows, at):
            return False
        if not _is_absent(
            cells, links, tuple_finder, keys, entries, entry_finder,
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
        if _value_of(keys, space, program[i, 2]) != rows[at, program[i, 1]]:
            return False
    return True


@lean
def _is_absent(
    cells, links, tuple_finder, keys, entries, entry_finder, known, program, space, statistics, rule, step
):  # fmt: skip
    """Whether no stored tuple makes a negated literal false; whole tuples are searched for, others looked through."""
    relation = program[step, STEP_RELATION]
    begin, end = program[step, STEP_OPERATIONS], program[step, STEP_OPERATIONS_END]
    if end - begin == known[relation, WIDTH]:
        for i in range(begin, end):
            space[ROW, program[i, 1]] = _value_of(keys, space, program[i, 2])
        statistics[rule, RULE_SEARCHES] += 1
        return find_tuple(cells, links, tuple_finder, known, relation, space, ROW) == NONE
    widest = cells.shape[1]
    depth = space.shape[1] - 1
    candidate = _open(
        keys, entries, entry_finder, widest, known, program, space, statistics, rule, step, depth, NEEDS_ABSENT
    )
    while candidate != NONE:
        statistics[rule, RULE_ENTRIES_READ] += 1
        same = True
        for i in range(begin, end):
            same = same and links[candidate, HOMES + program[i, 1]] == space[NEEDS_ABSENT, i - begin]
        if same:
            return False
        candidate = np.int64(links[candidate, HOMES + widest + space[LISTS, depth]])
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


@kernel
def _with_more_room(marks, heads):
    more_marks = np.empty((2 * marks.shape[0], 3), np.int32)
    more_heads = np.empty((2 * marks.shape[0], heads.shape[1]), np.int64)
    more_marks[: marks.shape[0]] = marks
    more_heads[: marks.shape[0]] = heads
    return more_marks, more_heads
