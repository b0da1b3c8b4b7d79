"""The steps of a rule: each takes a batch of rows and gives batches of rows.

A step is made once for a plan and prepared before each run, in one thread: then it brings its indexes up to date.
After that several threads may run it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Protocol, TypeAlias

import numpy as np

from tidelog.backends.local.batch import Batch, Missing, Named, Problem, keep_rows, layout_of, select_columns, without
from tidelog.backends.local.closed import ClosedIndex
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.expressions import compute_ids, compute_numbers, test
from tidelog.backends.local.grouping import Groups, aggregate_groups
from tidelog.backends.local.indexes import Index, Matches
from tidelog.backends.local.matches import (
    OUTPUT,
    Argument,
    agreeing,
    expanded,
    first_of,
    in_payload,
    key_rows,
    probing,
    with_column,
)
from tidelog.backends.local.near_key import NearKey, near_key
from tidelog.backends.local.store import Store
from tidelog.facts.membership import Mask, Rows, RowSet
from tidelog.facts.relation import Relation
from tidelog.language.functions import NoValue, range_values
from tidelog.language.syntax_tree import (
    AggregateFunction,
    Comparison,
    Term,
    Test,
)
from tidelog.plan.nodes import GroupJoin, Range, Version
from tidelog.plan.parts import Part
from tidelog.schema import Kind


class Step(Protocol):
    def catch_up(self, evaluation: Evaluation) -> None:
        """Brings the indexes up to date that it reads."""
        ...

    def prepare(self, evaluation: Evaluation) -> None:
        """Computes what must be whole before `run`. Its indexes are up to date."""
        ...

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        """The rows that follow from those of `batch`."""
        ...


@dataclass(slots=True)
class Lookup:
    """Joins with the rows of a relation that agree on `key`; `new` names the other columns that are wanted.

    `equal` are pairs of new names that must agree. Without new names only the presence of a match counts, unless
    `counts_rows`: then each match gives a row.
    """

    relation: str
    version: Version
    key: tuple[int, ...]
    arguments: tuple[Argument, ...]
    new: Named
    equal: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    counts_rows: bool
    index: Index | ClosedIndex | None = None
    near: NearKey | None = None
    whole_rows: WholeRows | None = None
    layout: tuple[str, ...] = field(init=False)
    """The columns of joined rows, those that are only compared too."""

    def __post_init__(self) -> None:
        self.layout = tuple(dict.fromkeys((*self.names, *(name for pair in self.equal for name in pair))))

    def prepare(self, _evaluation: Evaluation) -> None:
        pass

    def catch_up(self, evaluation: Evaluation) -> None:
        if self._asks_for_whole_rows(evaluation):
            self.whole_rows = whole_rows(self.relation, evaluation.store)
        elif self.key:
            if len(self.key) > 1:
                self.near = near_key(self.relation, self.key, evaluation.store, self.near)
            if self.near is None:
                self.index = evaluation.store.index(self.relation, self.key)
                self.index.catch_up()

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        # A whole row is there once at most, so that presence counts it too.
        if not self.new and (not self.counts_rows or self.whole_rows is not None):
            yield keep_rows(batch, self.present(batch, evaluation), self.names)
            return
        for joined in self._joined(batch, evaluation):
            yield agreeing(joined, self.equal, self.names)

    def _joined(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        if self.near is not None:
            return self.near.joined(batch, self.arguments, self.version, self.new, self.layout)
        matches = first_of(self._matches(batch, evaluation), evaluation.most_matches)
        new = self.new if self.index is None else in_payload(self.new, self.index.payload_columns)
        return expanded(batch, matches, new, self.layout)

    def present(self, batch: Batch, evaluation: Evaluation) -> Mask:
        """For each row of `batch`, whether it has a match."""
        if self.whole_rows is not None:
            return self.whole_rows(key_rows(batch, self.arguments))
        if self.near is not None:
            return self.near.present(batch, self.arguments, self.version)
        return self._matches(batch, evaluation).lengths > 0

    def _asks_for_whole_rows(self, evaluation: Evaluation) -> bool:
        width = evaluation.store.relations[self.relation].width
        return len(self.key) == width and self.version is Version.FULL

    def _matches(self, batch: Batch, evaluation: Evaluation) -> Matches:
        if self.index is not None:
            return self.index.probe(*probing(batch, self.arguments), self.version)
        rows = evaluation.store.read(self.relation, self.version)
        begins = np.zeros(batch.size, np.int64)
        lengths = np.full(batch.size, rows.shape[0], np.int64)
        return Matches(begins, lengths, rows, batch.size * rows.shape[0])


WholeRows: TypeAlias = Callable[[Rows], Mask]
"""Which rows a relation has."""


def whole_rows(relation: str, store: Store) -> WholeRows:
    """A way to look up whole rows of `relation`."""
    table = store.compact(relation)
    if table is not None:
        return table.contains
    short = store.short_column(relation)
    if short is None:
        return store.relations[relation].membership.contains
    index = store.index(relation, (short,))
    assert isinstance(index, Index)
    return index.has_rows


@dataclass(slots=True)
class TableJoin:
    """Joins with rows computed beforehand: those of the text, or the different values of some columns."""

    pipeline: Pipeline
    shared: tuple[str, ...]
    columns: tuple[str, ...]
    names: tuple[str, ...]
    table: Relation | None = None
    index: Index | None = None

    def catch_up(self, evaluation: Evaluation) -> None:
        self.pipeline.catch_up(evaluation)

    def prepare(self, evaluation: Evaluation) -> None:
        rows = self.pipeline.collect(evaluation)
        self.table = Relation(len(self.columns))
        self.table.insert(rows)
        self.index = Index(self.table, tuple(self.columns.index(name) for name in self.shared))
        self.index.catch_up()

    def run(self, batch: Batch, _evaluation: Evaluation) -> Iterator[Batch]:
        assert self.index is not None
        others = self.index.payload_columns if self.columns else ()  # a table without columns has one of its own
        payload = {self.columns[column]: number for number, column in enumerate(others)}
        new = tuple((name, payload[name]) for name in self.names if name not in batch.names)
        matches = self.index.probe(*probing(batch, self.shared), Version.FULL)
        yield from expanded(batch, matches, new, self.names)


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the rows for which a condition holds."""

    condition: Comparison | Test
    names: tuple[str, ...]
    rest: tuple[Part, ...]

    def catch_up(self, evaluation: Evaluation) -> None:
        pass

    def prepare(self, evaluation: Evaluation) -> None:
        pass

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        held, missing = test(self.condition, batch, evaluation.kinds, evaluation.store.values)
        if missing is not None:
            evaluation.set_aside(batch, missing, self.rest)
            held = held & ~missing.rows
        yield keep_rows(batch, held, self.names)


