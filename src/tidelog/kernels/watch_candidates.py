"""Candidates: the tuples that may stand for a literal of a rule, given what is bound by then, and which of them do.

They come from the shortest list that a bound column offers or, where that is fewer, from the part of an order that the
bounds of a column leave. A candidate is judged by the entries its columns lie under, never by its values.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, lean
from tidelog.kernels.watch_finder import NONE, found_at, hash_key
from tidelog.kernels.watch_order import COUNTS, FAN, KEYS, UNDER, find_place, next_place, tuples_in
from tidelog.kernels.watch_program import (
    BIND,
    BOUND_COLUMN,
    BOUND_OPERATOR,
    BOUND_VARIABLE,
    CHECK,
    EQUAL,
    EXCLUDES,
    GREATER,
    GREATER_EQUAL,
    HIGHEST,
    HOLES,
    LESS,
    LESS_EQUAL,
    LIE_UNDER,
    LISTS,
    NEEDS,
    NEEDS_AT,
    NOT_EQUAL,
    ON_PAGES,
    PLACES,
    RULE_ENTRIES_READ,
    RULE_SEARCHES,
    STEP_BOUNDS,
    STEP_BOUNDS_END,
    STEP_COMPARED,
    STEP_COMPARED_END,
    STEP_OPERATIONS,
    STEP_OPERATIONS_END,
    STEP_RELATION,
    VALUES,
)
from tidelog.kernels.watch_tables import COUNT, FIRST, HOMES, PAGES, seek_entry

SHORT = 8
"""A list of so many tuples is gone through: asking an order for fewer would read as much."""

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@lean
def first_candidate(
    keys, entries, entry_finder, trees, widest, known, program, space, statistics, rule, step, depth, needs
):  # fmt: skip
    """The first tuple to judge for a step, NONE where a column has a value that no tuple has there."""
    relation = program[step, STEP_RELATION]
    begin = program[step, STEP_OPERATIONS]
    base = begin - program[step, NEEDS_AT]
    space[LISTS, depth] = widest
    space[PLACES, depth] = NONE
    first = known[relation, FIRST]
    fewest = known[relation, COUNT]
    for i in range(begin, program[step, STEP_OPERATIONS_END]):
        if program[i, 0] != CHECK:
            continue
        column = program[i, 1]
        page = known[relation, PAGES + column]
        entry = entry_of(keys, entries, entry_finder, space, statistics, rule, program[i, 2], page)
        statistics[rule, RULE_ENTRIES_READ] += 1
        if entry == NONE:
            return np.int64(NONE)
        space[needs, i - base] = entry
        at = known[relation, PAGES + widest + column]
        if entries[entry, at + 1] <= fewest:
            fewest = np.int64(entries[entry, at + 1])
            first = np.int64(entries[entry, at])
            space[LISTS, depth] = column
    is_short = fewest <= SHORT and space[LISTS, depth] != widest
    if is_short or program[step, STEP_BOUNDS] == program[step, STEP_BOUNDS_END]:
        return first
    return _first_in_order(
        keys, entries, trees, widest, known, program, space, statistics, rule, step, depth, first, fewest
    )


@lean
def next_candidate(entries, trees, links, widest, known, program, space, statistics, rule, step, depth, candidate):
    """The tuple to judge after `candidate`, NONE if that was the last."""
    column = space[LISTS, depth]
    following = np.int64(links[candidate, HOMES + widest + column])
    if following != NONE or space[PLACES, depth] == NONE:
        return following
    at = known[program[step, STEP_RELATION], PAGES + widest + column]
    return _first_from(entries, trees, space, statistics, rule, depth, next_place(trees, space[PLACES, depth]), at)


@lean
def fits(links, keys, known, program, space, step, candidate, number):
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
    return compare(keys, program, space, program[step, STEP_COMPARED], program[step, STEP_COMPARED_END])


@inlined
def compare(keys, program, space, begin, end):
    """Whether these comparisons hold."""
    for i in range(begin, end):
        operator = program[i, 0]
        left = value_of(keys, space, program[i, 1])
        right = value_of(keys, space, program[i, 2])
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


@inlined
def value_of(keys, space, variable):
    """The value of a variable that is bound."""
    if space[ON_PAGES, variable] == NONE or space[LIE_UNDER, variable] == NONE:
        return space[VALUES, variable]
    return keys[space[LIE_UNDER, variable]]


@inlined
def entry_of(keys, entries, entry_finder, space, statistics, rule, variable, page):
    """The entry of the value of a variable on `page`: known from a column there, else searched for."""
    if space[ON_PAGES, variable] == page:
        return space[LIE_UNDER, variable]
    value = value_of(keys, space, variable)
    entry = found_at(entry_finder, seek_entry(keys, entries, entry_finder, page, value, hash_key(page, value)))
    statistics[rule, RULE_SEARCHES] += 1
    if space[ON_PAGES, variable] == NONE:
        space[VALUES, variable] = value
        space[LIE_UNDER, variable] = entry
        space[ON_PAGES, variable] = page
    return entry


@lean
def _first_in_order(
    keys, entries, trees, widest, known, program, space, statistics, rule, step, depth, first, fewest
):  # fmt: skip
    """The first tuple from the order that leaves the fewest candidates; `first` where none leaves fewer."""
    relation = program[step, STEP_RELATION]
    done = np.int64(NONE)
    for i in range(program[step, STEP_BOUNDS], program[step, STEP_BOUNDS_END]):
        column = program[i, BOUND_COLUMN]
        root = known[relation, PAGES + 2 * widest + column]
        if root == NONE or column == done:  # the bounds of a column stand side by side
            continue
        done = column
        low, high, avoided = _bounds(keys, program, space, step, column)
        if low > high:
            return np.int64(NONE)
        place, count = _part(trees, statistics, rule, root, low, high)
        hole = np.int64(NONE)
        if avoided != NONE:
            at, _, read = find_place(trees, root, value_of(keys, space, avoided))
            _note(statistics, rule, read)
            if at != NONE and trees[at // FAN, KEYS + at % FAN] == value_of(keys, space, avoided):
                hole = trees[at // FAN, UNDER + at % FAN]
                count -= trees[at // FAN, COUNTS + at % FAN]
        if count < fewest:
            fewest = count
            space[LISTS, depth] = column
            space[HIGHEST, depth] = high
            space[HOLES, depth] = hole
            first = _first_from(
                entries, trees, space, statistics, rule, depth, place, known[relation, PAGES + widest + column]
            )
    return first


@lean
def _bounds(keys, program, space, step, column):
    """The lowest and the highest value that a column may have, and a variable whose value it may not, or NONE."""
    low, high, avoided = np.int64(_LOWEST), np.int64(_HIGHEST), np.int64(NONE)
    for i in range(program[step, STEP_BOUNDS], program[step, STEP_BOUNDS_END]):
        if program[i, BOUND_COLUMN] != column:
            continue
        operator = program[i, BOUND_OPERATOR]
        value = value_of(keys, space, program[i, BOUND_VARIABLE])
        if operator == NOT_EQUAL:
            avoided = program[i, BOUND_VARIABLE]
        elif operator == GREATER_EQUAL:
            low = max(low, value)
        elif operator == LESS_EQUAL:
            high = min(high, value)
        elif value == (_HIGHEST if operator == GREATER else _LOWEST):
            return np.int64(1), np.int64(0), avoided
        elif operator == GREATER:
            low = max(low, value + 1)
        else:
            high = min(high, value - 1)
    return low, high, avoided


@lean
def _part(trees, statistics, rule, root, low, high):
    """The place of the lowest value of an order from `low` on, and how many tuples there are up to `high`."""
    place, below, read = find_place(trees, root, low)
    _note(statistics, rule, read)
    if high == _HIGHEST:
        return place, tuples_in(trees, root) - below
    _, up_to, read = find_place(trees, root, high + 1)
    _note(statistics, rule, read)
    return place, up_to - below


@lean
def _note(statistics, rule, read):
    statistics[rule, RULE_SEARCHES] += 1
    statistics[rule, RULE_ENTRIES_READ] += read


@lean
def _first_from(entries, trees, space, statistics, rule, depth, place, at):
    """The first tuple from a place of an order on, as far as the step goes; `at` is where lists stand in entries."""
    while place != NONE and trees[place // FAN, KEYS + place % FAN] <= space[HIGHEST, depth]:
        statistics[rule, RULE_ENTRIES_READ] += 1
        entry = trees[place // FAN, UNDER + place % FAN]
        if entry != space[HOLES, depth]:
            space[PLACES, depth] = place
            return np.int64(entries[entry, at])
        place = next_place(trees, place)
    space[PLACES, depth] = NONE
    return np.int64(NONE)
