"""Different rows of one relation, apart from those stored: what came, what went, what is in doubt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tidelog.facts.membership import Rows, membership_for
from tidelog.kernels import jit


@dataclass(frozen=True, slots=True)
class FactSet:
    """Rows of ids, each once."""

    rows: Rows

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def union(self, other: FactSet) -> FactSet:
        """The facts of either."""
        if not len(self) or not len(other):
            return self if len(self) else other
        return different([self.rows, other.rows])

    def minus(self, other: FactSet) -> FactSet:
        """The facts that `other` has not."""
        if not len(self) or not len(other):
            return self
        jit.work(len(self) + len(other))
        held = membership_for(self.rows.shape[1])
        held.add(np.ascontiguousarray(other.rows), np.empty((len(other) + 1, self.rows.shape[1]), np.int32), 0)
        return FactSet(held.unknown(np.ascontiguousarray(self.rows)))


def different(batches: Iterable[Rows]) -> FactSet:
    """The different rows of all `batches`, of which there is at least one."""
    rows = np.concatenate(list(batches))
    jit.work(rows.shape[0])
    out = np.empty((rows.shape[0] + 1, rows.shape[1]), np.int32)
    found = membership_for(rows.shape[1]).add(np.ascontiguousarray(rows), out, 0)
    return FactSet(out[:found])


def no_facts(width: int) -> FactSet:
    """No fact of a relation of that width."""
    return FactSet(np.empty((0, width), np.int32))
