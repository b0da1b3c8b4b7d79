"""Joins with rows whose column lies within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tidelog.backends.local.batch import Batch, Named
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.expressions import compute_numbers
from tidelog.backends.local.indexes import Matches
from tidelog.backends.local.matches import Argument, expanded, probing
from tidelog.kernels.blocks import bisect_blocks
from tidelog.language.syntax_tree import ComparisonOperator, Term
from tidelog.plan.nodes import Version
from tidelog.plan.parts import Part


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison `column operator term` that an ordered lookup decides by halving."""

    operator: ComparisonOperator
    term: Term
    rest: tuple[Part, ...]


@dataclass(slots=True)
class OrderedLookup:
    """As `Lookup`, for rows whose `column` lies within bounds."""

    relation: str
    version: Version
    key: tuple[int, ...]
    arguments: tuple[Argument, ...]
    column: int
    bounds: tuple[Bound, ...]
    new: Named
    names: tuple[str, ...]

    def prepare(self, _evaluation: Evaluation) -> None:
        pass

    def catch_up(self, evaluation: Evaluation) -> None:
        evaluation.store.ordered_index(self.relation, self.key, self.column, self.version)

    def run(self, batch: Batch, evaluation: Evaluation) -> Iterator[Batch]:
        index = evaluation.store.ordered_index(self.relation, self.key, self.column, self.version)
        limits = []
        for bound in self.bounds:
            numbers, missing = compute_numbers(bound.term, batch, evaluation.kinds, evaluation.store.values)
            if missing is not None:
                good = evaluation.set_aside(batch, missing, bound.rest)
                if good.size:
                    yield from self.run(good, evaluation)
                return
            limits.append(np.ascontiguousarray(numbers))
        matches = index.probe(*probing(batch, self.arguments))
        for bound, numbers in zip(self.bounds, limits, strict=True):
            upper, side = _SIDES[bound.operator]
            bisect_blocks(index.values, matches.begins, matches.lengths, numbers, side, upper)
        matches = Matches(matches.begins, matches.lengths, matches.payload, int(matches.lengths.sum()))
        yield from expanded(batch, matches, self.new, self.names)


_SIDES = {
    ComparisonOperator.LESS: (1, 0),
    ComparisonOperator.LESS_EQUAL: (1, 1),
    ComparisonOperator.GREATER: (0, 0),
    ComparisonOperator.GREATER_EQUAL: (0, 1),
}
