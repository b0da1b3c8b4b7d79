"""What flows between the steps of a rule: rows of ids, with a name for each column that somebody reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import Mask, Rows
from tidelog.kernels import jit
from tidelog.kernels.rows import compress, project, project_some
from tidelog.span import Span

MORSEL = 1 << 16
"""Rows read at a time from a relation."""


Places = npt.NDArray[np.int64]


class Layout(dict[str, int]):
    """The column of each name. Arrays of columns are made once: small batches come by the thousand, in few layouts."""

    def __init__(self, columns: Mapping[str, int]) -> None:
        super().__init__(columns)
        self._places: dict[tuple[str, ...], Places] = {}
        self._joined: dict[tuple[Named, tuple[str, ...]], tuple[Places, Places]] = {}

    def places(self, names: tuple[str, ...]) -> Places:
        """The columns of these names."""
        found = self._places.get(names)
        if found is None:
            found = self._places[names] = np.array([self[name] for name in names], np.int64)
        return found

    def joined(self, new: Named, names: tuple[str, ...]) -> tuple[Places, Places]:
        """For rows with the columns `names`: the column here that each is, and that of a match, which has the `new`
        ones; -1 where it is from the other side."""
        found = self._joined.get((new, names))
        if found is None:
            matched = dict(new)
            keep = [-1 if name in matched else self[name] for name in names] or [0]
            take = [matched.get(name, -1) for name in names] or [-1]
            found = self._joined[new, names] = np.array(keep, np.int64), np.array(take, np.int64)
        return found


Named = tuple[tuple[str, int], ...]
"""Names, each with its column."""


@lru_cache(1 << 12)
def layout_of(names: tuple[str, ...]) -> Layout:
    """Columns in the order of their names."""
    return Layout({name: number for number, name in enumerate(names)})


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of ids, laid out by `names`. Columns without a name are of no interest."""

    rows: Rows
    names: Layout

    @property
    def size(self) -> int:
        return int(self.rows.shape[0])

    def column(self, name: str) -> Rows:
        return self.rows[:, self.names[name]]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an expression has no value, and where it stands."""

    reason: str
    span: Span


@dataclass(frozen=True, slots=True)
class Missing:
    """The rows of a batch for which an expression has no value, and why."""

    rows: Mask
    problem: Problem


UNIT = Batch(np.zeros((1, 1), np.int32), layout_of(()))
"""One row, nothing bound."""


def keep_rows(batch: Batch, mask: Mask, names: tuple[str, ...]) -> Batch:
    """The rows of `batch` for which `mask` holds, with these columns only."""
    kept = int(np.count_nonzero(mask))
    if kept == batch.size:
        return Batch(select_columns(batch, names), layout_of(names))
    out = np.empty((kept, len(names) or 1), np.int32)
    if kept:
        jit.work(batch.size)
        compress(batch.rows, batch.names.places(names), mask, out)
    return Batch(out, layout_of(names))


def select_columns(batch: Batch, names: tuple[str, ...]) -> Rows:
    """The columns of these names, in this order: the rows of the batch itself where they have no others."""
    if names and batch.names is layout_of(names) and batch.rows.shape[1] == len(names):
        return batch.rows
    out = np.empty((batch.size, len(names) or 1), np.int32)
    if names:
        project(batch.rows, batch.names.places(names), out)
    else:
        out[:] = 0
    return out


def select_some(batch: Batch, names: tuple[str, ...], other: str) -> Rows:
    """As `select_columns`, where columns of the name `other`, which is not there, have anything."""
    out = np.empty((batch.size, len(names)), np.int32)
    jit.work(batch.size)
    project_some(batch.rows, batch.names.joined(((other, 0),), names)[0], out)
    return out


def without(batch: Batch, mask: Mask) -> Batch:
    """The rows of `batch` for which `mask` does not hold."""
    return Batch(np.ascontiguousarray(batch.rows[~mask]), batch.names)
