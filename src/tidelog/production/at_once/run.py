"""Runs encoded rules over facts: takes these, returns what the run did, as far as it got.

Facts go into the kernel's own tables as words, numbers as they are, and come back as ids when the run is over. Nothing
else is changed before that. So where something occurs that the kernel leaves to others, they start from the same facts,
or go on where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import mul
from time import monotonic

import numpy as np

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.protocol import Facts
from tidelog.facts.fact_set import FactSet
from tidelog.facts.values import Values
from tidelog.kernels import firing_tables as table
from tidelog.kernels import jit
from tidelog.kernels.firing import all_changes, fire, net_changes
from tidelog.kernels.firing_tables import make_room, make_rooms, take_rows
from tidelog.maintain.journal import Net
from tidelog.maintain.protocol import Limits
from tidelog.production.at_once.encoding import EncodedRules, Spare
from tidelog.production.at_once.logged import LentLog, LoggedCycles
from tidelog.production.at_once.words import Words, ids_of_words, words_of_ids
from tidelog.production.ids import ids_of
from tidelog.production.report import CycleUsage, check_cycles
from tidelog.schema import Kind

MOST_FACTS = 1 << 16
"""Facts that are copied into the tables of a kernel: more of them are likely to be joined many at a time."""

MOST_ASKED = 1 << 13
"""Rows of one relation that a rule may ask for at once, or twice as many as have come and gone so far. More of them are
quicker to join many at a time, if that is seen early: others look at everything again, before they go on."""

MOST_STEPS, MORE_STEPS, STEPS_OF_CHANGE = 1 << 17, 1 << 15, 1 << 5
"""Steps that may be followed, and how many more with each cycle and each fact that comes or goes. Where rules look at
more than that to do as much, it pays to retain joins."""

_LEAST_ROOM = 64
_WAITING = 32
_SPARE_WORDS = 1 << 20
_LOG_WORDS = 1 << 19
_CYCLES = 1 << 10
_KEPT_WORDS = 1 << 22

_STEPS_AT_ONCE = 1 << 24
"""Steps after which limits of time and memory are looked at: about a fifth of a second."""


_STATE = np.zeros(table.STATE, np.int64)
_STATE[[table.MOST_AGE, table.MOST_ASKED]] = 1, MOST_ASKED
_STATE[[table.MOST_STEPS, table.MORE_STEPS, table.STEPS_OF_CHANGE]] = MOST_STEPS, MORE_STEPS, STEPS_OF_CHANGE


def run_at_once(
    encoded: EncodedRules, facts_of: Callable[[str], Facts], values: Values, limits: Limits
) -> LoggedCycles | None:
    """What the rules do to the facts of relations, which stay as they are, until none is firable or too much is to be
    done at once; None where others have to find out from the start."""
    facts = [facts_of(schema.relation) for schema in encoded.relations]
    if sum(map(len, facts)) > MOST_FACTS:
        return None
    run = Run(encoded, facts, values)
    while (stopped := run.go_on(limits)) not in (table.FINISHED, table.MUCH):
        if stopped == table.BEYOND:
            return None
        if run.cycles and stopped in (table.PAUSED, table.LIMIT):
            check_cycles(CycleUsage(run.cycles, run.rows_came, monotonic() - run.began), limits, [run.last_rule])
    return run.logged(is_over=stopped == table.FINISHED)


class Run:
    """The tables of one run, which grow while it goes on."""

    def __init__(self, encoded: EncodedRules, facts: Sequence[Facts], values: Values) -> None:
        self.began = monotonic()
        self._encoded = encoded
        self._values = values
        self._relations = encoded.relation_rows.copy()
        self._indexes = encoded.index_rows.copy()
        self._rules = encoded.rules.copy()
        self._acted_on = np.arange(encoded.acted_on)
        self._registers = encoded.registers.copy()
        for register, text in encoded.texts:
            self._registers[register] = values.identify_one(Kind.SYMBOL, text)
        self._cursors = np.zeros(len(encoded.steps), np.int64)
        self._row, self._given = np.zeros((2, max(1, encoded.widest)), np.int64)
        self._waiting = np.zeros((_WAITING, table.WAITING_ROW + encoded.widest), np.int64)
        self._seen = np.zeros_like(encoded.matters)
        self._fired = np.empty((_CYCLES, 2), np.int64)
        self._state = _STATE.copy()
        self._counts = counts = [len(each) for each in facts]
        spare = _spare_of(encoded)
        rooms = [_room_for(count) for count in (*counts, *[0] * encoded.acted_on)]
        if spare.facts <= 2 * sum(counts):
            rooms = list(map(max, rooms, spare.rooms))
        words = sum(map(mul, rooms, encoded.words_of_place))
        self._log = _log_of(encoded)
        self._use(spare.memory if spare.memory.size > words else np.empty(_SPARE_WORDS + 2 * words, np.int64))
        make_rooms(
            self._memory, self._halves, self._relations, self._indexes, encoded.operands, self._state,
            np.array(rooms, np.int64),
        )  # fmt: skip
        for relation, schema in enumerate(encoded.relations):
            if counts[relation]:
                jit.work(counts[relation])
                rows = words_of_ids(ids_of(facts[relation]), schema.kinds, values)
                take_rows(self._memory, self._halves, self._relations, self._indexes, encoded.operands, relation, rows)

    @property
    def cycles(self) -> int:
        """How many cycles there were."""
        return int(self._state[table.CYCLES])

    @property
    def rows_came(self) -> int:
        """How many rows were inserted."""
        return int(self._state[table.ROWS_CAME])

    @property
    def last_rule(self) -> ProductionRule:
        """The rule that fired last."""
        return self._encoded.order[int(self._fired[self.cycles - 1, 0])]

    def go_on(self, limits: Limits) -> int:
        """Fires for a while; why it stopped. Where room was missing, there is more now."""
        encoded, state = self._encoded, self._state
        stopped = fire(
            self._memory, self._halves, self._relations, self._indexes, encoded.steps, encoded.operands, encoded.heads,
            encoded.plans, encoded.alternatives, encoded.triggers, encoded.asking, self._rules, encoded.matters,
            self._seen, self._acted_on, self._registers, self._cursors, self._row, self._given, self._waiting,
            self._log, self._fired, state, state[table.STEPS] + _STEPS_AT_ONCE, limits.rounds, limits.rows,
        )  # fmt: skip
        if stopped == table.NO_MEMORY:
            size = 2 * self._memory.size + int(state[table.WORDS_NEEDED])
            self._use(_longer(self._memory, int(state[table.TAIL]), size))
        elif stopped == table.NO_LOG:
            self._log = _longer(self._log, int(state[table.LOGGED]), 4 * self._log.size)
            self._fired = np.concatenate([self._fired, np.empty_like(self._fired)])
        return int(stopped)

    def logged(self, *, is_over: bool) -> LoggedCycles:
        """What the run did so far. It does not go on after that."""
        rooms = tuple(self._relations[:, table.ROOM].tolist())
        nets = self._nets()
        if self._memory.size <= _KEPT_WORDS and not self._encoded.spare:
            self._encoded.spare.append(Spare(self._memory, sum(self._counts), rooms))
        log, fired = LentLog(self._log, self._encoded.logs), self._fired[: self.cycles].copy()
        words = int(self._state[table.LOGGED])
        return LoggedCycles(self._encoded, self._values, is_over, self.began, self.rows_came, nets, log, words, fired)

    def _nets(self) -> dict[str, Net]:
        """The facts that came and went in all. Where there were none or none went, those that came stand in the memory;
        after them, what came and went is looked for, which needs the memory for itself."""
        acted_on = self._relations[: self._encoded.acted_on, [table.HAVE_COME, table.HAVE_GONE]].tolist()
        changed = {relation: numbers for relation, numbers in enumerate(acted_on) if any(numbers)}
        last = sorted(changed, key=lambda relation: self._counts[relation] > 0 and changed[relation][1] > 0)
        found = {relation: self._net(relation, *changed[relation]) for relation in last}
        return {self._encoded.relations[relation].relation: found[relation] for relation in changed}

    def _net(self, relation: int, come: int, gone: int) -> Net:
        """The facts of a relation that came and went in all."""
        kinds, end = self._encoded.relations[relation].kinds, self._state[table.LOGGED]
        if not gone or not self._counts[relation]:
            came = self._rows(relation)[self._counts[relation] :]
            signed = [came, came[:0]]
        elif come:
            rows = self._net_changes(relation, come + gone)
            signed = [rows[rows[:, -1] == sign, :-1] for sign in (table.CAME, table.WENT)]
        else:
            went = np.empty((gone, len(kinds)), np.int64)
            all_changes(self._relations, relation, self._log, end, went)
            signed = [went[:0], went]
        return Net(*(FactSet(ids_of_words(some, kinds, self._values)) for some in signed))

    def _rows(self, relation: int) -> Words:
        """The rows of a relation, in the order in which they came if none went."""
        begin, states, used = self._relations[relation, [table.ROWS, table.STATES, table.USED]].tolist()
        width = len(self._encoded.relations[relation].kinds)
        rows = self._memory[begin : begin + used * width].reshape(used, width)
        lives = self._halves[states : states + used] == table.LIVES
        return rows if lives.all() else rows.compress(lives, axis=0)

    def _net_changes(self, relation: int, most: int) -> Words:
        """The rows of a relation that came or went in all, with that sign behind them."""
        asked, room = int(self._relations[relation, table.ASKED]), _room_for(most)
        # Nothing but what is asked for is looked up any more: it gets all of the memory.
        words = room * self._encoded.words_of_place[asked]
        if words > self._memory.size:
            self._use(np.empty(words, np.int64))
        self._state[table.TAIL] = self._relations[asked, table.USED] = 0
        assert make_room(
            self._memory, self._halves, self._relations, self._indexes, self._encoded.operands, self._state, asked, room
        )  # fmt: skip
        out = np.empty((most, 1 + self._relations[asked, table.WIDTH]), np.int64)
        found = net_changes(
            self._memory, self._halves, self._relations, self._indexes, relation, self._row, self._log,
            self._state[table.LOGGED], out,
        )  # fmt: skip
        return out[:found]

    def _use(self, memory: Words) -> None:
        self._memory, self._halves = memory, memory.view(np.int32)


def _room_for(rows: int) -> int:
    return 1 << (max(_LEAST_ROOM, rows) - 1).bit_length()


def _spare_of(encoded: EncodedRules) -> Spare:
    """What a run that is over has left, or new memory; threads may ask at once."""
    with suppress(IndexError):
        return encoded.spare.pop()
    return Spare(np.empty(0, np.int64), 0, (0,) * len(encoded.relation_rows))


def _log_of(encoded: EncodedRules) -> Words:
    """A log that nobody reads any more, or a new one."""
    with suppress(IndexError):
        return encoded.logs.pop()
    return np.empty(_LOG_WORDS, np.int64)


def _longer(array: Words, used: int, size: int) -> Words:
    longer = np.empty(size, np.int64)
    longer[:used] = array[:used]
    return longer
