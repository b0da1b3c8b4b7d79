"""What flows between the steps of a rule: rows of ids, with a name for each column that somebody reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tidelog.facts.membership import Mask, Rows
from tidelog.kernels import jit
from tidelog.kernels.rows import compress, project
from tidelog.span import Span

MORSEL = 1 << 16
"""Rows read at a time from a relation."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of ids; `names` gives the column of each name. Columns without a name are of no interest."""

    rows: Rows
    names: Mapping[str, int]

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


UNIT = Batch(np.zeros((1, 1), np.int32), {})
"""One row, nothing bound."""


def keep_rows(batch: Batch, mask: Mask, names: tuple[str, ...]) -> Batch:
    """The rows of `batch` for which `mask` holds, with these columns only."""
    columns = np.array([batch.names[name] for name in names], np.int64)
    out = np.empty((int(np.count_nonzero(mask)), max(1, columns.size)), np.int32)
    jit.work(batch.size)
    compress(batch.rows, columns, mask, out)
    return Batch(out, {name: number for number, name in enumerate(names)})


def select_columns(batch: Batch, names: tuple[str, ...]) -> Rows:
    """The columns of these names, in this order, as rows of their own."""
    columns = np.array([batch.names[name] for name in names], np.int64)
    out = np.empty((batch.size, max(1, columns.size)), np.int32)
    if not columns.size:
        out[:] = 0
    project(batch.rows, columns, out)
    return out


def without(batch: Batch, mask: Mask) -> Batch:
    """The rows of `batch` for which `mask` does not hold."""
    return Batch(np.ascontiguousarray(batch.rows[~mask]), batch.names)
