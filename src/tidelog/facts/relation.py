"""A relation's rows: append-only, so that the row number is the age and a delta is a range of rows.

0 ……………… old ……………… | …… delta …… | …… staged ……
                      delta_start    stored          count

A row that is removed stays where it is, dead, until so many are that the others are moved together.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tidelog.facts.fact_set import FactSet
from tidelog.facts.growing import GrowingArray
from tidelog.facts.large_arrays import empty
from tidelog.facts.membership import IdSet, Mask, PairSet, Rows, RowSet, chosen, membership_for
from tidelog.facts.numbering import Numbering, numbering_of
from tidelog.facts.search import numbers_among
from tidelog.kernels import jit
from tidelog.kernels.ages import ages_of_rows

Numbers = npt.NDArray[np.int32]

_SMALLEST = 64
_GATHER = 1 << 16
_GROWTH = 64
_SPARE = 1 << 28
_MANY_DEAD = 1 << 12
_MANY_ERAS = 1 << 14
_MANY_SCANS = 0.9
_MANY_AT_ONCE = 1 / 8


class Clock:
    """Gives ages to rows in the order in which they come, in all relations that share it. An era is a round."""

    def __init__(self) -> None:
        self.now = 1
        self.eras: list[int] = []

    def pass_for(self, rows: int) -> int:
        """The age of the first of so many rows."""
        first = self.now
        self.now += rows
        return first

    def begin_era(self) -> None:
        """Rows that come from now on may follow from those before."""
        if not self.eras or self.eras[-1] < self.now:
            self.eras.append(self.now)
            if len(self.eras) > _MANY_ERAS:
                self.eras = self.eras[::2]


class Relation:
    """Rows of ids without duplicates. `width` is the number of columns, but 1 for a relation without any. An empty
    `membership` may be given to begin with."""

    def __init__(
        self, arity: int, clock: Clock | None = None, membership: IdSet | PairSet | RowSet | None = None
    ) -> None:
        self.arity = arity
        self.width = max(1, arity)
        self._clock = clock or Clock()
        self.generation = 0
        self._membership: IdSet | PairSet | RowSet | None = None
        self.clear()
        self._membership = membership

    def clear(self) -> None:
        """Forgets every row. The next ones find as much room as these had."""
        self._room = () if self._membership is None else (self._membership.room,)
        self.rows: Rows = np.empty((_SMALLEST, self.width), np.int32)
        self.count = self.stored = self.delta_start = 0
        self._membership = None
        self._numbering: Numbering | None = None
        self._scanned = 0
        self._last_found: tuple[FactSet, Numbers] | None = None
        self._waiting: list[Rows] = []
        self._waiting_rows = 0
        self._dead: Mask | None = None
        self._removals = GrowingArray()
        self.generation += 1
        self.set_ages([0], [0])

    @property
    def size(self) -> int:
        """How many rows are stored."""
        return self.stored - self.removed

    @property
    def removals(self) -> Numbers:
        """The numbers of the rows that were removed, in that order."""
        return self._removals.values

    @property
    def removed(self) -> int:
        """How many rows were removed."""
        return self._removals.size

    @property
    def membership(self) -> IdSet | PairSet | RowSet:
        """The set of all rows, stored and staged. It is made when somebody asks, because rows that are loaded once
        and only joined need none."""
        if self._membership is None:
            # Threads may ask at once: nobody may see the set before it is full.
            made = membership_for(self.width, *self._room)
            if not self.count:
                self._membership = made
                return made
            if isinstance(made, RowSet):
                self._enter_all(made)
            elif self._dead is None:
                # The rows are all new to the set, so that each is written to where it stands.
                self._reserve(self.count + 1)
                made.add(self.rows[: self.count], self.rows, 0)
            else:
                living = self.living(0, self.count)
                made.add(living, np.empty((living.shape[0] + 1, self.width), np.int32), 0)
            self._membership = made
        return self._membership

    @property
    def has_membership(self) -> bool:
        """Whether the set of all rows is at hand already."""
        return self._membership is not None

    def numbers_of(self, facts: FactSet) -> Numbers:
        """The numbers of those of `facts` that are stored, in any order."""
        if self._last_found is None or self._last_found[0] is not facts:
            if self._can_number(len(facts)):
                numbers = self.numbering.find(np.ascontiguousarray(facts.rows), np.arange(self.width))
                numbers = numbers[numbers >= 0]
            else:
                numbers = self._scan(facts)
            self._last_found = facts, numbers
        return self._last_found[1]

    def stored_of(self, facts: FactSet) -> FactSet:
        """Those of `facts` that are stored. Their numbers are known if they are asked for next."""
        numbers = self.numbers_of(facts)
        if numbers.size == len(facts):
            return facts
        found = FactSet(self.rows[numbers])
        self._last_found = found, numbers
        return found

    def _can_number(self, count: int) -> bool:
        """Whether to look for each of so many rows, rather than to look at all rows that are stored.

        What finds a row is made only when rows have been looked for often, and is not worth it for many at once.
        """
        if isinstance(self._membership, RowSet):
            return True
        often = self._numbering is not None or self._scanned >= _MANY_SCANS * self.count > 0
        return often and not self.are_many(count)

    def are_many(self, count: int) -> bool:
        """Whether it is quicker to read all rows once than to look for so many of them."""
        return count > max(_SMALLEST, _MANY_AT_ONCE * self.count)

    def _scan(self, facts: FactSet) -> Numbers:
        self._scanned += self.stored
        jit.work(self.stored)
        numbers = numbers_among(self.rows[: self.stored], facts)
        return numbers if self._dead is None else numbers[~self._dead[numbers]]

    def among(self, facts: FactSet) -> FactSet:
        """Those of `facts` that it has, stored or staged, found by a look at all its rows."""
        self.settle()
        rows = self.living(0, self.count)
        jit.work(rows.shape[0])
        return FactSet(rows[facts.membership.contains(rows)])

    @property
    def numbering(self) -> Numbering:
        """What finds the number of a row. It is made when first asked for."""
        if self.width > 2:
            held = self.membership
            assert isinstance(held, RowSet)
            return held
        if self._numbering is None:
            self._numbering, self._scanned = numbering_of(self.rows[: self.count], self.dead(0, self.count)), 0
        return self._numbering

    def _enter_all(self, numbering: RowSet) -> None:
        dead = self._dead
        numbers = np.arange(self.count) if dead is None else np.flatnonzero(~dead[: self.count])
        numbering.enter(self.rows[: self.count], numbers)
        self.rows = numbering.rows
        self._reserve(self.count)

    def stage(self, rows: Rows, *, lent: bool = True) -> None:
        """Takes rows derived in this round; small batches wait until there are enough of them to be worth a look.

        An array that is only lent is free again afterwards: what waits is a copy.
        """
        if not rows.shape[0]:
            return
        is_enough = self._waiting_rows + rows.shape[0] >= _GATHER
        self._waiting.append(rows.copy() if lent and not is_enough else rows)
        self._waiting_rows += rows.shape[0]
        if is_enough:
            self.settle()

    @property
    def is_empty(self) -> bool:
        """Whether it never had a row since it was made or cleared."""
        return not self.count and not self._waiting_rows

    def stage_different(self, rows: Rows) -> None:
        """Takes rows derived in this round into an empty relation; they are known to be all different."""
        assert self.is_empty
        self._membership = self._numbering = None
        self._reserve(rows.shape[0] + 1)
        self.rows[: rows.shape[0]] = rows
        self.count = rows.shape[0]
        self._grow_older(0)

    def settle(self) -> None:
        """Makes every row taken so far staged: new ones are appended, known ones dropped."""
        if not self._waiting_rows:
            return
        rows = self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        self._last_found = None
        jit.work(rows.shape[0])
        held = self.membership
        if isinstance(held, RowSet):
            held.number(np.ascontiguousarray(rows), np.arange(self.width))
            self.take_numbered()
            return
        self._reserve(self.count + rows.shape[0] + 1)
        self.pushed(held.add(np.ascontiguousarray(rows), self.rows, self.count))

    def take_numbered(self) -> None:
        """Notes the rows that the set of wide rows was given: they stand there as they are numbered here."""
        held = self.membership
        assert isinstance(held, RowSet)
        self.rows = held.rows
        self._reserve(held.count)
        self.pushed(held.count)

    def pushing(self, room: int) -> Rows:
        """The rows, with room for that many more behind those that are there, so that others can be written there."""
        self.settle()
        self._reserve(self.count + room)
        return self.rows

    def pushed(self, count: int) -> None:
        """Notes that rows were written up to number `count`; the set has them already."""
        before, self.count = self.count, count
        self._last_found = None
        if self._numbering is not None and not self._numbering.go_on(self.rows[before:count], before):
            self._numbering = None
        self._grow_older(before)

    def advance(self) -> int:
        """Makes what is staged the delta, and the former delta old; returns the size of the new delta."""
        self.settle()
        self.delta_start, self.stored = self.stored, self.count
        return self.stored - self.delta_start

    def insert_different(self, batches: Iterable[Rows]) -> int:
        """As `insert` into a relation without rows, of rows that are known to be all different; no set is made."""
        assert not self.count
        self._membership = self._numbering = self._last_found = None
        for rows in batches:
            self._reserve(self.count + rows.shape[0])
            self.rows[self.count : self.count + rows.shape[0]] = rows
            self.count += rows.shape[0]
        self._grow_older(0)
        self.delta_start = self.stored = self.count
        return self.count

    def insert(self, rows: Rows) -> int:
        """Adds old rows, outside of any round; returns how many were new."""
        self.stage(rows)
        return self.keep_staged()

    def insert_new(self, rows: Rows) -> None:
        """As `insert`, of rows that are known to be new and all different: a set that is not there yet is not made."""
        if self._membership is not None:
            self.insert(rows)
            return
        self.settle()
        before = self.count
        if before:
            self._reserve(before + rows.shape[0])
            self.rows[before : before + rows.shape[0]] = rows
        else:
            self.rows = np.ascontiguousarray(rows)  # nobody changes a row, and those that come later have no room there
        self.pushed(before + rows.shape[0])
        self.delta_start = self.stored = self.count

    def keep_staged(self) -> int:
        """Makes what is staged old, outside of any round; returns how many rows that are."""
        self.settle()
        new = self.count - self.stored
        if not self.stored and self._dead is None:
            self._membership = self._numbering = None
        self.delta_start = self.stored = self.count
        return new

    def remove(self, facts: FactSet) -> None:
        """Removes `facts`, which are all stored."""
        if not len(facts):
            return
        jit.work(len(facts))
        has_table = self._numbering is not None or isinstance(self._membership, RowSet)
        were_found = self._last_found is not None and self._last_found[0] is facts
        if self._can_number(len(facts)) and (has_table or not were_found):
            numbers = self.numbering.withdraw(np.ascontiguousarray(facts.rows))
        else:
            numbers, self._numbering = self.numbers_of(facts), None
        self._last_found = None
        if self._membership is not None and not isinstance(self._membership, RowSet):
            self._membership.remove(facts.rows)
        if self._dead is None:
            self._dead = np.zeros(self.rows.shape[0], np.bool_)
        self._dead[numbers] = True
        self._removals.extend(numbers)

    def compact(self) -> None:
        """Moves the living rows together if most are dead, outside of any round: then all of them are old. Row numbers
        change; what is known by them must go."""
        if self.removed < max(_MANY_DEAD, self.size):
            return
        assert self.stored == self.count
        living = self.living(0, self.stored)
        ages = self.ages_of(np.flatnonzero(~self._dead[: self.stored]) if self._dead is not None else np.empty(0, int))
        # The set holds the same rows as before, unless it knows them by their numbers.
        kept = None if isinstance(self._membership, RowSet) else self._membership
        self.clear()
        self.insert_different([living])
        self._membership = kept
        jumps = np.flatnonzero(np.diff(ages, prepend=-2) != 1)
        self.set_ages(
            jumps if jumps.size else np.zeros(1, np.int32), ages[jumps] if jumps.size else np.zeros(1, np.int32)
        )

    def living(self, start: int, end: int) -> Rows:
        """The rows from number `start` up to `end` that were not removed."""
        rows = self.rows[start:end]
        return rows if self._dead is None else chosen(rows, ~self._dead[start:end])

    def dead(self, start: int, end: int) -> Mask | None:
        """Which of these rows were removed; None if no row ever was."""
        return None if self._dead is None else self._dead[start:end]

    def ages_of(self, numbers: npt.NDArray[np.integer]) -> Numbers:
        """The age of each row, by its number."""
        found = np.empty(numbers.size, np.int32)
        ages_of_rows(*self.spans, numbers, found)
        return found

    @property
    def spans(self) -> tuple[Numbers, Numbers]:
        """The numbers of rows whose ages do not go on from the row before, and their ages."""
        return self._span_starts.values, self._span_ages.values

    def set_ages(self, starts: npt.ArrayLike, ages: npt.ArrayLike) -> None:
        """Says at which rows ages do not go on from the row before, and what they are there."""
        self._span_starts, self._span_ages = GrowingArray(), GrowingArray()
        self._span_starts.extend(starts)
        self._span_ages.extend(ages)

    def _grow_older(self, before: int) -> None:
        """Gives ages to the rows from number `before` on."""
        new = self.count - before
        if new:
            age = self._clock.pass_for(new)
            if age != self._span_ages.last + before - self._span_starts.last:
                self._span_starts.append(before)
                self._span_ages.append(age)

    def _reserve(self, room: int) -> None:
        if room > self.rows.shape[0]:
            # What is never written to takes no memory: plenty of room saves copies, and a batch of known rows is free.
            plenty = min(_GROWTH * self.count, 2 * self.count + _SPARE // self.width)
            rows = empty((max(room, plenty), self.width), np.int32)
            rows[: self.count] = self.rows[: self.count]
            self.rows = rows
        if self._dead is not None and self._dead.size < self.rows.shape[0]:
            dead = np.zeros(self.rows.shape[0], np.bool_)
            dead[: self._dead.size] = self._dead
            self._dead = dead
