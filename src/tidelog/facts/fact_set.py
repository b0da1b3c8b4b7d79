"""Different rows of one relation, apart from those stored: what came, what went, what is in doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tidelog.facts.membership import Membership, Rows, membership_for
from tidelog.kernels import jit


class FactSet:
    """Rows of ids, each once. It never changes."""

    __slots__ = ("__weakref__", "_count", "_expand", "_membership", "_rows", "_width")

    def __init__(self, rows: Rows, membership: Membership | None = None) -> None:
        self._rows: Rows | None = rows
        self._membership = membership
        self._count: int = rows.shape[0]
        self._width: int = rows.shape[1]
        self._expand: Callable[[], Rows] | None = None

    @staticmethod
    def later(count: int, width: int, expand: Callable[[], Rows]) -> FactSet:
        """So many facts, whose rows `expand` gives when somebody asks."""
        made = FactSet(np.empty((0, width), np.int32))
        made._rows, made._count, made._expand = None, count, expand
        return made

    @property
    def rows(self) -> Rows:
        if self._rows is None:
            assert self._expand is not None
            self._rows, self._expand = self._expand(), None
        return self._rows

    def __len__(self) -> int:
        return self._count

    def none(self) -> FactSet:
        """No facts, of the same relation."""
        return FactSet(np.empty((0, self._width), np.int32))

    def union(self, *others: FactSet) -> FactSet:
        """The facts of all."""
        some = [each for each in (self, *others) if len(each)]
        if len(some) < 2:
            return some[0] if some else self
        return different([each.rows for each in some])

    def minus(self, other: FactSet) -> FactSet:
        """The facts that `other` has not."""
        if not len(self) or not len(other):
            return self
        jit.work(len(self) + len(other))
        return FactSet(other.membership.unknown(np.ascontiguousarray(self.rows)))

    @property
    def membership(self) -> Membership:
        """The set of the rows."""
        if self._membership is None:
            made = membership_for(self._width)
            made.add(np.ascontiguousarray(self.rows), np.empty((len(self) + 1, self._width), np.int32), 0)
            self._membership = made
        return self._membership


def different(batches: Iterable[Rows]) -> FactSet:
    """The different rows of all `batches`, of which there is at least one."""
    rows = np.concatenate(list(batches))
    jit.work(rows.shape[0])
    out = np.empty((rows.shape[0] + 1, rows.shape[1]), np.int32)
    found = membership_for(rows.shape[1]).add(np.ascontiguousarray(rows), out, 0)
    return FactSet(out[:found])
