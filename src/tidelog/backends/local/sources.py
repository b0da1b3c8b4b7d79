"""Where the rows of a body come from: each source gives batches to start with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tidelog.backends.local.batch import MORSEL, UNIT, Batch, Layout, Named, keep_rows, layout_of, select_columns
from tidelog.backends.local.closed import ClosedIndex
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.indexes import Index
from tidelog.backends.local.steps import Pipeline
from tidelog.facts.fact_set import different
from tidelog.facts.membership import Rows
from tidelog.plan.nodes import AGE, Scan, Values, Version


@dataclass(frozen=True, slots=True)
class UnitSource:
    """One row with nothing bound."""

    def catch_up(self, evaluation: Evaluation) -> None:
        pass

    def prepare(self, evaluation: Evaluation) -> None:
        pass

    def morsels(self, _evaluation: Evaluation) -> Iterator[Batch]:
        yield UNIT


@dataclass(slots=True)
class ValuesSource:
    """Rows of the text. Their ids stay what they are, so that they are looked up once."""

    node: Values
    rows: Rows | None = None

    def catch_up(self, evaluation: Evaluation) -> None:
        pass

    def prepare(self, evaluation: Evaluation) -> None:
        if self.rows is not None:
            return
        values = evaluation.store.values
        self.rows = np.zeros((len(self.node.rows), max(1, len(self.node.kinds))), np.int32)
        for number, kind in enumerate(self.node.kinds):
            self.rows[:, number] = values.identify_all(kind, [row[number] for row in self.node.rows])

    def morsels(self, _evaluation: Evaluation) -> Iterator[Batch]:
        assert self.rows is not None
        yield Batch(self.rows, layout_of(self.node.columns))


@dataclass(slots=True)
class TableSource:
    """The rows of other pipelines, which have the same columns, each once."""

    pipelines: tuple[Pipeline, ...]
    rows: Rows | None = None

    def catch_up(self, evaluation: Evaluation) -> None:
        for pipeline in self.pipelines:
            pipeline.catch_up(evaluation)

    def prepare(self, evaluation: Evaluation) -> None:
        self.rows = different([pipeline.collect(evaluation) for pipeline in self.pipelines]).rows

    def morsels(self, _evaluation: Evaluation) -> Iterator[Batch]:
        assert self.rows is not None
        yield Batch(self.rows, layout_of(self.pipelines[0].names))


@dataclass(slots=True)
class OuterSource:
    """The values that outer variables of an aggregate may have: those of another pipeline, each once.

    Rows for which an expression has no value belong to it too: their aggregate may decide whether that matters.
    """

    pipeline: Pipeline
    rows: Rows | None = None

    def catch_up(self, evaluation: Evaluation) -> None:
        self.pipeline.catch_up(evaluation)

    def prepare(self, evaluation: Evaluation) -> None:
        names = self.pipeline.names
        inner = evaluation.collecting(names)
        found = [self.pipeline.collect(inner)]
        found += [select_columns(batch, names) for batch, _ in inner.failures if batch.names.keys() >= set(names)]
        self.rows = different(found).rows

    def morsels(self, _evaluation: Evaluation) -> Iterator[Batch]:
        assert self.rows is not None
        yield Batch(self.rows, layout_of(self.pipeline.names))


@dataclass(slots=True)
class ScanSource:
    """The rows of a relation. Constants are looked up in an index, except in what is small and read once."""

    scan: Scan
    constants: tuple[tuple[int, int], ...]
    names: Named
    equal: tuple[tuple[int, int], ...]
    asks_for_ages: bool = field(init=False)
    is_looked_up: bool = field(init=False)

    def __post_init__(self) -> None:
        self.asks_for_ages = self.scan.columns[-1:] == (AGE,)
        self.is_looked_up = bool(self.constants) and self.scan.version in (Version.FULL, Version.OLD)

    def prepare(self, _evaluation: Evaluation) -> None:
        pass

    def catch_up(self, evaluation: Evaluation) -> None:
        if self.is_looked_up:
            self._index(evaluation)
        elif self.asks_for_ages:
            evaluation.store.number_marked(self.scan.relation)

    def _index(self, evaluation: Evaluation) -> Index | ClosedIndex:
        index = evaluation.store.index(self.scan.relation, tuple(column for column, _ in self.constants))
        index.catch_up()
        return index

    def part(self, evaluation: Evaluation, begin: int, end: int) -> Iterator[Batch]:
        """As `morsels`, for some rows of the version that is read, counted from its first."""
        rows = evaluation.read(self.scan.relation, self.scan.version)[begin:end]
        mask = np.ones(rows.shape[0], np.bool_)
        for one, other in self.equal:
            mask &= rows[:, one] == rows[:, other]
        for column, identity in self.constants:
            mask &= rows[:, column] == identity
        yield keep_rows(Batch(rows, Layout(dict(self.names))), mask, tuple(name for name, _ in self.names))

    def morsels(self, evaluation: Evaluation) -> Iterator[Batch]:
        rows, columns = self._rows(evaluation)
        names = _laid_out(self.names, columns)
        for start in range(0, rows.shape[0], MORSEL):
            morsel = rows[start : start + MORSEL]
            if not self.equal and (self.is_looked_up or not self.constants):
                yield Batch(morsel, names)
                continue
            mask = np.ones(morsel.shape[0], np.bool_)
            for one, other in self.equal:
                mask &= morsel[:, columns.index(one)] == morsel[:, columns.index(other)]
            if not self.is_looked_up:
                for column, identity in self.constants:
                    mask &= morsel[:, column] == identity
            batch = Batch(morsel, names)
            yield batch if mask.all() else keep_rows(batch, mask, tuple(names))

    def _rows(self, evaluation: Evaluation) -> tuple[Rows, tuple[int, ...]]:
        """The rows to read, and which columns of the relation they have."""
        if not self.is_looked_up:
            columns = tuple(column for _, column in self.names)
            projected = self._projected(columns, evaluation)
            if projected is not None:
                return projected, columns
            if self.asks_for_ages:
                rows = evaluation.store.ages_of_marked(self.scan.relation)
            else:
                rows = evaluation.read(self.scan.relation, self.scan.version)
            return rows, tuple(range(rows.shape[1]))
        index = self._index(evaluation)
        key = np.array([[identity for _, identity in self.constants]], np.int32)
        matches = index.probe(key, np.arange(len(self.constants)), self.scan.version)
        begin = int(matches.begins[0])
        rows = matches.payload[begin : begin + matches.total]
        if not index.payload_columns:
            rows = np.zeros((matches.total, 1), np.int32)
        return rows, index.payload_columns

    def _projected(self, columns: tuple[int, ...], evaluation: Evaluation) -> Rows | None:
        """Only those columns of marked rows, if that spares writing them out."""
        if self.scan.version is not Version.MARKED or self.constants or self.equal or self.asks_for_ages:
            return None
        return evaluation.store.project_marked(self.scan.relation, columns)


Source: TypeAlias = UnitSource | ValuesSource | TableSource | OuterSource | ScanSource


@lru_cache(1 << 12)
def _laid_out(names: Named, columns: tuple[int, ...]) -> Layout:
    """The layout of rows that have these columns of a relation, some of which have names."""
    layout = {name: columns.index(column) for name, column in names}
    in_order = tuple(sorted(layout, key=layout.__getitem__))
    return layout_of(in_order) if layout == layout_of(in_order) else Layout(layout)