@dataclass(frozen=True, slots=True)
class Compute:
    """Adds a column."""

    name: str
    term: Term
    names: tuple[str, ...]
    rest: tuple[Part, ...]

    def catch_up(self, evaluation: Evaluation) -> None:
        pass

    def prepare(self, evaluation: Evaluation) -> None:
        pass

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        ids, missing = compute_ids(self.term, batch, evaluation.kinds, evaluation.store.values)
        if missing is not None:
            batch, ids = evaluation.set_aside(batch, missing, self.rest), ids[~missing.rows]
        yield with_column(batch, self.name, ids, self.names)


@dataclass(frozen=True, slots=True)
class Count:
    """Gives each row once for every value of a range."""

    range: Range
    names: tuple[str, ...]
    is_bound: bool
    rest: tuple[Part, ...]

    def catch_up(self, evaluation: Evaluation) -> None:
        pass

    def prepare(self, evaluation: Evaluation) -> None:
        pass

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        node, values, kinds = self.range, evaluation.store.values, evaluation.kinds
        terms = [node.start, node.end] + ([] if node.step is None else [node.step])
        columns = []
        for term in terms:
            numbers, missing = compute_numbers(term, batch, kinds, values)
            if missing is not None:
                good = evaluation.set_aside(batch, missing, self.rest)
                if good.size:
                    yield from self.run(good, evaluation)
                return
            columns.append(numbers.tolist())
        end = 0
        for limits, run in groupby(zip(*columns, strict=True)):
            begin, end = end, end + len(list(run))
            some = Batch(batch.rows[begin:end], batch.names)
            try:
                yield from self._count(some, limits, evaluation)
            except NoValue as none:
                evaluation.fail(some, self.rest, Problem(none.reason, node.span))

    def _count(self, some: Batch, limits: tuple[float, ...], evaluation: Evaluation) -> Iterator[Batch]:
        """The rows, which have the same limits, once for every value."""
        counted = range_values(self.range.kind, *limits)
        most = max(1, OUTPUT // some.size)
        while numbers := list(islice(counted, most)):
            ids = np.tile(evaluation.store.values.identify_all(self.range.kind, numbers), some.size)
            many = Batch(np.repeat(some.rows, len(numbers), axis=0), some.names)
            if self.is_bound:
                yield keep_rows(many, many.column(self.range.name) == ids, self.names)
            else:
                yield with_column(many, self.range.name, ids, self.names)


@dataclass(frozen=True, slots=True)
class Absence:
    """Keeps the rows that have no match."""

    lookup: Lookup
    names: tuple[str, ...]

    def catch_up(self, evaluation: Evaluation) -> None:
        self.lookup.catch_up(evaluation)

    def prepare(self, _evaluation: Evaluation) -> None:
        pass

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        yield keep_rows(batch, ~self.lookup.present(batch, evaluation), self.names)


@dataclass(slots=True)
class Aggregation:
    """Adds the aggregate of the rows of another pipeline that agree on the keys."""

    node: GroupJoin
    pipeline: Pipeline
    value_kind: Kind
    names: tuple[str, ...]
    rest: tuple[Part, ...]
    numbering: RowSet | None = None
    groups: Groups | None = None
    failures: Sequence[tuple[Batch, Problem]] = ()

    def catch_up(self, evaluation: Evaluation) -> None:
        self.pipeline.catch_up(evaluation)

    def prepare(self, evaluation: Evaluation) -> None:
        values = evaluation.store.values
        inner = evaluation.collecting(self.node.keys)
        body = Batch(self.pipeline.collect(inner), layout_of(self.pipeline.names))
        column = None
        if self.node.value is not None:
            column, missing = compute_ids(self.node.value, body, inner.kinds, values)
            if missing is not None:
                body, column = inner.set_aside(body, missing, ()), column[~missing.rows]
        self.failures = inner.failures
        self.numbering = RowSet(len(self.node.keys))
        if self.node.keys:
            groups = self.numbering.number(select_columns(body, self.node.keys), np.arange(len(self.node.keys)))
            count = self.numbering.count
        else:
            groups, count = np.zeros(body.size, np.int32), 1
        self.groups = aggregate_groups(
            self.node.function, self.node.kind, groups, count, column, self.value_kind, values
        )

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        assert self.groups is not None
        assert self.numbering is not None
        keys = self.node.keys
        for failed, problem in self.failures:
            bad = _agree(batch, failed, [key for key in keys if key in failed.names])
            batch = evaluation.set_aside(batch, Missing(bad, problem), self.rest)
        if keys:
            numbers = self.numbering.find(select_columns(batch, keys), np.arange(len(keys)))
        else:
            numbers = np.zeros(batch.size, np.int32)
        known = numbers >= 0
        if self.groups.failed.any():
            bad = known & self.groups.failed[np.where(known, numbers, 0)]
            missing = Missing(bad, Problem(self.groups.reason, self.node.span))
            batch, numbers, known = evaluation.set_aside(batch, missing, self.rest), numbers[~bad], known[~bad]
        ids = self.groups.ids[numbers] if self.groups.ids.size else np.zeros(batch.size, np.int32)
        if self.node.function in (AggregateFunction.COUNT, AggregateFunction.SUM):
            nothing = evaluation.store.values.identify_one(self.node.kind, 0)
            yield with_column(batch, self.node.name, np.where(known, ids, nothing), self.names)
            return
        present = known.copy()
        present[known] = self.groups.present[numbers[known]]
        yield with_column(without(batch, ~present), self.node.name, ids[present], self.names)


class Pipeline(Protocol):
    """A plan that can be run by itself."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def catch_up(self, evaluation: Evaluation) -> None:
        """Brings the indexes up to date that it reads."""
        ...

    def collect(self, evaluation: Evaluation) -> Rows:
        """All its rows, with the columns `names`."""
        ...


def _agree(batch: Batch, other: Batch, names: list[str]) -> Mask:
    """Which rows of `batch` agree with some row of `other` on `names`."""
    if not names:
        return np.full(batch.size, other.size > 0)
    known = RowSet(len(names))
    columns = np.arange(len(names))
    known.number(select_columns(other, tuple(names)), columns)
    return known.find(select_columns(batch, tuple(names)), columns) >= 0
