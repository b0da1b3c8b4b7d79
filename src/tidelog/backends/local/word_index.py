"""An index over a relation of pairs in which the rows of a key are words of bits: all of them, and the delta."""

from __future__ import annotations

import numpy as np

from tidelog.facts.relation import Relation
from tidelog.facts.word_rows import WordRows, WordRun
from tidelog.kernels import jit


class WordIndex:
    """The rows of `relation` by its column `key`, kept up to date as it changes."""

    def __init__(self, relation: Relation, key: int) -> None:
        self._relation = relation
        self.full, self.delta = WordRows(key), WordRun(key)
        self.forget()

    def forget(self) -> None:
        """Forgets every row, as when the relation was cleared."""
        self.full.clear()
        self.delta.clear()
        self._end = self._delta_start = self._removals = 0
        self._generation = self._relation.generation

    @property
    def rows_waiting(self) -> int:
        """How many rows it has yet to take in."""
        relation = self._relation
        return relation.stored - (self._end if self._generation == relation.generation else 0)

    def catch_up(self) -> None:
        """Takes in the rows stored since the last look, which of them are the delta, and what was removed."""
        relation = self._relation
        if self._generation != relation.generation:
            self.forget()
        if self._removals != relation.removed:
            gone = relation.removals[self._removals :]
            gone = np.ascontiguousarray(relation.rows[gone[gone < self._end]])
            self.full.remove(gone)
            self.delta.remove(gone)
            self._removals = relation.removed
        if (self._end, self._delta_start) == (relation.stored, relation.delta_start):
            return
        jit.work(relation.stored - self._end)
        self._take(self._end, relation.delta_start)
        self._take(max(self._end, relation.delta_start), relation.stored)
        if self._end > relation.delta_start:
            self.delta.fill(relation.living(relation.delta_start, relation.stored))
        self._end, self._delta_start = relation.stored, relation.delta_start

    def _take(self, start: int, end: int) -> None:
        """Makes these rows the delta too, which they are in the end unless some were known before."""
        self.delta.fill(self._relation.living(start, max(start, end)))
        self.full.add(self.delta)
