"""Fact chains in columns: how often each fact is added and deleted, in which iterations, and if it was there first.

A record says that from one iteration to before another a fact is added and deleted so many times, so there is one only
where something changed, and an operation that is asked for once has one. Wolfson, Dewan, Stolfo and Yemini 1991,
section 4. Facts are sorted, and a column takes as many bytes as its numbers need: none where they are all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import Rows
from tidelog.kernels import jit
from tidelog.kernels.chains import records_of_steps
from tidelog.production.late.sorted_rows import SortedRows, order_of

Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Column: TypeAlias = npt.NDArray[Any]

OPEN = np.iinfo(np.int32).max
"""The end of what does not end."""


@dataclass(frozen=True, slots=True)
class Steps:
    """From an iteration on, a fact is added and deleted so many times more, or less. Facts are numbers."""

    facts: Numbers
    iterations: Numbers
    added: Numbers
    deleted: Numbers

    @staticmethod
    def of(pieces: Sequence[Steps]) -> Steps:
        """All of them."""
        columns = zip(*((each.facts, each.iterations, each.added, each.deleted) for each in pieces), strict=True)
        return Steps(*map(np.concatenate, columns)) if pieces else Steps(*([np.empty(0, np.int64)] * 4))


@dataclass(frozen=True, slots=True)
class Records:
    """From iteration `first` to before `last` a fact is added and deleted so many times.

    They are sorted by fact, and for each fact by iteration; none has two records for one iteration, or one with both
    counts 0. Facts are numbers.
    """

    facts: Numbers
    first: Numbers
    last: Numbers
    added: Numbers
    deleted: Numbers

    @staticmethod
    def of(steps: Steps) -> Records:
        """The records that `steps` make from nothing."""
        keys = (steps.facts << 32) + steps.iterations
        order = np.arange(keys.size) if (keys[1:] >= keys[:-1]).all() else np.argsort(keys)
        jit.work(keys.size)
        facts, first, last = (np.empty(keys.size, np.int64) for _ in "123")
        counts = np.empty((keys.size, 2), np.int64)
        added, deleted = np.ascontiguousarray(steps.added), np.ascontiguousarray(steps.deleted)
        found = records_of_steps(order, steps.facts, steps.iterations, added, deleted, OPEN, facts, first, last, counts)
        return Records(facts[:found], first[:found], last[:found], counts[:found, 0], counts[:found, 1])

    def steps(self) -> Steps:
        """What they consist of."""
        ends = self.last < OPEN
        return Steps(
            np.concatenate([self.facts, self.facts[ends]]),
            np.concatenate([self.first, self.last[ends]]),
            np.concatenate([self.added, -self.added[ends]]),
            np.concatenate([self.deleted, -self.deleted[ends]]),
        )

    def of_facts(self, numbers: Numbers) -> Records:
        """The same records with other numbers for their facts, by place; they need not be sorted any more."""
        return Records(numbers[self.facts], self.first, self.last, self.added, self.deleted)

    @property
    def settles(self) -> Flags:
        """Which of them say whether the fact is there: operations of one sign only (COMPUTE_NEW)."""
        flags: Flags = (self.added > 0) != (self.deleted > 0)
        return flags


class SortedChains:
    """The chains of some facts of one relation; they never change."""

    def __init__(self, rows: Rows, is_first: Flags, records: Records) -> None:
        """Facts are different and in any order, `is_first` says which were there first, records are of their places."""
        order = order_of(rows)
        self._rows = SortedRows(rows, order)
        self._is_first = _compact(is_first[order])
        counts = np.bincount(records.facts, minlength=order.size)
        begins = (np.cumsum(counts) - counts)[order]
        counts = counts[order]
        by_fact = ranges(begins, counts)
        self._each = int(counts[0]) if order.size and (counts == counts[0]).all() else None
        ends = np.empty(0, np.int64) if self._each is not None else np.concatenate([[0], np.cumsum(counts)])
        self._ends = _compact(ends)
        self._first = _compact(records.first[by_fact])
        length = np.where(records.last == OPEN, 0, records.last - records.first)
        self._length = _compact(length[by_fact])
        self._added = _compact(records.added[by_fact])
        self._deleted = _compact(records.deleted[by_fact])

    @property
    def bytes_held(self) -> int:
        """What its arrays take."""
        columns = (self._is_first, self._ends, self._first, self._length, self._added, self._deleted)
        return self._rows.bytes_held + sum(_bytes_of(each) for each in columns)

    @property
    def record_count(self) -> int:
        return int(self._first.size)

    @property
    def count(self) -> int:
        return self._rows.count

    def find(self, rows: Rows) -> Numbers:
        """The place of each fact, -1 for those that it has not."""
        return self._rows.find(rows)

    def rows(self, places: Numbers) -> Rows:
        """The facts at these places."""
        return self._rows.rows(places)

    def was_first(self, places: Numbers) -> Flags:
        """Which facts were there first."""
        return self._is_first[places].astype(np.bool_)

    def records(self, places: Numbers) -> Records:
        """The records of facts; their numbers are those of `places`."""
        if self._each == 1:
            facts, at = np.arange(places.size), places
        else:
            begins, counts = self._places_of_records(places)
            facts, at = np.repeat(np.arange(places.size), counts), ranges(begins, counts)
        first, length = self._first[at].astype(np.int64), self._length[at].astype(np.int64)
        last = np.where(length == 0, OPEN, first + length)
        return Records(facts, first, last, self._added[at].astype(np.int64), self._deleted[at].astype(np.int64))

    def _places_of_records(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """Where the records of facts begin, and how many there are."""
        if self._each is not None:
            return places * self._each, np.full(places.size, self._each, np.int64)
        begins = self._ends[places].astype(np.int64)
        return begins, self._ends[places + 1].astype(np.int64) - begins


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains of one relation in layers: those that were revised last, and for other facts, those before."""

    layers: tuple[SortedChains, ...]

    @staticmethod
    def of(rows: Rows, is_first: Flags, records: Records) -> Chains:
        """The chains of facts, as `SortedChains`."""
        return Chains((SortedChains(rows, is_first, records),))

    @staticmethod
    def none(width: int) -> Chains:
        """No chains, of facts of so many ids."""
        none = np.empty(0, np.int64)
        return Chains.of(np.empty((0, width), np.int32), np.empty(0, np.bool_), Records(none, none, none, none, none))

    @property
    def bytes_held(self) -> int:
        """What its arrays take."""
        return sum(layer.bytes_held for layer in self.layers)

    @property
    def record_count(self) -> int:
        return sum(layer.record_count for layer in self.layers)

    def look_up(self, rows: Rows) -> tuple[Flags, Flags, Records]:
        """Which facts have chains, which of these were there first, and the records, by place in `rows`."""
        has_chain, is_first = np.zeros(rows.shape[0], np.bool_), np.zeros(rows.shape[0], np.bool_)
        pieces, missing = [], np.arange(rows.shape[0])
        for layer in self.layers:
            found = layer.find(rows if missing.size == rows.shape[0] else rows[missing])
            is_found = found >= 0
            if is_found.any():
                places, found = missing[is_found], found[is_found]
                has_chain[places] = True
                is_first[places] = layer.was_first(found)
                pieces.append(layer.records(found).of_facts(places))
                missing = missing[~is_found]
                if not missing.size:
                    break
        return has_chain, is_first, _sorted(pieces)

    def everything(self) -> tuple[Rows, Flags, Records]:
        """All facts that have chains, which of them were there first, and their records."""
        return _together(self.layers)

    def revised(self, rows: Rows, is_first: Flags, records: Records) -> Chains:
        """The same chains with others for these facts."""
        *recent, first = (SortedChains(rows, is_first, records), *self.layers)
        if len(recent) > _LAYERS:
            recent = [SortedChains(*_together(recent))]
            if recent[0].count >= first.count // _SHARE:
                return Chains.of(*_together((*recent, first)))
        return Chains((*recent, first))


