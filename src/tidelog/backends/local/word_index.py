"""An index over a relation of pairs in which the rows of a key are words of bits: all of them, and the delta."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from tidelog.facts.relation import Relation
from tidelog.facts.word_rows import WordRows, WordRun
from tidelog.kernels import jit

Task: TypeAlias = Callable[[], None]


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
        for take in self.shares(1):
            take()
        self.end()

    def shares(self, parts: int) -> list[Task]:
        """What there is to do to catch up, as tasks of which several may run at the same time. Then it must `end`."""
        relation = self._relation
        if self._generation != relation.generation:
            self.forget()
        if self._removals != relation.removed:
            self._take_out()
        if (self._end, self._delta_start) == (relation.stored, relation.delta_start):
            return []
        jit.work(relation.stored - self._end)
        if self._end < relation.delta_start:
            self.delta.fill(relation.living(self._end, relation.delta_start))
            self.full.add(self.delta)
        # These rows are the delta, unless some of it were known before.
        self.delta.begin(relation.living(max(self._end, relation.delta_start), relation.stored), parts)
        self.full.begin(self.delta)
        return [partial(self._take_part, part) for part in range(parts)]

    def end(self) -> None:
        """Is up to date, once what `shares` gave is done."""
        relation = self._relation
        if (self._end, self._delta_start) == (relation.stored, relation.delta_start):
            return
        self.delta.end()
        self.full.end(self.delta)
        if self._end > relation.delta_start:
            self.delta.fill(relation.living(relation.delta_start, relation.stored))
        self._end, self._delta_start = relation.stored, relation.delta_start

    def _take_part(self, part: int) -> None:
        self.delta.fill_part(part)
        self.full.add_part(self.delta, part)

    def _take_out(self) -> None:
        relation = self._relation
        gone = relation.removals[self._removals :]
        gone = np.ascontiguousarray(relation.rows[gone[gone < self._end]])
        self.full.remove(gone)
        self.delta.remove(gone)
        self._removals = relation.removed
