"""The delta of a relation of pairs in runs: rows with the same first id lie side by side."""

from __future__ import annotations

import numpy as np

from tidelog.facts.membership import Rows
from tidelog.facts.relation import Relation
from tidelog.kernels import jit
from tidelog.kernels.runs import count_runs, sort_into_runs

_MANY_IDS = 8
"""Ids for each row, from which on it takes longer to look at all ids than to read the rows as they came."""


class Runs:
    """Rows of `relation` that were stored one after the other."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._asked: tuple[int, ...] = ()
        self._sorted: Rows | None = None

    @property
    def rows_waiting(self) -> int:
        """How many rows the delta has."""
        return self._relation.stored - self._relation.delta_start

    def catch_up(self) -> None:
        """Takes in what is the delta now, so that threads can read it."""
        self.delta()

    def delta(self) -> Rows:
        """The delta."""
        return self.between(self._relation.delta_start, self._relation.stored)

    def between(self, start: int, end: int) -> Rows:
        """The rows from number `start` up to `end` that were not removed, kept until others are asked for."""
        relation = self._relation
        asked = (start, end, relation.generation, relation.removed)
        rows = np.ascontiguousarray(relation.living(start, end))
        if asked != self._asked:
            self._sorted = sorted_into_runs(rows)
            self._asked = asked
        return rows if self._sorted is None else self._sorted


def sorted_into_runs(rows: Rows) -> Rows | None:
    """The same pairs in order of their first ids; None where most rows of an id lie side by side already, or ids are
    so many that sorting costs more than reading."""
    jit.work(rows.shape[0])
    packed = rows.view(np.int64).reshape(-1)
    runs, reach = count_runs(packed)
    if reach > _MANY_IDS * packed.size:
        return None
    in_order = np.empty_like(packed)
    is_sorted = sort_into_runs(packed, np.empty(runs + 1, np.int64), np.zeros(reach + 1, np.int64), in_order)
    return in_order.view(np.int32).reshape(-1, 2) if is_sorted else None
