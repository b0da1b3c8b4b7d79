"""What late news has to do with: facts and derivations that were met, as they are in one iteration after the other.

The derivations that a fact could ever take part in are found by plans over all facts that were ever there. Whether one
holds in an iteration is read off the chains of its facts. So no state has to be gone back to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tidelog.facts.membership import Rows, RowSet
from tidelog.kernels import jit
from tidelog.language.syntax_tree import Sign
from tidelog.production.late.chain_columns import OPEN, Flags, Numbers, Records, Steps, status_before
from tidelog.production.late.course import padded
from tidelog.production.late.derivations import Asked, Derivations, Flip
from tidelog.production.late.first_run import part_of
from tidelog.production.late.late_run import LateRun


class MetFacts:
    """Facts of one relation, numbered as they are met, as they are in the iteration at hand.

    `is_there` says which the old run has before the iteration, `differs` where the new one does not agree. Counts are
    how often a fact is added and deleted, in two columns: `counts` in the old run, and how much more it is in the new
    one by rules (`more`) and by others (`news`). All arrays have room for more facts, of which nothing is true.
    `version` is another number whenever something about who is there may be different.
    """

    def __init__(self, run: LateRun, relation: str) -> None:
        self._run = run
        self._relation = relation
        self._numbers = RowSet(run.width(relation))
        self._columns = np.arange(run.width(relation))
        self.is_there: Flags = np.zeros(0, np.bool_)
        self.differs: Flags = np.zeros(0, np.bool_)
        self._is_expanded: Flags = np.zeros(0, np.bool_)
        self._counts: Numbers = np.zeros((0, 2), np.int64)
        self._news: Numbers = np.zeros((0, 2), np.int64)
        self._noted: Numbers = np.zeros((0, 2), np.int64)
        self.more: Numbers = np.zeros((0, 2), np.int64)
        self._coming: dict[int, list[tuple[Numbers, Numbers]]] = {}
        self._coming_news: dict[int, list[tuple[Numbers, Numbers]]] = {}
        self.asked: list[Steps] = []
        self.version = 0
        self._is_acted_on = False

    @property
    def count(self) -> int:
        return self._numbers.count

    def rows(self, facts: Numbers) -> Rows:
        """The rows of facts."""
        return self._numbers.rows[facts]

    def meet(self, rows: Rows, iteration: int) -> Numbers:
        """The numbers of these facts; those that are new are looked up."""
        known = self.count
        jit.work(rows.shape[0])
        numbers = self._numbers.number(rows, self._columns).astype(np.int64)
        if self.count > known:
            is_first, records = self._run.look_up(self._relation, self._numbers.rows[known : self.count].copy())
            self._make_room()
            self.is_there[known : self.count] = status_before(iteration, is_first, records)
            if records.facts.size:
                self._take(records.of_facts(np.arange(known, self.count)), iteration)
        return numbers

    def take_news(self, steps: Steps) -> None:
        """Takes in what others ask for."""
        self._is_acted_on = True
        for number, some in _by_iteration(steps.iterations):
            counts = np.stack([steps.added[some], steps.deleted[some]], axis=1)
            self._coming_news.setdefault(number, []).append((steps.facts[some], counts))

    def go_to(self, iteration: int) -> None:
        """Makes the counts those of an iteration; all before it that change some have been gone to."""
        for facts, counts in self._coming.pop(iteration, ()):
            self._counts[facts] = counts
        for facts, counts in self._coming_news.pop(iteration, ()):
            np.add.at(self._news, facts, counts)
        if self._is_acted_on:
            self.more = np.zeros_like(self.more)

    def ask(self, sign: Sign, facts: Numbers, times: Numbers | int) -> None:
        """Counts so many operations more, by rules, in the iteration at hand."""
        self._is_acted_on = True
        np.add.at(self.more[:, 0 if sign is Sign.INSERT else 1], facts, times)

    def differ(self, facts: Numbers) -> None:
        """Makes facts differ."""
        self.differs[facts] = True
        self.version += 1

    @property
    def next_change(self) -> int:
        """The next iteration in which counts change, whatever rules ask for in the new run."""
        return min((*self._coming, *self._coming_news), default=OPEN)

    @property
    def next_news(self) -> int:
        """The next iteration in which others ask for something else."""
        return min(self._coming_news, default=OPEN)

    def newly_differing(self) -> Numbers:
        """The facts that differ for the first time."""
        new: Numbers = (self.differs & ~self._is_expanded).nonzero()[0]
        self._is_expanded[new] = True
        return new

    def note(self, iteration: int) -> None:
        """Notes where rules ask for more, or less, than they do in the iteration before."""
        some = (self.more != self._noted).any(axis=1).nonzero()[0] if self._is_acted_on else _NONE
        if some.size:
            steps = self.more[some] - self._noted[some]
            self.asked.append(Steps(some, np.full(some.size, iteration, np.int64), steps[:, 0], steps[:, 1]))
            self._noted = self.more

    def settle(self) -> tuple[int, Numbers, Flags]:
        """Goes behind the iteration at hand (COMPUTE_NEW).

        Returns how many facts the old run moves in it, and those that the new run moves, with which of them come.
        """
        if not self._is_acted_on:
            return 0, _NONE, np.zeros(0, np.bool_)
        was, now = self.is_there, self.is_there ^ self.differs
        will, after = _settled(was, self._counts), _settled(now, self._counts + self.more + self._news)
        moved, old = (now != after).nonzero()[0], int(np.count_nonzero(was != will))
        if moved.size or old:
            self.is_there, self.differs = will, after ^ will
            self.version += 1
        return old, moved, after[moved]

    def _take(self, records: Records, iteration: int) -> None:
        """Takes in the old counts in an iteration, and how they will change."""
        self._is_acted_on = True
        counts = np.stack([records.added, records.deleted], axis=1)
        now = (records.first <= iteration) & (records.last > iteration)
        self._counts[records.facts[now]] = counts[now]
        ends = (records.last > iteration) & (records.last < OPEN)
        begins = records.first > iteration
        if not (ends.any() or begins.any()):
            return
        # What begins where something ends comes behind it, and holds.
        when = np.concatenate([records.last[ends], records.first[begins]])
        facts = np.concatenate([records.facts[ends], records.facts[begins]])
        later = np.concatenate([np.zeros_like(counts[ends]), counts[begins]])
        for number, some in _by_iteration(when):
            self._coming.setdefault(number, []).append((facts[some], later[some]))

    def _make_room(self) -> None:
        if self.count <= self.differs.size:
            return
        size = 2 * self.count
        self.is_there, self.differs = padded(self.is_there, size), padded(self.differs, size)
        self._is_expanded = padded(self._is_expanded, size)
        self._counts, self._news = padded(self._counts, size), padded(self._news, size)
        self._noted, self.more = padded(self._noted, size), padded(self.more, size)


class MetDerivations:
    """The derivations of one alternative of a rule that facts that differ could take part in."""

    def __init__(self, plans: Derivations, facts: Mapping[str, MetFacts]) -> None:
        self._plans = plans
        self._facts = facts
        width = max(1, plans.schema.arity)
        self._numbers = RowSet(width)
        self._columns = np.arange(width)
        self._places: list[Numbers] = [_NONE for _ in (*plans.flips, *plans.asked)]
        self._counted: tuple[tuple[int, ...], Numbers, Numbers] | None = None

    def meet(self, rows: Rows, iteration: int) -> None:
        """Takes derivations in, with the facts that they use and ask for."""
        known = self._numbers.count
        jit.work(rows.shape[0])
        self._numbers.number(rows, self._columns)
        if self._numbers.count > known:
            self._counted = None
            self._take(self._numbers.rows[known : self._numbers.count].copy(), iteration)

    def _take(self, new: Rows, iteration: int) -> None:
        """Takes in the facts that new derivations use and ask for, all of one relation together."""
        places: tuple[Flip | Asked, ...] = (*self._plans.flips, *self._plans.asked)
        for relation in dict.fromkeys(place.relation for place in places):
            some = [number for number, place in enumerate(places) if place.relation == relation]
            rows = np.concatenate([part_of(new, places[number].columns) for number in some])
            facts = self._facts[relation].meet(rows, iteration)
            size = new.shape[0]
            for place, number in enumerate(some):
                found = facts[place * size : (place + 1) * size]
                self._places[number] = np.concatenate([self._places[number], found])

    def count_differences(self) -> int:
        """How many more hold in the new run; what they ask for is added to the counts of the facts."""
        flipped, changes = self._flipped()
        if not flipped.size:
            return 0
        for head, facts in zip(self._plans.asked, self._places[len(self._plans.flips) :], strict=True):
            self._facts[head.relation].ask(head.sign, facts[flipped], changes)
        return int(changes.sum())

    def _flipped(self) -> tuple[Numbers, Numbers]:
        """The derivations that hold in one of the runs only, and 1 for those of the new one, -1 for the others."""
        versions = tuple(self._facts[flip.relation].version for flip in self._plans.flips)
        if self._counted is None or self._counted[0] != versions:
            self._counted = versions, *self._count_flipped()
        return self._counted[1:]

    def _count_flipped(self) -> tuple[Numbers, Numbers]:
        differs = np.zeros(self._numbers.count, np.bool_)
        uses = list(zip(self._plans.flips, self._places, strict=False))
        for use, facts in uses:
            differs |= self._facts[use.relation].differs[facts]
        some: Numbers = differs.nonzero()[0]
        was, now = np.ones(some.size, np.bool_), np.ones(some.size, np.bool_)
        for use, facts in uses:
            met, used = self._facts[use.relation], facts[some]
            is_there = met.is_there[used]
            was &= is_there ^ use.is_negated
            now &= is_there ^ met.differs[used] ^ use.is_negated
        flipped = (was != now).nonzero()[0]
        return some[flipped], np.where(now[flipped], 1, -1)


_NONE: Numbers = np.empty(0, np.int64)


def _settled(is_there: Flags, counts: Numbers) -> Flags:
    """What is there after an iteration with these counts."""
    is_asked = counts > 0
    settled: Flags = np.where(is_asked[:, 0] != is_asked[:, 1], is_asked[:, 0], is_there)
    return settled


def _by_iteration(iterations: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Each iteration with its places, in order."""
    order = np.argsort(iterations, kind="stable")
    numbers, begins = np.unique(iterations[order], return_index=True)
    return zip(numbers.tolist(), np.split(order, begins)[1:], strict=True)