_LAYERS, _SHARE = 4, 16
"""Layers that may stand before the first one; they are put together, and if they are that part of all, all are."""


def _together(layers: Sequence[SortedChains]) -> tuple[Rows, Flags, Records]:
    """The facts of all layers, which of them were there first, and their records; of a fact the first layer counts."""
    rows, firsts, pieces = layers[0].rows(np.empty(0, np.int64)), [], []
    for layer in layers:
        is_kept = np.ones(layer.count, np.bool_)
        known = layer.find(rows)
        is_kept[known[known >= 0]] = False
        places = is_kept.nonzero()[0]
        firsts.append(layer.was_first(places))
        pieces.append(layer.records(places).of_facts(rows.shape[0] + np.arange(places.size)))
        rows = np.concatenate([rows, layer.rows(places)])
    return rows, np.concatenate(firsts), _sorted(pieces)


def moves(is_first: Flags, records: Records) -> tuple[Numbers, Numbers, Flags]:
    """The records with which a fact comes or goes: facts, iterations, and whether they come."""
    some = records.settles
    facts, first, comes = records.facts[some], records.first[some], records.added[some] > 0
    before = is_first[facts]
    before[1:] = np.where(facts[1:] == facts[:-1], comes[:-1], before[1:])
    moved = comes != before
    return facts[moved], first[moved], comes[moved]


def status_before(iteration: int, is_first: Flags, records: Records) -> Flags:
    """Which facts are there before an iteration."""
    status = is_first.copy()
    some = records.settles & (records.first < iteration)
    status[records.facts[some]] = records.added[some] > 0  # the last one of a fact stays
    return status


def _sorted(pieces: Sequence[Records]) -> Records:
    """All records, by fact; no two pieces have records of one fact."""
    if len(pieces) == 1:
        return pieces[0]
    columns = zip(*((each.facts, each.first, each.last, each.added, each.deleted) for each in pieces), strict=True)
    facts, *others = map(np.concatenate, columns) if pieces else [np.empty(0, np.int64)] * 5
    order = np.argsort(facts, kind="stable")
    return Records(facts[order], *(column[order] for column in others))


def ranges(begins: Numbers, counts: Numbers) -> Numbers:
    """So many numbers from each of `begins` on, one range behind the other."""
    if (counts == 1).all():
        return begins
    shifts = begins - (np.cumsum(counts) - counts)
    numbers: Numbers = np.arange(int(counts.sum())) + np.repeat(shifts, counts)
    return numbers


def _bytes_of(column: Column) -> int:
    return int(column.itemsize if column.strides == (0,) else column.nbytes)


_SMALL = 512


def _compact(values: Column) -> Column:
    """The same numbers in as few bytes as they take; a few are left as they are."""
    if values.size < _SMALL:
        return values
    lowest, highest = values.min(), values.max()
    narrow = values.astype(np.promote_types(np.min_scalar_type(lowest), np.min_scalar_type(highest)))
    return np.broadcast_to(narrow[:1].copy(), values.shape) if lowest == highest else narrow
