"""Different rows of one relation, apart from those stored: what came, what went, what is in doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from tidelog.facts.difference import pairs_without
from tidelog.facts.membership import Mask, Membership, PairSet, Rows, RowSet, chosen, passing_membership, room_for
from tidelog.kernels import jit
from tidelog.kernels.few_rows import different_rows, rows_without
from tidelog.kernels.rows import project_changing

_MANY_ROWS = 1 << 16

_FEW_COMPARISONS = 1 << 10
"""Rows compared with one another, up to which no table of them is made."""


class FactSet:
    """Rows of ids, each once. It never changes."""

    __slots__ = ("__weakref__", "_count", "_expand", "_membership", "_project", "_rows", "_width")

    def __init__(self, rows: Rows, membership: Membership | None = None) -> None:
        self._rows: Rows | None = rows
        self._membership = membership
        self._count: int = rows.shape[0]
        self._width: int = rows.shape[1]
        self._expand: Callable[[], Rows] | None = None
        self._project: Callable[[tuple[int, ...]], Rows | None] | None = None

    @staticmethod
    def later(
        count: int,
        width: int,
        expand: Callable[[], Rows],
        project: Callable[[tuple[int, ...]], Rows | None] | None = None,
    ) -> FactSet:
        """So many facts, whose rows `expand` gives when somebody asks.

        `project` gives what stands in some of the columns, each combination at least once, or None if it cannot be had
        without the rows.
        """
        made = FactSet(np.empty((0, width), np.int32))
        made._rows, made._count, made._expand, made._project = None, count, expand, project
        return made

    @property
    def rows(self) -> Rows:
        if self._rows is None:
            assert self._expand is not None
            self._rows, self._expand, self._project = self._expand(), None, None
        return self._rows

    def project(self, columns: tuple[int, ...]) -> Rows | None:
        """What stands in these columns, each combination at least once, where that takes less than all rows."""
        return None if self._project is None else self._project(columns)

    def __len__(self) -> int:
        return self._count

    def none(self) -> FactSet:
        """No facts, of the same relation."""
        return FactSet(np.empty((0, self._width), np.int32))

    def chosen(self, mask: Mask) -> FactSet:
        """The facts that the mask says."""
        return self if mask.all() else FactSet(chosen(self.rows, mask))

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
        if len(self) * len(other) <= _FEW_COMPARISONS and other._membership is None:
            rows = np.ascontiguousarray(self.rows)
            out = np.empty_like(rows)
            left = rows_without(rows, np.ascontiguousarray(other.rows), out)
            return self if left == len(self) else FactSet(out[:left])
        return self.outside(other.membership)

    def outside(self, known: Membership) -> FactSet:
        """The facts that are not in a set."""
        found = None
        if isinstance(self._membership, PairSet) and isinstance(known, PairSet):
            found = pairs_without(self._membership, known)
        if found is None:
            found = known.unknown(np.ascontiguousarray(self.rows))
        return self if found.shape[0] == len(self) else FactSet(found)

    def beside(self, *others: FactSet) -> FactSet:
        """The facts of all, which have none in common."""
        some = [each for each in (self, *others) if len(each)]
        if len(some) < 2:
            return some[0] if some else self
        return FactSet(np.concatenate([each.rows for each in some]))

    @property
    def has_membership(self) -> bool:
        """Whether the set of the rows is at hand already."""
        return self._membership is not None

    @property
    def membership(self) -> Membership:
        """The set of the rows."""
        if self._membership is None:
            made = passing_membership(self._width, len(self))
            if isinstance(made, RowSet):
                number_all([self.rows], made)
            else:
                made.add(np.ascontiguousarray(self.rows), np.empty((len(self) + 1, self._width), np.int32), 0)
            self._membership = made
        return self._membership


class Gathering:
    """Rows that come some at a time, of which each is to be kept once."""

    __slots__ = ("_batches", "_known", "_most", "_new")

    def __init__(self) -> None:
        self._batches: list[Rows] = []
        self._new = 0
        self._most = _MANY_ROWS
        self._known: RowSet | None = None

    def add(self, rows: Rows) -> None:
        """Takes rows; the array is free again afterwards."""
        self._take(rows.copy())

    def add_columns(self, rows: Rows, columns: npt.NDArray[np.int64]) -> None:
        """Takes what stands in some columns of rows; without columns, the one row that has none."""
        if not columns.size:
            self._take(np.zeros((1, 1), np.int32))
            return
        jit.work(rows.shape[0])
        part = np.empty((rows.shape[0], columns.size), np.int32)
        self._take(part[: project_changing(rows, columns, part)])

    def __bool__(self) -> bool:
        """Whether there is a row."""
        return bool(self._batches or self._known)

    def _take(self, rows: Rows) -> None:
        self._batches.append(rows)
        self._new += rows.shape[0]
        if self._new > self._most:
            if rows.shape[1] > 2:
                self._settle()
                return
            # As many again as are known are waited for, so that each row is looked at a few times at most.
            kept = self.facts()
            self._batches, self._new, self._most = [kept.rows], 0, max(_MANY_ROWS, len(kept))

    def _settle(self) -> None:
        """Takes what waits into a set, which has its rows in order."""
        if self._known is None:
            self._known = RowSet(self._batches[0].shape[1], 2 * _MANY_ROWS)
        number_all(self._batches, self._known)
        self._batches, self._new = [], 0

    def facts(self) -> FactSet:
        """The different rows so far; there was at least one."""
        if self._known is None:
            return different(self._batches)
        self._settle()
        return FactSet(self._known.rows[: self._known.count], self._known)


def different(batches: Iterable[Rows]) -> FactSet:
    """The different rows of all `batches`, of which there is at least one."""
    some = list(batches)
    width, count = some[0].shape[1], sum(rows.shape[0] for rows in some)
    if width > 2 and count**2 > _FEW_COMPARISONS:
        numbered = RowSet(width, room_for(count))
        number_all(some, numbered)
        return FactSet(numbered.rows[: numbered.count], numbered)
    rows = some[0] if len(some) == 1 else np.concatenate(some)
    if count == 1:
        return FactSet(rows)
    jit.work(count)
    out = np.empty((count + 1, width), np.int32)
    if count**2 <= _FEW_COMPARISONS:
        return FactSet(out[: different_rows(np.ascontiguousarray(rows), out)])
    known = passing_membership(width, count)
    found = known.add(np.ascontiguousarray(rows), out, 0)
    return FactSet(out[:found], known)


def number_all(batches: Iterable[Rows], known: RowSet) -> None:
    """Takes the rows of all batches into a set."""
    for rows in batches:
        jit.work(rows.shape[0])
        known.number(np.ascontiguousarray(rows), np.arange(rows.shape[1]))
