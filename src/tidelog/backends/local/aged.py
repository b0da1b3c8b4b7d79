"""Joins with rows that came before or after the row that a question is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tidelog.backends.local.batch import Batch, Named, keep_rows
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.indexes import ROW_NUMBER
from tidelog.backends.local.matches import Argument, expanded, first_of, in_payload, key_rows, probing
from tidelog.facts.membership import Mask, Rows
from tidelog.facts.relation import Relation
from tidelog.kernels.ages import are_older, are_younger
from tidelog.plan.nodes import AGE, Version

_NUMBER = "~number"


@dataclass(slots=True)
class AgedLookup:
    """Joins with the rows of a relation that agree on `key` and came before the row that the batch is about, or after.

    `new` names the other columns that are wanted; `equal` are pairs of new names that must agree.
    """

    relation: str
    version: Version
    key: tuple[int, ...]
    arguments: tuple[Argument, ...]
    new: Named
    equal: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    layout: tuple[str, ...] = field(init=False)
    """The columns of joined rows, those that are only compared too."""

    def __post_init__(self) -> None:
        self.new = (*self.new, (_NUMBER, ROW_NUMBER))
        self.layout = tuple(dict.fromkeys((*self.names, *(name for name, _ in self.new), AGE)))

    def prepare(self, _evaluation: Evaluation) -> None:
        pass

    def catch_up(self, evaluation: Evaluation) -> None:
        if self._asks_for_whole_rows(evaluation):
            _ = evaluation.store.relations[self.relation].numbering
        else:
            evaluation.store.index(self.relation, self.key, is_numbered=True).catch_up()

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        relation = evaluation.store.relations[self.relation]
        if self._asks_for_whole_rows(evaluation):
            keys = key_rows(batch, self.arguments) if self.key else np.zeros((batch.size, 1), np.int32)
            numbers = relation.numbering.find(keys, np.arange(relation.width))
            yield keep_rows(batch, self._fits(relation, numbers.reshape(-1, 1), 0, batch), self.names)
            return
        index = evaluation.store.index(self.relation, self.key, is_numbered=True)
        matches = first_of(index.probe(*probing(batch, self.arguments), Version.FULL), evaluation.most_matches)
        for joined in expanded(batch, matches, in_payload(self.new, index.payload_columns), self.layout):
            mask = self._fits(relation, joined.rows, joined.names[_NUMBER], joined)
            for one, other in self.equal:
                mask &= joined.column(one) == joined.column(other)
            yield keep_rows(joined, mask, self.names)

    def _fits(self, relation: Relation, numbers: Rows, column: int, batch: Batch) -> Mask:
        """Which rows of the relation, by the numbers in that column, are there and came when they must have."""
        result = np.empty(batch.size, np.bool_)
        compare = are_older if self.version is Version.OLDER else are_younger
        compare(*relation.spans, numbers, column, batch.rows, batch.names[AGE], result)
        return result

    def _asks_for_whole_rows(self, evaluation: Evaluation) -> bool:
        return len(self.key) == evaluation.store.relations[self.relation].arity
