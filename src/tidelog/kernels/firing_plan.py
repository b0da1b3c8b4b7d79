"""A plan of a production rule, followed step by step: what its instances ask for.

A step that has several rows to offer is gone back to when those behind it have used one; `cursors` say how far it is.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.firing_tables import (
    ABSENT,
    ADD,
    ASKED,
    BACK,
    BEYOND,
    CALCULATE,
    CAME,
    CHANGES,
    COMPARE,
    COMPARED,
    COMPARED_END,
    COPY,
    COUNT,
    CYCLES,
    DIVIDE,
    DOES,
    EQUAL,
    FINISHED,
    FIRST,
    FOURTH,
    GIVEN,
    GREATER,
    GREATEST,
    GROUP,
    GROUP_END,
    HEAD_COLUMNS,
    HEAD_CONTESTED,
    HEAD_LEVEL,
    HEAD_RELATION,
    HEAD_SIGN,
    HEADS,
    INDEXED,
    INDEXES,
    KEY_AT,
    LEAST,
    LESS,
    LESS_EQUAL,
    LINKS,
    LIVES,
    MASK,
    MORE_STEPS,
    MOST_ASKED,
    MOST_STEPS,
    MUCH,
    MULTIPLY,
    NEGATE,
    NO_MEMORY,
    NOT_EQUAL,
    PRESENT,
    PROBE,
    ROOM,
    ROWS,
    SCAN,
    SECOND,
    START,
    STATES,
    STEPS,
    STEPS_OF_CHANGE,
    STRIDE,
    SUBTRACT,
    SURE,
    TAKEN,
    THIRD,
    TOTAL,
    USED,
    WAITING,
    WAITING_CODE,
    WAITING_CONTESTED,
    WAITING_ROW,
    WAITING_SIGN,
    WAITS_FOR,
    WIDTH,
    ask_for,
    find_row,
    has_key,
    list_of_key,
    make_index,
    make_room,
)
from tidelog.kernels.hashing import step
from tidelog.kernels.jit import inlined, lean, prefetch

_LEAST_NUMBER = -(2**63)
_SAFE_FACTOR = 2**31


@lean
def follow_plan(
    memory, halves, relations, indexes, steps, operands, heads, registers, cursors, row, given, waiting, state, first
):  # fmt: skip
    """FINISHED when what all instances ask for is noted or waits for that; else why that could not be done."""
    at = first
    is_new = at == first  # no constant: what takes one is compiled for constants and again for others
    count = 0
    most = state[MOST_STEPS] + state[MORE_STEPS] * state[CYCLES] + state[STEPS_OF_CHANGE] * state[CHANGES]
    most -= state[STEPS]
    lowest = first  # of the steps that have gone on to another row since heads were looked at
    status = FINISHED
    while at >= 0:
        number = np.uint64(at)
        count += 1
        if count > most:
            status = MUCH
            break
        does = steps[number, DOES]
        goes_on = True
        is_lookup = does in (PROBE, PRESENT, ABSENT)
        if (
            is_lookup
            and indexes[np.uint64(steps[number, FIRST]), MASK] < 0
            and not make_index(memory, halves, relations, indexes, operands, state, steps[number, FIRST])
        ):
            status = NO_MEMORY
            break
        if does in (PROBE, SCAN):
            goes_on = _next_row(memory, halves, relations, indexes, steps, operands, registers, cursors, number, is_new)
            lowest = min(lowest, at)
        elif is_lookup:
            has_row = _has_row(memory, halves, relations, indexes, steps, operands, registers, number)
            goes_on = has_row == (does == PRESENT)
        elif does == COMPARE:
            left, right = registers[np.uint64(steps[number, SECOND])], registers[np.uint64(steps[number, THIRD])]
            goes_on = _holds(steps[number, FIRST], left, right)
        elif does == COPY:
            registers[np.uint64(steps[number, FIRST])] = registers[np.uint64(steps[number, SECOND])]
        elif does == CALCULATE:
            left, right = registers[np.uint64(steps[number, SECOND])], registers[np.uint64(steps[number, THIRD])]
            if not _has_value(steps[number, FOURTH], left, right):
                status = BEYOND
                break
            registers[np.uint64(steps[number, FIRST])] = _calculated(steps[number, FOURTH], left, right)
        elif does == GROUP:
            if is_new:
                registers[np.uint64(steps[number, THIRD])] = 0
                registers[steps[number, THIRD] + 1] = 0
            else:
                goes_on = _group_value(steps, registers, number)
                if goes_on:
                    at = steps[number, FOURTH]
        elif does == GROUP_END:
            if not _take_into_group(steps, registers, number):
                status = BEYOND
                break
            goes_on = False
        elif does == GIVEN:
            goes_on = _takes_given(steps, operands, registers, given, number)
        else:
            for head in range(steps[number, FIRST], steps[number, SECOND]):
                which = np.uint64(head)
                if heads[which, HEAD_LEVEL] >= lowest:
                    _ask(halves, relations, indexes, operands, heads, registers, waiting, state, which)
                    if state[WAITING] == waiting.shape[0]:
                        status = note_waiting(memory, halves, relations, indexes, operands, row, waiting, state)
                        if status != FINISHED:
                            break
            if status != FINISHED or steps[number, THIRD]:
                break
            goes_on = False
            lowest = at
        if goes_on:
            at += 1
            is_new = True
        else:
            at = steps[number, BACK]
            is_new = False
    state[STEPS] += count
    return status


@inlined
def _next_row(memory, halves, relations, indexes, steps, operands, registers, cursors, at, is_new):
    """Whether there is another row for a step; then what the step takes of it is in registers."""
    is_probe = steps[at, DOES] == PROBE
    index = np.uint64(steps[at, FIRST])
    relation = np.uint64(indexes[index, INDEXED]) if is_probe else index
    key = steps[at, KEY_AT]
    if is_new:
        place = np.int64(halves[np.uint64(list_of_key(indexes, operands, registers, index, key))]) if is_probe else 0
    elif is_probe:
        place = np.int64(halves[np.uint64(indexes[index, LINKS] + 2 * cursors[at])])
    else:
        place = cursors[at] + 1
    used = relations[relation, USED]
    while place >= 0 and place < used:
        if is_probe:
            fits = has_key(memory, relations, indexes, operands, registers, index, key, place)
        else:
            fits = halves[np.uint64(relations[relation, STATES] + place)] == LIVES
        if fits:
            begin = relations[relation, ROWS] + place * relations[relation, STRIDE]
            for i in range(steps[at, TAKEN], steps[at, COMPARED], 2):
                held = memory[np.uint64(begin + operands[np.uint64(i)])]
                registers[np.uint64(operands[np.uint64(i + 1)])] = held
            for i in range(steps[at, COMPARED], steps[at, COMPARED_END], 2):
                held = memory[np.uint64(begin + operands[np.uint64(i)])]
                fits = fits and registers[np.uint64(operands[np.uint64(i + 1)])] == held
            if fits:
                cursors[at] = place
                return True
        place = np.int64(halves[np.uint64(indexes[index, LINKS] + 2 * place)]) if is_probe else place + 1
    return False


@inlined
def _has_row(memory, halves, relations, indexes, steps, operands, registers, at):
    index, key = np.uint64(steps[at, FIRST]), steps[at, KEY_AT]
    place = np.int64(halves[np.uint64(list_of_key(indexes, operands, registers, index, key))])
    while place >= 0:
        if has_key(memory, relations, indexes, operands, registers, index, key, place):
            return True
        place = np.int64(halves[np.uint64(indexes[index, LINKS] + 2 * place)])
    return False


@inlined
def _holds(operator, left, right):
    if operator == EQUAL:
        return left == right
    if operator == NOT_EQUAL:
        return left != right
    if operator == LESS:
        return left < right
    if operator == LESS_EQUAL:
        return left <= right
    if operator == GREATER:
        return left > right
    return left >= right


@inlined
def _has_value(function, left, right):
    """Whether a function has a value that is a number of 64 bits; of a product that is not asked too closely."""
    if function == ADD:
        return left <= np.int64(2**63 - 1) - right if right > 0 else left >= np.int64(_LEAST_NUMBER) - right
    if function == SUBTRACT:
        return left >= np.int64(_LEAST_NUMBER) + right if right > 0 else left <= np.int64(2**63 - 1) + right
    if function == MULTIPLY:
        return -_SAFE_FACTOR < left < _SAFE_FACTOR and -_SAFE_FACTOR < right < _SAFE_FACTOR
    if function == NEGATE:
        return left != np.int64(_LEAST_NUMBER)
    return right != 0 and left != np.int64(_LEAST_NUMBER)


@inlined
def _calculated(function, left, right):
    if function == ADD:
        return left + right
    if function == SUBTRACT:
        return left - right
    if function == MULTIPLY:
        return left * right
    if function == NEGATE:
        return -left
    quotient = abs(left) // abs(right)
    if (left < 0) != (right < 0):
        quotient = -quotient
    return quotient if function == DIVIDE else left - right * quotient


@inlined
def _take_into_group(steps, registers, at):
    """Takes one more assignment into an aggregate; False where a sum is out of range."""
    group = np.uint64(steps[at, FIRST])
    function, total = steps[group, FIRST], np.uint64(steps[group, THIRD])
    counted = np.uint64(steps[group, THIRD] + 1)
    value = registers[np.uint64(steps[at, SECOND])]
    held, before = registers[total], registers[counted]
    registers[counted] = before + 1
    if function == TOTAL:
        if not _has_value(ADD, held, value):
            return False
        registers[total] = held + value
    elif function == LEAST:
        registers[total] = value if before == 0 or value < held else held
    elif function == GREATEST:
        registers[total] = value if before == 0 or value > held else held
    return True


@inlined
def _group_value(steps, registers, at):
    """Whether an aggregate has a value; then it is in its register."""
    function, total = steps[at, FIRST], steps[at, THIRD]
    if function == COUNT:
        registers[steps[at, SECOND]] = registers[total + 1]
        return True
    registers[steps[at, SECOND]] = registers[total]
    return function == TOTAL or registers[total + 1] > 0


@inlined
def _takes_given(steps, operands, registers, given, at):
    for i in range(steps[at, TAKEN], steps[at, COMPARED], 2):
        registers[np.uint64(operands[np.uint64(i + 1)])] = given[np.uint64(operands[np.uint64(i)])]
    for i in range(steps[at, COMPARED], steps[at, COMPARED_END], 2):
        if registers[np.uint64(operands[np.uint64(i + 1)])] != given[np.uint64(operands[np.uint64(i)])]:
            return False
    return True


@inlined
def _ask(halves, relations, indexes, operands, heads, registers, waiting, state, head):
    """Lets wait what a head asks for, while the processor fetches the lists where it may be found."""
    number = np.uint64(state[WAITING])
    relation = np.uint64(heads[head, HEAD_RELATION])
    code = START
    for c in range(relations[relation, WIDTH]):
        held = registers[np.uint64(operands[np.uint64(heads[head, HEAD_COLUMNS] + c)])]
        waiting[number, np.uint64(WAITING_ROW + c)] = held
        code = step(code, np.uint64(held))
    waiting[number, WAITS_FOR] = relation
    waiting[number, WAITING_SIGN] = heads[head, HEAD_SIGN]
    waiting[number, WAITING_CONTESTED] = heads[head, HEAD_CONTESTED]
    waiting[number, WAITING_CODE] = np.int64(code)
    state[WAITING] += 1
    for each in (relation, np.uint64(relations[relation, ASKED])):
        index = np.uint64(relations[each, INDEXES])
        prefetch(halves, np.uint64(indexes[index, HEADS]) + (code & np.uint64(indexes[index, MASK])))


@lean
def note_waiting(memory, halves, relations, indexes, operands, row, waiting, state):
    """Notes what waits: what heads ask for, unless it is so already and nobody asks for the opposite; FINISHED, or why
    that could not be done."""
    for i in range(state[WAITING]):
        number = np.uint64(i)
        relation, sign = np.uint64(waiting[number, WAITS_FOR]), waiting[number, WAITING_SIGN]
        code = np.uint64(waiting[number, WAITING_CODE])
        for c in range(relations[relation, WIDTH]):
            row[np.uint64(c)] = waiting[number, np.uint64(WAITING_ROW + c)]
        if not waiting[number, WAITING_CONTESTED]:
            is_stored = find_row(memory, halves, relations, indexes, relation, row, code) >= 0
            if is_stored == (sign == CAME):
                continue
            sign |= SURE
        asked = np.uint64(relations[relation, ASKED])
        place = find_row(memory, halves, relations, indexes, asked, row, code)
        if place >= 0:
            at = relations[asked, ROWS] + place * relations[asked, STRIDE]
            memory[np.uint64(at + relations[asked, WIDTH])] |= sign
            continue
        room = relations[asked, ROOM]
        if relations[asked, USED] == room:
            if room >= state[MOST_ASKED] and room > 2 * state[CHANGES]:
                return MUCH
            if not make_room(memory, halves, relations, indexes, operands, state, asked, 2 * room):
                return NO_MEMORY
        ask_for(memory, halves, relations, indexes, asked, row, sign, code)
    state[WAITING] = 0
    return FINISHED
