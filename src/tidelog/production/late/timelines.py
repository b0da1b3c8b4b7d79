"""What late news has to do with: facts and derivations that were met, as they are in one iteration after the other.

Whether a derivation holds in an iteration is read off the chains of its facts. So no state has to be gone back to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidelog.backends.protocol import SingleJoin
from tidelog.facts.membership import Rows, RowSet
from tidelog.kernels import jit
from tidelog.kernels.late_derivations import follow_join, meet_derivations
from tidelog.kernels.late_news import arrive, ask, go_on, settle, take_records
from tidelog.language.syntax_tree import Sign
from tidelog.production.late.chain_columns import Flags, Numbers, Records, Steps, ranges
from tidelog.production.late.course import padded
from tidelog.production.late.derivations import Asked, Derivations, Flip
from tidelog.production.late.late_run import LateRun

_ROOM = 256


@dataclass(frozen=True, slots=True)
class Question:
    """A join that finds derivations of facts of `relation`."""

    plans: Derivations
    relation: str
    join: SingleJoin


class Timelines:
    """Facts of all relations and derivations, numbered as they are met, as they are in the iteration at hand.

    What the arrays of facts say is told in `kernels.late_news`; `is_expanded` are facts whose derivations were met,
    `is_asked` those that derivations ask for. All arrays have room for more facts, of which nothing is true.
    """

    def __init__(self, run: LateRun, rules: Mapping[int, int]) -> None:
        """`rules` has the number of each rule, by its id."""
        self._run = run
        self._rules = rules
        self._names = sorted(run.relations)
        self._widths = [run.width(name) for name in self._names]
        self._width = 1 + max(self._widths, default=0)
        self._numbers = RowSet(self._width, _ROOM)
        self._whole_fact = np.arange(self._width)
        self._fact, self._number = np.empty((1, self._width), np.int32), np.empty(1, np.int32)
        self._kinds = {each.plans.relation: self._kind_of(each.plans) for each in run.ever_there.by_chains}
        self._looked_up = 0
        self.is_there, self.differs, self.is_expanded, self.is_asked = (np.zeros(_ROOM, np.bool_) for _ in "1234")
        self._is_first = np.zeros(_ROOM, np.bool_)
        self._begins, self._at, self._ends = (np.zeros(_ROOM, np.int64) for _ in "123")
        self.more, self._noted, self._news = (np.zeros((_ROOM, 2), np.int64) for _ in "123")
        self._moved = np.zeros(_ROOM, np.int8)
        self._records, self._record_count = np.zeros((_ROOM, 4), np.int64), 0
        self._coming = np.zeros((0, 4), np.int64)
        self._derivations = 0
        uses = max((len(each.flips) for each in run.plans), default=0)
        asks = max((len(each.asked) for each in run.plans), default=0)
        self._uses, self._asks = np.full((_ROOM, uses), -1, np.int64), np.full((_ROOM, asks), -1, np.int64)
        self._rule_of = np.zeros(_ROOM, np.int64)
        self._taken = np.zeros(3, np.int64)
        self._steps, self._spans = np.zeros((_ROOM, 4), np.int64), np.zeros((_ROOM, 3), np.int64)
        self._counts = np.zeros((_ROOM, len(rules)), np.int64)

    @property
    def count(self) -> int:
        """How many facts were met."""
        return self._numbers.count

    def meet(self, relation: str, rows: Rows) -> Numbers:
        """The numbers of these facts; those that are new wait until they are looked up."""
        named = np.zeros((rows.shape[0], self._width), np.int32)
        named[:, 0] = self._names.index(relation)
        named[:, 1 : 1 + rows.shape[1]] = rows
        jit.work(rows.shape[0])
        numbers = self._numbers.number(named, self._whole_fact)
        self._make_room(self.count)
        return numbers.astype(np.int64)

    def look_up(self, iteration: int) -> None:
        """Makes facts that wait for it what they are in an iteration of the old run."""
        if self._looked_up == self.count:
            return
        new = np.arange(self._looked_up, self.count)
        self._looked_up = self.count
        for relation, (of_it, rows) in self.by_relation(new).items():
            facts = new[of_it]
            is_first, records = self._run.look_up(relation, rows)
            count = self._record_count + records.facts.size
            self._records = _with_room(self._records, count)
            take_records(
                iteration, facts, is_first, records.facts, records.first, records.last, records.added, records.deleted,
                self._records, self._record_count, self.is_there, self._is_first, self._begins, self._at, self._ends,
            )  # fmt: skip
            self._record_count = count

    def derive(self, plans: Derivations, found: Rows) -> None:
        """Takes derivations in that were not met before, with the facts that they use and ask for."""
        kind, facts, size = self._kinds[plans.relation], self._numbers, found.shape[0]
        known = kind.met.count
        self._make_room_to_derive(kind, size)
        counts = meet_derivations(
            found, np.empty(size, np.int32), kind.met.slots, kind.met.rows, known, kind.whole_row, kind.places,
            kind.signs, len(plans.flips), self._rules[plans.rule.id], facts.slots, facts.rows, facts.count, self._fact,
            self._whole_fact, self._derivations, self._uses, self._asks, self._rule_of, self.is_asked,
        )  # fmt: skip
        kind.met.count, facts.count = int(counts[0]), int(counts[1])
        self._derivations += kind.met.count - known

    def follow(self, joins: Sequence[Question], facts: Numbers, most: int) -> None:
        """Takes in all derivations of `facts`, and of at most so many that derivations ask for, and so on."""
        self.is_expanded[facts] = True
        queue, queued = _with_room(facts, facts.size + min(most, _ROOM)), facts.size
        cursors = [0] * len(joins)
        while min(cursors, default=queued) < queued:
            for place, join in enumerate(joins):
                while cursors[place] < queued:
                    cursors[place], queued = self._follow_one(join, queue, cursors[place], queued, facts.size + most)
                    if cursors[place] < queued:
                        self._make_room_to_derive(self._kinds[join.plans.relation], _ROOM + self._derivations)
                        queue = _with_room(queue, 2 * queue.size)

    def _follow_one(self, question: Question, queue: Numbers, cursor: int, queued: int, most: int) -> tuple[int, int]:
        """How far in the queue one join has come, and how many facts are in it by then."""
        plans, join = question.plans, question.join
        kind, facts = self._kinds[plans.relation], self._numbers
        known = kind.met.count
        cursor, queued, derivations, count = follow_join(
            queue, cursor, queued, most, self.is_expanded, self._names.index(question.relation), join.key, join.starts,
            join.counts, join.payload, join.keep, join.take, kind.row, self._number, kind.met.slots, kind.met.rows,
            known, kind.whole_row, kind.places, kind.signs, len(plans.flips), self._rules[plans.rule.id], facts.slots,
            facts.rows, facts.count, self._fact, self._whole_fact, self._derivations, self._uses, self._asks,
            self._rule_of, self.is_asked,
        )  # fmt: skip
        kind.met.count, facts.count = int(derivations), int(count)
        self._derivations += kind.met.count - known
        return int(cursor), int(queued)

    def _make_room_to_derive(self, kind: _Kind, size: int) -> None:
        """Makes room for so many derivations more, and their facts."""
        facts = self._numbers.count + size * kind.signs.size
        kind.met.reserve(kind.met.count + size)
        self._numbers.reserve(facts)
        self._make_room(facts)
        if self._derivations + size > self._rule_of.size:
            room = 2 * (self._derivations + size)
            self._uses, self._asks = _with_room(self._uses, room, -1), _with_room(self._asks, room, -1)
            self._rule_of = _with_room(self._rule_of, room)
        jit.work(size * kind.signs.size)

    def _kind_of(self, plans: Derivations) -> _Kind:
        facts: tuple[Flip | Asked, ...] = (*plans.flips, *plans.asked)
        signs = [*(use.is_negated for use in plans.flips), *(head.sign is Sign.DELETE for head in plans.asked)]
        places = np.full((len(facts), self._width), ~0, np.int64)
        for place, fact in zip(places, facts, strict=True):
            place[0] = ~self._names.index(fact.relation)
            place[1 : 1 + len(fact.columns)] = fact.columns
        width = max(1, plans.schema.arity)
        row = np.empty((1, width), np.int32)
        return _Kind(RowSet(width), np.arange(width), row, places, np.array(signs, np.int64))

    def take_news(self, steps: Steps) -> None:
        """Takes in what others ask for."""
        columns = (steps.facts, steps.iterations, steps.added, steps.deleted)
        coming = np.concatenate([self._coming, np.stack(columns, axis=1)])
        self._coming = coming[np.argsort(coming[:, 1], kind="stable")]

    def go_on(self, number: int, until: int, steady: int) -> tuple[int, int]:
        """Where it gets from an iteration, and why it stops there (see `kernels.late_news`)."""
        jit.work(self.count + self._derivations)
        reached, why = go_on(
            number, until, steady, self.count, self._derivations, self.is_there, self.differs, self.is_expanded,
            self._at, self._ends, self._records, self._coming, self._taken, self._news, self.more, self._noted,
            self._uses, self._asks, self._rule_of, self._moved, self._steps, self._spans, self._counts,
        )  # fmt: skip
        return int(reached), int(why)

    def make_room(self) -> None:
        """Makes room for what is said of the next iterations."""
        steps, spans = self._taken[1] + self.count, self._taken[2] + 1
        self._steps = _with_room(self._steps, 2 * int(steps))
        self._spans = _with_room(self._spans, 2 * int(spans))
        self._counts = _with_room(self._counts, 2 * int(spans))

    def arrive(self, number: int) -> bool:
        """Makes everything as it is in an iteration; whether all that differs was met with its derivations."""
        return bool(
            arrive(
                number, self.count, self.differs, self.is_expanded, self._at, self._ends, self._records, self._coming,
                self._taken, self._news,
            )
        )  # fmt: skip

    def ask(self) -> Numbers:
        """Counts what the derivations ask for; a place for how many more of each rule hold."""
        self.make_room()
        ask(
            self.count, self._derivations, self.is_there, self.differs, self.more, self._uses, self._asks,
            self._rule_of, self._counts, self._taken,
        )  # fmt: skip
        counts: Numbers = self._counts[self._taken[2]]
        return counts

    def ask_more(self, sign: Sign, facts: Numbers, times: int) -> None:
        """Counts so many operations more in the iteration at hand."""
        np.add.at(self.more[:, 0 if sign is Sign.INSERT else 1], facts, times)

    def settle(self, number: int) -> None:
        """Goes behind the iteration at hand."""
        self.make_room()
        settle(
            number, self.count, self.is_there, self.differs, self._at, self._ends, self._records, self._news,
            self.more, self._noted, self._moved, self._steps, self._spans, self._taken,
        )  # fmt: skip

    def stop_asking(self, number: int) -> None:
        """Notes that rules ask for no more than in the old run from an iteration on."""
        noted = self._noted[: self.count]
        some = np.flatnonzero(noted.any(axis=1))
        end = int(self._taken[1]) + some.size
        self._steps = _with_room(self._steps, end)
        self._steps[self._taken[1] : end] = np.column_stack([some, np.full(some.size, number), -noted[some]])
        self._taken[1] = end

    @property
    def is_different(self) -> bool:
        """Whether something is or will be different from the old run."""
        return bool(self.differs.any()) or self._taken[0] < self._coming.shape[0]

    @property
    def spans(self) -> tuple[Numbers, Numbers]:
        """Iterations that are alike: first, behind the last, how many more facts move in the first; and for each how
        many more derivations of each rule hold."""
        return self._spans[: self._taken[2]], self._counts[: self._taken[2]]

    @property
    def last_counts(self) -> Numbers:
        """How many more derivations of each rule hold in the last iteration."""
        counts: Numbers = self._counts[self._taken[2] - 1]
        return counts

    def moved(self) -> tuple[Numbers, Flags]:
        """The facts that moved in the last iteration, and which of them came."""
        facts = self._moved[: self.count].nonzero()[0]
        return facts, self._moved[facts] == 1

    def by_relation(self, facts: Numbers) -> Mapping[str, tuple[Flags, Rows]]:
        """For each relation that some of `facts` are of, which of them those are, and their rows."""
        if not facts.size:
            return {}
        rows = self._numbers.rows[facts]
        if (rows[:, 0] == rows[0, 0]).all():
            number = int(rows[0, 0])
            some = np.ascontiguousarray(rows[:, 1 : 1 + self._widths[number]])
            return {self._names[number]: (np.ones(facts.size, np.bool_), some)}
        found = {}
        relations = rows[:, 0]
        for number in np.bincount(relations).nonzero()[0].tolist():
            of_it = relations == number
            found[self._names[number]] = of_it, rows[of_it, 1 : 1 + self._widths[number]]
        return found

    def of_old_run(self, facts: Numbers) -> tuple[Flags, Records]:
        """Which of `facts` the old run has at the start, and their records, by place."""
        begins, counts = self._begins[facts], self._ends[facts] - self._begins[facts]
        first, last, added, deleted = self._records[ranges(begins, counts)].T
        return self._is_first[facts], Records(np.repeat(np.arange(facts.size), counts), first, last, added, deleted)

    def asked(self) -> Steps:
        """What rules ask for more, or less, than in the old run."""
        facts, iterations, added, deleted = self._steps[: self._taken[1]].T
        return Steps(facts, iterations, added, deleted)

    def _make_room(self, facts: int) -> None:
        """Makes room for so many facts."""
        if facts <= self.differs.size:
            return
        size = 2 * facts
        self.is_there, self.differs = padded(self.is_there, size), padded(self.differs, size)
        self.is_expanded, self.is_asked = padded(self.is_expanded, size), padded(self.is_asked, size)
        self._is_first, self._moved = padded(self._is_first, size), padded(self._moved, size)
        self._begins, self._at, self._ends = (padded(each, size) for each in (self._begins, self._at, self._ends))
        self.more, self._noted, self._news = (padded(each, size) for each in (self.more, self._noted, self._news))


@dataclass(frozen=True, slots=True)
class _Kind:
    """The derivations of one alternative that were met, and how the facts are made of them that they use and ask for.

    `row` is room for one. See `kernels.late_derivations`.
    """

    met: RowSet
    whole_row: Numbers
    row: Rows
    places: Numbers
    signs: Numbers


def _with_room(values: Numbers, size: int, empty: int = 0) -> Numbers:
    """`values`, with room for at least `size` of them."""
    if values.shape[0] >= size:
        return values
    more = np.full((2 * size - values.shape[0], *values.shape[1:]), empty, np.int64)
    return np.concatenate([values, more])
