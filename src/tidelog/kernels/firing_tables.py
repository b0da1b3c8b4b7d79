"""What the tables of a run of production rules in one call hold, and where; and the rows of its relations.

Rules are rows of small tables, written by `production.at_once.encoding`; facts are rows of 64-bit values in one array,
`memory`. A relation has a block of rows and, for each index, lists of the rows that share a hash number of their key;
its first index is by all columns. Each relation that rules act on has another one behind it for what a rule asks for:
behind the columns its rows have a sign and the hash number of the columns, which is computed once for each.
What refers to places is half a word: `halves` is the same memory, looked at in numbers of 32 bits. The less room tables
take, the more of them stays near the processor.

Where much is looked up, places in arrays are unsigned: then compiled code does not ask each time whether they count
from the end, which takes a quarter of the time.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import step
from tidelog.kernels.jit import inlined, lean

# of a relation: columns that tell rows apart, words of a row, rows, places used, places there are, where rows begin and
# where in halves the states of places, the first free place, its indexes, the relation for what is asked of it, and how
# many rows came and went
WIDTH, STRIDE, LIVING, USED, ROOM, ROWS, STATES, FREE, INDEXES, INDEXES_END, ASKED, HAVE_COME, HAVE_GONE = range(13)
RELATION_COLUMNS = 13
# of an index: its relation, where its key is among the operands, columns of the key, where in halves the first rows of
# lists begin, where for each row the next and the previous one, the number of lists less one (NONE: no one has asked)
INDEXED, KEY, KEYS, HEADS, LINKS, MASK = range(6)
INDEX_COLUMNS = 6
# of a step: what it does, the step to go back to, what it needs; keys, then columns to take and to compare
DOES, BACK, FIRST, SECOND, THIRD, FOURTH, KEY_AT, TAKEN, COMPARED, COMPARED_END = range(10)
STEP_COLUMNS = 10
# of a head; `HEAD_LEVEL` is the last step whose rows it depends on
HEAD_RELATION, HEAD_SIGN, HEAD_COLUMNS, HEAD_CONTESTED, HEAD_LEVEL = range(5)
HEAD_COLUMNS_OF_TABLE = 5
# of a plan: its first step, the relation whose rows it starts from (NONE: no rows)
PLAN_STEP, PLAN_START = range(2)
# of a trigger: a plan that looks at what came or went
TRIGGER_RELATION, TRIGGER_SIGN, TRIGGER_PLAN = range(3)
# of a rule; `SINCE` is the place in the log that it has seen (NONE: it has to look at all)
ALTERNATIVES, ALTERNATIVES_END, TRIGGERS, TRIGGERS_END, ASKING, ASKING_END, SINCE = range(7)
RULE_COLUMNS = 7
# of the state of the run; so many rows of one relation may be asked for at once, so many steps followed, and more of
# them with each cycle and each change
TAIL, LOGGED, CHANGES, CYCLES, ROWS_CAME, AGE, MOST_AGE, SUM, STEPS, WORDS_NEEDED = range(10)
MOST_ASKED, MOST_STEPS, MORE_STEPS, STEPS_OF_CHANGE, WAITING = range(10, 15)
STATE = 15
# of a row that waits to be noted as asked for: its relation, sign, whether heads ask for the opposite, its hash number;
# behind these its columns
WAITS_FOR, WAITING_SIGN, WAITING_CONTESTED, WAITING_CODE, WAITING_ROW = range(5)

WORDS_OF_LINKS = 2
"""Words for each place of a relation that one of its indexes takes: there are twice as many lists as places."""

NONE = -1
LIVES, LAST_FREE = -1, -2
"""States of a place: a row is there; it is free and no other one is behind it. Others lead to the next free place."""

CAME, WENT, SURE = 1, 2, 4
"""Signs; the first two together are a fact that is inserted and deleted at once, the last is that of a change that no
head of the rule can undo."""

# what a step does
SCAN, PROBE, PRESENT, ABSENT, COMPARE, COPY, CALCULATE, GROUP, GROUP_END, GIVEN, EMIT = range(11)
EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(6)
ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, NEGATE = range(6)
COUNT, TOTAL, LEAST, GREATEST = range(4)

# why a run stops
FINISHED, PAUSED, NO_MEMORY, NO_LOG, BEYOND, MUCH, LIMIT = range(7)

START = np.uint64(0x51ED270B9F2C8A6D)
"""The hash number of no columns."""


@inlined
def list_of_key(indexes, operands, registers, index, at):
    """The list of `index` for the key that is in the registers named from `at` on."""
    code = START
    for k in range(indexes[index, KEYS]):
        code = step(code, np.uint64(registers[np.uint64(operands[np.uint64(at + k)])]))
    return indexes[index, HEADS] + np.int64(code & np.uint64(indexes[index, MASK]))


@inlined
def has_key(memory, relations, indexes, operands, registers, index, at, place):
    """Whether the row at `place` has the key that is in the registers named from `at` on."""
    relation = np.uint64(indexes[index, INDEXED])
    row = relations[relation, ROWS] + place * relations[relation, STRIDE]
    key = indexes[index, KEY]
    for k in range(indexes[index, KEYS]):
        held = memory[np.uint64(row + operands[np.uint64(key + k)])]
        if held != registers[np.uint64(operands[np.uint64(at + k)])]:
            return False
    return True


@inlined
def code_of(row, width):
    """The hash number of the columns of a row."""
    code = START
    for c in range(width):
        code = step(code, np.uint64(row[np.uint64(c)]))
    return code


@inlined
def find_row(memory, halves, relations, indexes, relation, row, code):
    """The place of a row that has this hash number, NONE if the relation has it not."""
    index = np.uint64(relations[relation, INDEXES])
    width, stride, rows = relations[relation, WIDTH], relations[relation, STRIDE], relations[relation, ROWS]
    links = indexes[index, LINKS]
    place = np.int64(halves[np.uint64(indexes[index, HEADS]) + (code & np.uint64(indexes[index, MASK]))])
    while place >= 0:
        at = rows + place * stride
        c = 0
        while c < width and memory[np.uint64(at + c)] == row[np.uint64(c)]:
            c += 1
        if c == width:
            return place
        place = np.int64(halves[np.uint64(links + 2 * place)])
    return NONE


@inlined
def new_place(halves, relations, relation):
    """The place for one more row; there is room for it."""
    place = relations[relation, FREE]
    if place >= 0:
        relations[relation, FREE] = halves[np.uint64(relations[relation, STATES] + place)]
    else:
        place = relations[relation, USED]
        relations[relation, USED] = place + 1
    halves[np.uint64(relations[relation, STATES] + place)] = LIVES
    relations[relation, LIVING] += 1
    return place


@inlined
def ask_for(memory, halves, relations, indexes, asked, row, sign, code):
    """Notes that a row, which is not noted yet, is asked for; there is room for it."""
    width = relations[asked, WIDTH]
    place = new_place(halves, relations, asked)
    at = relations[asked, ROWS] + place * relations[asked, STRIDE]
    for c in range(width):
        memory[np.uint64(at + c)] = row[np.uint64(c)]
    memory[np.uint64(at + width)] = sign
    memory[np.uint64(at + width + 1)] = np.int64(code)
    index = np.uint64(relations[asked, INDEXES])
    head = indexes[index, HEADS] + np.int64(code & np.uint64(indexes[index, MASK]))
    link(halves, indexes[index, LINKS], head, place)


@lean
def forget_rows(memory, halves, relations, indexes, asked):
    """Takes away all that is asked for."""
    index = relations[asked, INDEXES]
    heads, used = indexes[index, HEADS], relations[asked, USED]
    if 4 * used > relations[asked, ROOM]:
        for i in range(indexes[index, MASK] + 1):
            halves[heads + i] = NONE
    else:
        stride, mask = relations[asked, STRIDE], indexes[index, MASK]
        at = relations[asked, ROWS] + relations[asked, WIDTH] + 1
        for place in range(used):
            halves[np.uint64(heads + (memory[np.uint64(at + place * stride)] & mask))] = NONE
    relations[asked, USED] = 0
    relations[asked, LIVING] = 0


@lean
def make_room(memory, halves, relations, indexes, operands, state, relation, room):
    """Gives a relation `room` places, a power of two; False where the memory is too short, which changes nothing."""
    stride, used = relations[relation, STRIDE], relations[relation, USED]
    first, end = relations[relation, INDEXES], relations[relation, INDEXES_END]
    needed = room * stride + (room + 1) // 2
    for index in range(first, end):
        if indexes[index, MASK] >= 0:
            needed += WORDS_OF_LINKS * room
    rows = state[TAIL]
    if rows + needed > memory.size:
        state[WORDS_NEEDED] = needed
        return False
    state[TAIL] = rows + room * stride + (room + 1) // 2
    states = 2 * (rows + room * stride)
    for i in range(used * stride):
        memory[rows + i] = memory[relations[relation, ROWS] + i]
    for i in range(used):
        halves[states + i] = halves[relations[relation, STATES] + i]
    relations[relation, ROWS] = rows
    relations[relation, STATES] = states
    relations[relation, ROOM] = room
    for index in range(first, end):
        if indexes[index, MASK] >= 0:
            make_index(memory, halves, relations, indexes, operands, state, index)
    return True


@lean
def make_rooms(memory, halves, relations, indexes, operands, state, rooms):
    """Gives each relation so many places; the memory is long enough."""
    for relation in range(rooms.size):
        make_room(memory, halves, relations, indexes, operands, state, relation, rooms[relation])


@lean
def make_index(memory, halves, relations, indexes, operands, state, index):
    """Makes an index of all rows that there are; False where the memory is too short, which changes nothing."""
    relation = indexes[index, INDEXED]
    room = relations[relation, ROOM]
    if state[TAIL] + WORDS_OF_LINKS * room > memory.size:
        state[WORDS_NEEDED] = WORDS_OF_LINKS * room
        return False
    heads = 2 * state[TAIL]
    links = heads + (2 * WORDS_OF_LINKS - 2) * room
    state[TAIL] += WORDS_OF_LINKS * room
    indexes[index, HEADS] = heads
    indexes[index, LINKS] = links
    indexes[index, MASK] = links - heads - 1
    for i in range(heads, links):
        halves[i] = NONE
    rows, stride, states = relations[relation, ROWS], relations[relation, STRIDE], relations[relation, STATES]
    for place in range(relations[relation, USED]):
        if halves[states + place] == LIVES:
            link(halves, links, list_of_row(memory, indexes, operands, index, rows + place * stride), place)
    return True


@lean
def take_rows(memory, halves, relations, indexes, operands, relation, rows):
    """Takes rows, all different, that the relation has not; there is room for them."""
    stride = relations[relation, STRIDE]
    first = relations[relation, USED]
    for i in range(rows.shape[0]):
        at = relations[relation, ROWS] + new_place(halves, relations, np.uint64(relation)) * stride
        for c in range(stride):
            memory[at + c] = rows[i, c]
    for index in range(relations[relation, INDEXES], relations[relation, INDEXES_END]):
        if indexes[index, MASK] >= 0:
            for place in range(first, relations[relation, USED]):
                at = relations[relation, ROWS] + place * stride
                link(halves, indexes[index, LINKS], list_of_row(memory, indexes, operands, index, at), place)


@inlined
def link(halves, links, head, place):
    """Puts a place in front of a list."""
    following = np.int64(halves[np.uint64(head)])
    halves[np.uint64(links + 2 * place)] = following
    halves[np.uint64(links + 2 * place + 1)] = NONE
    if following >= 0:
        halves[np.uint64(links + 2 * following + 1)] = place
    halves[np.uint64(head)] = place


@inlined
def unlink(halves, links, head, place):
    """Takes a place out of a list."""
    following = np.int64(halves[np.uint64(links + 2 * place)])
    before = np.int64(halves[np.uint64(links + 2 * place + 1)])
    if following >= 0:
        halves[np.uint64(links + 2 * following + 1)] = before
    if before >= 0:
        halves[np.uint64(links + 2 * before)] = following
    else:
        halves[np.uint64(head)] = following


@inlined
def list_of_row(memory, indexes, operands, index, row):
    """The list of `index` for the row that begins there in the memory."""
    code = START
    key = indexes[index, KEY]
    for k in range(indexes[index, KEYS]):
        code = step(code, np.uint64(memory[np.uint64(row + operands[np.uint64(key + k)])]))
    return indexes[index, HEADS] + np.int64(code & np.uint64(indexes[index, MASK]))
