"""Production rules that fire in sets, cycle after cycle in one call: match, choose, act, until none is firable.

It stops where it cannot go on. Then what it did so far is good, and it may be called again with more room; or, after
BEYOND (a number out of range, a state whose number has come again), all of it is of no use.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.firing_plan import follow_plan, note_waiting
from tidelog.kernels.firing_tables import (
    AGE,
    ALTERNATIVES,
    ALTERNATIVES_END,
    ASKED,
    ASKING,
    ASKING_END,
    BEYOND,
    CAME,
    CHANGES,
    CYCLES,
    FINISHED,
    FREE,
    HAVE_COME,
    HAVE_GONE,
    HEAD_RELATION,
    HEAD_SIGN,
    HEADS,
    INDEXES,
    INDEXES_END,
    LIMIT,
    LINKS,
    LIVING,
    LOGGED,
    MASK,
    MOST_AGE,
    NO_LOG,
    NO_MEMORY,
    NONE,
    PAUSED,
    PLAN_START,
    PLAN_STEP,
    ROOM,
    ROWS,
    ROWS_CAME,
    SINCE,
    STATES,
    STEPS,
    STRIDE,
    SUM,
    SURE,
    TRIGGER_PLAN,
    TRIGGER_RELATION,
    TRIGGER_SIGN,
    TRIGGERS,
    TRIGGERS_END,
    USED,
    WAITING,
    WENT,
    WIDTH,
    ask_for,
    code_of,
    find_row,
    forget_rows,
    link,
    list_of_row,
    make_index,
    make_room,
    new_place,
    unlink,
)
from tidelog.kernels.hashing import step
from tidelog.kernels.jit import kernel, lean

_SEED = np.uint64(0xD6E8FEB86659FD93)


@kernel
def fire(
    memory, halves, relations, indexes, steps, operands, heads, plans, alternatives, triggers, asking, rules, matters,
    seen, acted_on, registers, cursors, row, given, waiting, log, fired, state, most_steps, most_cycles, most_rows,
):  # fmt: skip
    """Why it stops: FINISHED when no rule is firable; `log` has what came and went, `fired` the rule of each cycle."""
    for i in range(acted_on.size):
        for relation in (acted_on[i], relations[acted_on[i], ASKED]):
            index = relations[relation, INDEXES]
            if indexes[index, MASK] < 0 and not make_index(memory, halves, relations, indexes, operands, state, index):
                return NO_MEMORY
    while True:
        if state[STEPS] > most_steps:
            return PAUSED
        chosen = NONE
        for rule in range(rules.shape[0]):
            if rules[rule, SINCE] == state[LOGGED]:
                continue
            status = _try(
                memory, halves, relations, indexes, steps, operands, heads, plans, alternatives, triggers, asking,
                rules, matters, seen, acted_on, registers, cursors, row, given, waiting, log, state, rule,
            )  # fmt: skip
            if status != FINISHED:
                return status
            cancels = _cancel(memory, halves, relations, indexes, acted_on, row)
            if _changes(memory, relations, acted_on):
                chosen = rule
                break
            _note_try(relations, rules, seen, acted_on, state, rule, cancels)
        if chosen < 0:
            return FINISHED
        if state[CYCLES] == fired.shape[0] or not _has_log(relations, acted_on, log, state):
            return NO_LOG
        if not _has_room(memory, halves, relations, indexes, operands, state, acted_on):
            return NO_MEMORY
        _note_try(relations, rules, seen, acted_on, state, chosen, cancels)
        _act(memory, halves, relations, indexes, operands, acted_on, row, log, state)
        fired[state[CYCLES], 0] = chosen
        fired[state[CYCLES], 1] = state[LOGGED]
        state[CYCLES] += 1
        state[AGE] += 1
        if state[SUM] == 0:
            return BEYOND
        if state[AGE] == state[MOST_AGE]:
            state[AGE] = 0
            state[MOST_AGE] *= 2
            state[SUM] = 0
        if state[CYCLES] >= most_cycles or state[ROWS_CAME] >= most_rows:
            return LIMIT


@lean
def _note_try(relations, rules, seen, acted_on, state, rule, cancels):
    """A rule has seen all so far; one that asks for opposites looks at all again, because either may cease."""
    rules[rule, SINCE] = NONE if cancels else state[LOGGED]
    for relation in acted_on:
        seen[rule, 2 * relation] = relations[relation, HAVE_COME]
        seen[rule, 2 * relation + 1] = relations[relation, HAVE_GONE]


@lean
def _try(
    memory, halves, relations, indexes, steps, operands, heads, plans, alternatives, triggers, asking, rules, matters,
    seen, acted_on, registers, cursors, row, given, waiting, log, state, rule,
):  # fmt: skip
    """Notes what a rule asks for behind the relations that it acts on; FINISHED, or why that cannot be done."""
    for i in range(acted_on.size):
        forget_rows(memory, halves, relations, indexes, relations[acted_on[i], ASKED])
    state[WAITING] = 0
    changes = _changes_to_look_at(relations, plans, alternatives, rules, matters, seen, acted_on, rule)
    if changes == 0:
        return FINISHED
    if changes < 0:
        for alternative in range(rules[rule, ALTERNATIVES], rules[rule, ALTERNATIVES_END]):
            best = alternatives[alternative, 0]
            for plan in range(best + 1, alternatives[alternative, 1]):
                if relations[plans[plan, PLAN_START], LIVING] < relations[plans[best, PLAN_START], LIVING]:
                    best = plan
            status = follow_plan(
                memory, halves, relations, indexes, steps, operands, heads, registers, cursors, row, given, waiting,
                state, plans[best, PLAN_STEP],
            )  # fmt: skip
            if status != FINISHED:
                return status
        return note_waiting(memory, halves, relations, indexes, operands, row, waiting, state)
    at = rules[rule, SINCE]
    while at < state[LOGGED]:
        relation, sign = log[at], log[at + 1]
        width = relations[relation, WIDTH]
        for c in range(width):
            given[c] = log[at + 2 + c]
        first = rules[rule, TRIGGERS] if matters[rule, 2 * relation + sign - CAME] else rules[rule, TRIGGERS_END]
        for trigger in range(first, rules[rule, TRIGGERS_END]):
            if triggers[trigger, TRIGGER_RELATION] == relation and triggers[trigger, TRIGGER_SIGN] == sign:
                status = follow_plan(
                    memory, halves, relations, indexes, steps, operands, heads, registers, cursors, row, given, waiting,
                    state, plans[triggers[trigger, TRIGGER_PLAN], PLAN_STEP],
                )  # fmt: skip
                if status != FINISHED:
                    return status
        at += 2 + width
    status = note_waiting(memory, halves, relations, indexes, operands, row, waiting, state)
    if status != FINISHED:
        return status
    return _ask_who_else(
        memory, halves, relations, indexes, steps, operands, heads, plans, asking, rules, registers, cursors, row,
        given, waiting, state, rule,
    )  # fmt: skip


@lean
def _changes_to_look_at(relations, plans, alternatives, rules, matters, seen, acted_on, rule):
    """How many changes matter to a rule since it was last tried; NONE where it looks at all facts: nothing else is
    possible, or about as much has changed as there is."""
    if rules[rule, SINCE] < 0:
        return NONE
    count = 0
    for relation in acted_on:
        for sign in (CAME, WENT):
            column = 2 * relation + sign - CAME
            changes = relations[relation, HAVE_COME if sign == CAME else HAVE_GONE] - seen[rule, column]
            if changes and matters[rule, column] < 0:
                return NONE
            count += changes * matters[rule, column]
    if count:
        most = 0
        for alternative in range(rules[rule, ALTERNATIVES], rules[rule, ALTERNATIVES_END]):
            for plan in range(alternatives[alternative, 0], alternatives[alternative, 1]):
                if plans[plan, PLAN_START] >= 0:
                    most = max(most, relations[plans[plan, PLAN_START], LIVING])
        if 2 * count > most:
            return NONE
    return count


@lean
def _ask_who_else(
    memory, halves, relations, indexes, steps, operands, heads, plans, asking, rules, registers, cursors, row, given,
    waiting, state, rule,
):  # fmt: skip
    """Asks of each fact that a rule inserts or deletes, where it may do both, whether it does."""
    for i in range(rules[rule, ASKING], rules[rule, ASKING_END]):
        head, plan = asking[i, 0], asking[i, 1]
        asked = relations[heads[head, HEAD_RELATION], ASKED]
        width, stride = relations[asked, WIDTH], relations[asked, STRIDE]
        for place in range(relations[asked, USED]):
            at = relations[asked, ROWS] + place * stride
            if memory[at + width] & heads[head, HEAD_SIGN]:
                continue
            for c in range(width):
                given[c] = memory[at + c]
            status = follow_plan(
                memory, halves, relations, indexes, steps, operands, heads, registers, cursors, row, given, waiting,
                state, plans[plan, PLAN_STEP],
            )  # fmt: skip
            if status != FINISHED:
                return status
    return note_waiting(memory, halves, relations, indexes, operands, row, waiting, state)


@lean
def _cancel(memory, halves, relations, indexes, acted_on, row):
    """Leaves of what is asked for only what changes something; whether a fact is inserted and deleted at once."""
    cancels = False
    for i in range(acted_on.size):
        relation = acted_on[i]
        asked = relations[relation, ASKED]
        width = relations[asked, WIDTH]
        for place in range(relations[asked, USED]):
            at = relations[asked, ROWS] + place * relations[asked, STRIDE]
            sign = memory[at + width]
            if sign & SURE:
                memory[at + width] = sign ^ SURE
            elif sign == CAME | WENT:
                cancels = True
                memory[at + width] = 0
            else:
                for c in range(width):
                    row[c] = memory[at + c]
                code = np.uint64(memory[at + width + 1])
                is_stored = find_row(memory, halves, relations, indexes, np.uint64(relation), row, code) >= 0
                if is_stored == (sign == CAME):
                    memory[at + width] = 0
    return cancels


@lean
def _changes(memory, relations, acted_on):
    """Whether anything is asked for."""
    for i in range(acted_on.size):
        asked = relations[acted_on[i], ASKED]
        for place in range(relations[asked, USED]):
            if memory[relations[asked, ROWS] + place * relations[asked, STRIDE] + relations[asked, WIDTH]]:
                return True
    return False


@lean
def _has_log(relations, acted_on, log, state):
    """Whether the log has room for all that is asked for."""
    words = 0
    for i in range(acted_on.size):
        asked = relations[acted_on[i], ASKED]
        words += relations[asked, USED] * (2 + relations[asked, WIDTH])
    return state[LOGGED] + words <= log.size


@lean
def _has_room(memory, halves, relations, indexes, operands, state, acted_on):
    """Whether all relations have room for all that is asked for, after as much was made as there is memory."""
    for i in range(acted_on.size):
        relation = acted_on[i]
        room = relations[relation, ROOM]
        most = relations[relation, LIVING] + relations[relations[relation, ASKED], USED]
        while room < most:
            room *= 2
        if room > relations[relation, ROOM] and not make_room(
            memory, halves, relations, indexes, operands, state, relation, room
        ):
            return False
    return True


@lean
def _act(memory, halves, relations, indexes, operands, acted_on, row, log, state):
    """Brings about what is asked for: rows first, then one index after the other, so that the processor can wait for
    the lists of several rows at once."""
    for i in range(acted_on.size):
        relation = acted_on[i]
        asked = relations[relation, ASKED]
        if relations[asked, USED]:
            _exchange_rows(memory, halves, relations, indexes, relation, row, log, state)
            for index in range(relations[relation, INDEXES], relations[relation, INDEXES_END]):
                if indexes[index, MASK] >= 0:
                    _exchange_in_index(memory, halves, relations, indexes, operands, index, relation)
            _free_places(memory, halves, relations, relation)


@lean
def _exchange_rows(memory, halves, relations, indexes, relation, row, log, state):
    """Writes what is asked for to the log, new rows to their places, and all places to the states of what is asked."""
    asked = np.uint64(relations[relation, ASKED])
    width, stride, states = relations[asked, WIDTH], relations[asked, STRIDE], relations[asked, STATES]
    start = step(_SEED, np.uint64(relation))
    logged, came, went, total = state[LOGGED], 0, 0, np.int64(0)
    for number in range(relations[asked, USED]):
        at = relations[asked, ROWS] + number * stride
        sign = memory[np.uint64(at + width)]
        if not sign:
            halves[np.uint64(states + number)] = NONE
            continue
        code = np.uint64(memory[np.uint64(at + width + 1)])
        log[np.uint64(logged)] = relation
        log[np.uint64(logged + 1)] = sign
        for c in range(width):
            held = memory[np.uint64(at + c)]
            row[np.uint64(c)] = held
            log[np.uint64(logged + 2 + c)] = held
        logged += 2 + width
        if sign == CAME:
            place = new_place(halves, relations, np.uint64(relation))
            begin = relations[relation, ROWS] + place * width
            for c in range(width):
                memory[np.uint64(begin + c)] = row[np.uint64(c)]
            total += np.int64(step(start, code))
            came += 1
        else:
            place = find_row(memory, halves, relations, indexes, np.uint64(relation), row, code)
            total -= np.int64(step(start, code))
            went += 1
        halves[np.uint64(states + number)] = place
    state[LOGGED] = logged
    state[CHANGES] += came + went
    state[SUM] += total
    state[ROWS_CAME] += came
    relations[relation, HAVE_COME] += came
    relations[relation, HAVE_GONE] += went


@lean
def _exchange_in_index(memory, halves, relations, indexes, operands, index, relation):
    asked = np.uint64(relations[relation, ASKED])
    rows, width, stride = relations[asked, ROWS], relations[asked, WIDTH], relations[asked, STRIDE]
    states, links = relations[asked, STATES], indexes[index, LINKS]
    heads, mask = indexes[index, HEADS], indexes[index, MASK]
    is_first = index == relations[relation, INDEXES]
    for number in range(relations[asked, USED]):
        place = np.int64(halves[np.uint64(states + number)])
        if place >= 0:
            at = rows + number * stride
            if is_first:
                head = heads + (memory[np.uint64(at + width + 1)] & mask)
            else:
                head = list_of_row(memory, indexes, operands, index, at)
            if memory[np.uint64(at + width)] == CAME:
                link(halves, links, head, place)
            else:
                unlink(halves, links, head, place)


@lean
def _free_places(memory, halves, relations, relation):
    """Frees the places of rows that went: not before all indexes have let go of them."""
    asked = np.uint64(relations[relation, ASKED])
    signs, stride = relations[asked, ROWS] + relations[asked, WIDTH], relations[asked, STRIDE]
    for number in range(relations[asked, USED]):
        if memory[np.uint64(signs + number * stride)] == WENT:
            place = np.int64(halves[np.uint64(relations[asked, STATES] + number)])
            halves[np.uint64(relations[relation, STATES] + place)] = relations[relation, FREE]
            relations[relation, FREE] = place
            relations[relation, LIVING] -= 1


@lean
def net_changes(memory, halves, relations, indexes, relation, row, log, end, out):
    """Writes to `out` the rows that came or went by all of the log, with that sign behind them; returns how many.

    There is room for all of them behind the relation, where nothing is.
    """
    asked = np.uint64(relations[relation, ASKED])
    width = relations[asked, WIDTH]
    at = 0
    while at < end:
        if log[at] == relation:
            for c in range(width):
                row[c] = log[at + 2 + c]
            code = code_of(row, width)
            place = find_row(memory, halves, relations, indexes, asked, row, code)
            if place < 0:
                ask_for(memory, halves, relations, indexes, asked, row, log[at + 1], code)
            else:
                # What came and then went, or the other way round, is as it was; what changes again is not.
                mark = relations[asked, ROWS] + place * relations[asked, STRIDE] + width
                memory[mark] = 0 if memory[mark] else log[at + 1]
        at += 2 + relations[log[at], WIDTH]
    count = 0
    for place in range(relations[asked, USED]):
        begin = relations[asked, ROWS] + place * relations[asked, STRIDE]
        if memory[begin + width]:
            for c in range(width + 1):
                out[count, c] = memory[begin + c]
            count += 1
    return count


@lean
def all_changes(relations, relation, log, end, out):
    """Writes to `out` all rows of the log of one relation."""
    width = relations[relation, WIDTH]
    count = 0
    at = 0
    while at < end:
        if log[at] == relation:
            for c in range(width):
                out[count, c] = log[at + 2 + c]
            count += 1
        at += 2 + relations[log[at], WIDTH]


@lean
def read_log(relations, log, fired, out):
    """Writes each change of the log to `out`: its cycle, relation, sign and where its row begins; returns how many."""
    count = 0
    at = 0
    for cycle in range(fired.shape[0]):
        while at < fired[cycle, 1]:
            out[count, 0] = cycle + 1
            out[count, 1] = log[at]
            out[count, 2] = log[at + 1]
            out[count, 3] = at + 2
            count += 1
            at += 2 + relations[log[at], WIDTH]
    return count
