"""A run of parallel production rules from the start, with chains: takes a state and plans, returns the course.

From one iteration to the next it looks only at derivations that what changed begins or ends. Facts that operations are
asked for are numbered as they are met, and counts are kept by these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.protocol import Backend
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Rows, RowSet
from tidelog.kernels import jit
from tidelog.kernels.chains import sum_by_fact
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.maintain.protocol import Limits
from tidelog.production.firing import Fired, Firing
from tidelog.production.ids import ids_of
from tidelog.production.late.chain_columns import Chains, Flags, Numbers, Records, Steps
from tidelog.production.late.course import Course, Repetition, padded
from tidelog.production.late.derivations import Derivations
from tidelog.production.late.nets import net_of
from tidelog.production.late.state import Found, State
from tidelog.production.report import CycleUsage, check_cycles, oscillation


@dataclass(frozen=True, slots=True)
class FirstRun:
    """The course of a run, and the facts that were there for a while and are not at its end."""

    course: Course
    gone: Mapping[str, FactSet]


def run_from_start(
    state: State, rules: Sequence[ProductionRule], plans: Sequence[Derivations], limits: Limits
) -> FirstRun:
    """Runs until nothing changes, and leaves the last state.

    Raises OscillationError when the rules come back to a state, LimitError at a limit.
    """
    return _Run(state, rules, plans, limits).run()


def part_of(rows: Rows, columns: tuple[int, ...]) -> Rows:
    """The facts that these columns of derivations make; a relation without columns has rows of a single 0."""
    return rows.take(columns, axis=1) if columns else np.zeros((rows.shape[0], 1), np.int32)


@dataclass(slots=True)
class _Asked:
    """Operations on facts of one relation, by number: how many more of each sign, or less."""

    facts: list[Numbers] = field(default_factory=list)
    added: list[Numbers] = field(default_factory=list)
    deleted: list[Numbers] = field(default_factory=list)

    def take(self, facts: Numbers, sign: Sign, times: int) -> None:
        """Adds that many operations for each fact."""
        some, none = np.full(facts.size, times, np.int64), np.zeros(facts.size, np.int64)
        self.facts.append(facts)
        self.added.append(some if sign is Sign.INSERT else none)
        self.deleted.append(none if sign is Sign.INSERT else some)


class _Ledger:
    """The facts of a relation that operations were asked for, with their counts in the iteration at hand."""

    def __init__(self, relation: str, width: int, backend: Backend) -> None:
        self._relation = relation
        self._backend = backend
        self._numbers = RowSet(width)
        self._columns = np.arange(width)
        self._added: Numbers = np.zeros(0, np.int64)
        self._deleted: Numbers = np.zeros(0, np.int64)
        self._is_there: Flags = np.zeros(0, np.bool_)
        self._is_first: Flags = np.zeros(0, np.bool_)
        self._was_there: Flags = np.zeros(0, np.bool_)
        self._places: Numbers = np.zeros(0, np.int64)
        self._steps: list[Steps] = []

    def number(self, rows: Rows) -> Numbers:
        """The numbers of these facts; those that are new have been what they are now from the start."""
        known = self._numbers.count
        jit.work(rows.shape[0])
        self._numbers.reserve(known + rows.shape[0])
        numbers = self._numbers.number(rows, self._columns)
        if self._numbers.count > known:
            self._make_room()
            new = self._numbers.rows[known : self._numbers.count].copy()
            stored = self._backend.stored(self._relation, FactSet(new))
            if len(stored):
                there = self._numbers.find(ids_of(stored), self._columns)
                for flags in (self._is_there, self._is_first, self._was_there):
                    flags[there] = True
        return numbers.astype(np.int64)

    def settle(self, iteration: int, asked: _Asked) -> tuple[Numbers, Flags]:
        """The facts that come or go in an iteration where counts differ from the one before, and which of them come."""
        facts, added, deleted = self._summed(asked)
        self._steps.append(Steps(facts, np.full(facts.size, iteration, np.int64), added, deleted))
        self._added[facts] += added
        self._deleted[facts] += deleted
        is_added, is_deleted = self._added[facts] > 0, self._deleted[facts] > 0
        is_there = np.where(is_added != is_deleted, is_added, self._is_there[facts])
        moves = is_there != self._is_there[facts]
        facts, comes = facts[moves], is_there[moves]
        self._is_there[facts] = comes
        self._was_there[facts] = True
        return facts, comes

    def rows(self, facts: Numbers) -> Rows:
        """The rows of these facts."""
        return self._numbers.rows[facts]

    def gone(self) -> FactSet:
        """The facts that were there for a while."""
        count = self._numbers.count
        return FactSet(self.rows(np.flatnonzero(self._was_there[:count] & ~self._is_there[:count])))

    def chains(self) -> Chains:
        """The chains of all facts that were met."""
        count = self._numbers.count
        return Chains.of(self._numbers.rows[:count], self._is_first[:count], Records.of(Steps.of(self._steps)))

    def _summed(self, asked: _Asked) -> tuple[Numbers, Numbers, Numbers]:
        """Each fact once, without those whose operations come to nothing."""
        facts = np.concatenate(asked.facts)
        jit.work(facts.size)
        out_facts, out_added, out_deleted = (np.empty(facts.size, np.int64) for _ in "123")
        found = sum_by_fact(
            facts,
            np.concatenate(asked.added),
            np.concatenate(asked.deleted),
            self._places,
            out_facts,
            out_added,
            out_deleted,
        )
        return out_facts[:found], out_added[:found], out_deleted[:found]

    def _make_room(self) -> None:
        if self._numbers.count > self._added.size:
            size = 2 * self._numbers.count
            self._places = np.full(size, -1, np.int64)
            self._added, self._deleted = padded(self._added, size), padded(self._deleted, size)
            self._is_there, self._is_first = padded(self._is_there, size), padded(self._is_first, size)
            self._was_there = padded(self._was_there, size)


class _Run:
    def __init__(
        self, state: State, rules: Sequence[ProductionRule], plans: Sequence[Derivations], limits: Limits
    ) -> None:
        self._state = state
        self._rules = rules
        self._plans = plans
        self._limits = limits
        self._places = {rule.id: place for place, rule in enumerate(rules)}
        widths = {asked.relation: max(1, len(asked.columns)) for each in plans for asked in each.asked}
        self._ledgers = {name: _Ledger(name, width, state.backend) for name, width in widths.items()}
        self._moves: list[dict[str, tuple[Numbers, Flags]]] = []
        self._derivations: list[Numbers] = []

    def run(self) -> FirstRun:
        began, rows = monotonic(), 0
        repetition = Repetition()
        asked = self._asked(self._state.all(self._plans), {})
        while moves := self._settle(asked):
            self._moves.append(moves)
            rows += sum(int(np.count_nonzero(comes)) for _, comes in moves.values())
            length = repetition.length_after({relation: facts for relation, (facts, _) in moves.items()})
            cycles = len(self._moves)
            if length is not None:
                raise oscillation(cycles, [self._firing(number) for number in range(cycles - length, cycles)])
            check_cycles(CycleUsage(cycles, rows, monotonic() - began), self._limits, list(self._fired(cycles - 1)))
            asked = self._asked(*self._state.turn(self._nets(cycles - 1), self._plans))
        return FirstRun(self._course(), {name: ledger.gone() for name, ledger in self._ledgers.items()})

    def _asked(self, begun: Found, ended: Found) -> dict[str, _Asked]:
        """What derivations ask for, those that ended taken from those that began; their number is noted."""
        counts = self._derivations[-1].copy() if self._derivations else np.zeros(len(self._rules), np.int64)
        asked: dict[str, _Asked] = {}
        for plans in self._plans:
            for times, found in ((1, begun), (-1, ended)):
                if plans.relation in found:
                    rows = ids_of(found[plans.relation])
                    counts[self._places[plans.rule.id]] += times * rows.shape[0]
                    for head in plans.asked:
                        facts = self._ledgers[head.relation].number(part_of(rows, head.columns))
                        asked.setdefault(head.relation, _Asked()).take(facts, head.sign, times)
        self._derivations.append(counts)
        return asked

    def _settle(self, asked: Mapping[str, _Asked]) -> dict[str, tuple[Numbers, Flags]]:
        """The facts that come and go in the iteration at hand, by relation."""
        moves = {relation: self._ledgers[relation].settle(len(self._moves), some) for relation, some in asked.items()}
        return {relation: moved for relation, moved in moves.items() if moved[0].size}

    def _nets(self, iteration: int) -> dict[str, Net]:
        return {
            relation: net_of(self._ledgers[relation].rows(facts), comes)
            for relation, (facts, comes) in self._moves[iteration].items()
        }

    def _fired(self, iteration: int) -> Iterator[ProductionRule]:
        return (rule for rule, count in zip(self._rules, self._derivations[iteration], strict=True) if count)

    def _firing(self, iteration: int) -> Firing:
        fired = tuple(Fired(rule, ()) for rule in self._fired(iteration))
        return firing(iteration, fired, self._nets(iteration), self._state.backend)

    def _course(self) -> Course:
        chains = {name: ledger.chains() for name, ledger in self._ledgers.items()}
        moved = [sum(facts.size for facts, _ in moves.values()) for moves in self._moves]
        return Course(chains, np.array(moved, np.int64), np.array(self._derivations))


def firing(iteration: int, fired: tuple[Fired, ...], nets: Mapping[str, Net], backend: Backend) -> Firing:
    """What an iteration did, as it is told to people."""
    came = {name: backend.table(name, net.came) for name, net in nets.items() if len(net.came)}
    went = {name: backend.table(name, net.went) for name, net in nets.items() if len(net.went)}
    return Firing(iteration + 1, fired, came, went)
