"""Aggregates over what stands at the other end in a closed relation, without writing it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.batch import Batch, Missing, Problem, select_columns, without
from tidelog.backends.local.closed import ClosedTable
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.grouping import Groups, aggregate_groups
from tidelog.backends.local.matches import Argument, probing, with_column
from tidelog.backends.local.steps import Pipeline
from tidelog.facts.closure import pieces
from tidelog.facts.membership import Mask, Rows, RowSet
from tidelog.facts.values import Ids, Values
from tidelog.language.syntax_tree import AggregateFunction
from tidelog.plan.nodes import GroupJoin
from tidelog.plan.parts import Part
from tidelog.schema import Kind

Numbers = npt.NDArray[np.int32]

_EMPTY_IS_NOTHING = (AggregateFunction.COUNT, AggregateFunction.SUM)

_WORTH_KEEPING = 256
"""Results are kept for later batches where one asks for more than one of so many groups."""


@dataclass(slots=True)
class ClosedAggregation:
    """Adds the aggregate of the nodes at the other end of the pairs of a closed relation that agree with `arguments`.

    Rows of which `restrictions` have no row that agrees have an empty group. Nodes that reach the same, or are
    connected, share a group: it is computed once.
    """

    node: GroupJoin
    relation: str
    key: tuple[int, ...]
    arguments: tuple[Argument, ...]
    value_kind: Kind
    restrictions: tuple[Pipeline, ...]
    names: tuple[str, ...]
    rest: tuple[Part, ...]
    _allowed: list[RowSet] = field(default_factory=list)
    _known: KnownGroups | None = None

    def catch_up(self, evaluation: Evaluation) -> None:
        for restriction in self.restrictions:
            restriction.catch_up(evaluation)

    def prepare(self, evaluation: Evaluation) -> None:
        self._known = None
        self._allowed = []
        for restriction in self.restrictions:
            allowed = RowSet(len(restriction.names))
            allowed.number(restriction.collect(evaluation), np.arange(len(restriction.names)))
            self._allowed.append(allowed)
        if self.node.function is not AggregateFunction.COUNT:
            self._known = KnownGroups(self.node, self.key, self.value_kind, evaluation.store.values)

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        table = evaluation.store.compact(self.relation)
        assert table is not None
        rows, columns = probing(batch, self.arguments)
        allowed = self._are_allowed(batch)
        if self._known is None:
            counts = np.where(allowed, table.count_neighbours(rows, self.key, columns), 0)
            ids = evaluation.store.values.identify(Kind.NUMBER, counts)
            yield with_column(batch, self.node.name, ids, self.names)
            return
        groups, numbers = self._known.of(table, rows, columns)
        numbers = np.where(allowed, numbers, -1)
        yield from self._with_results(batch, groups, numbers, evaluation)

    def _are_allowed(self, batch: Batch) -> Mask:
        allowed = np.ones(batch.size, np.bool_)
        for restriction, rows in zip(self.restrictions, self._allowed, strict=True):
            allowed &= rows.find(select_columns(batch, restriction.names), np.arange(len(restriction.names))) >= 0
        return allowed

    def _with_results(self, batch: Batch, groups: Groups, numbers: Numbers, evaluation: Evaluation) -> Iterator[Batch]:
        present = numbers >= 0
        present[present] = groups.present[numbers[present]]
        bad = numbers >= 0
        bad[bad] = groups.failed[numbers[bad]]
        if bad.any():
            missing = Missing(bad, Problem(groups.reason, self.node.span))
            batch, numbers, present = evaluation.set_aside(batch, missing, self.rest), numbers[~bad], present[~bad]
        ids: Ids = groups.ids[numbers] if groups.ids.size else np.zeros(batch.size, np.int32)
        if self.node.function in _EMPTY_IS_NOTHING:
            nothing = evaluation.store.values.identify_one(self.node.kind, 0)
            yield with_column(batch, self.node.name, np.where(present, ids, nothing), self.names)
        else:
            yield with_column(without(batch, ~present), self.node.name, ids[present], self.names)


class KnownGroups:
    """The results of groups that somebody has asked for, each computed once. Several threads may ask."""

    def __init__(self, node: GroupJoin, key: tuple[int, ...], value_kind: Kind, values: Values) -> None:
        self._node = node
        self._key = key
        self._value_kind = value_kind
        self._values = values
        self._lock = Lock()
        self._numbers: Numbers = np.empty(0, np.int32)
        self._groups = _no_groups()

    def of(self, table: ClosedTable, rows: Rows, columns: npt.NDArray[np.int64]) -> tuple[Groups, Numbers]:
        """The results of groups, and which of them is that of each of `rows`, whose `columns` hold the key; or -1."""
        classes = table.classes(rows, self._key, columns)
        numbers = np.full(classes.size, -1, np.int32)
        asked = np.flatnonzero(classes >= 0)
        if _WORTH_KEEPING * asked.size < table.class_bound:
            _, first, numbers[asked] = np.unique(classes[asked], return_index=True, return_inverse=True)
            return self._compute(table, rows[asked[first]], columns), numbers
        with self._lock:
            if self._numbers.size < table.class_bound:
                self._numbers = np.full(table.class_bound, -1, np.int32)
            unknown = asked[self._numbers[classes[asked]] < 0]
            new, first = np.unique(classes[unknown], return_index=True)
            if new.size:
                computed = self._compute(table, rows[unknown[first]], columns)
                self._numbers[new] = np.arange(self._groups.ids.size, self._groups.ids.size + new.size)
                self._groups = _joined([self._groups, computed])
            numbers[asked] = self._numbers[classes[asked]]
            return self._groups, numbers

    def _compute(self, table: ClosedTable, rows: Rows, columns: npt.NDArray[np.int64]) -> Groups:
        """The results of `rows`, which come in order of their classes, each once."""
        node, computed = self._node, [_no_groups()]
        rows = np.ascontiguousarray(rows)
        for piece in pieces(table.count_neighbours(rows, self._key, columns)):
            matches = table.neighbours(rows[piece], self._key, columns)
            groups = np.repeat(np.arange(matches.lengths.size, dtype=np.int32), matches.lengths)
            column = matches.payload[:, 0]
            computed.append(
                aggregate_groups(
                    node.function, node.kind, groups, matches.lengths.size, column, self._value_kind, self._values
                )
            )
        return _joined(computed)


def _no_groups() -> Groups:
    return Groups(np.empty(0, np.int32), np.empty(0, np.bool_), np.empty(0, np.bool_))


def _joined(parts: list[Groups]) -> Groups:
    return Groups(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.present for part in parts]),
        np.concatenate([part.failed for part in parts]),
        next((part.reason for part in parts if part.reason), ""),
    )
