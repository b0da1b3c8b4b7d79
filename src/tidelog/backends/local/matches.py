"""Rows joined with their matches, and what is looked up for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.batch import Batch, Named, keep_rows, layout_of, select_columns, select_some
from tidelog.backends.local.indexes import Matches
from tidelog.facts.buffers import SIZE, borrow, give_back
from tidelog.facts.membership import Rows
from tidelog.kernels import jit
from tidelog.kernels.rows import expand

OUTPUT = SIZE - 1
"""Rows a join gives at a time: enough to make the work between kernels small, few enough to stay in the cache."""

_SMALL_OUTPUT = 1 << 13

Argument = str | int
"""What a key column is compared with: a name of the batch, or the id of a constant."""


def expanded(batch: Batch, matches: Matches, new: Named, names: tuple[str, ...]) -> Iterator[Batch]:
    """The rows of `batch` with each of their matches, with the columns `names`, some at a time.

    A batch that it gives is good until the next one is asked for.
    """
    keep, take = batch.names.joined(new, names)
    layout = layout_of(names)
    row = offset = 0
    left = matches.total
    jit.work(left)
    while left:
        lent = borrow(keep.size) if left > _SMALL_OUTPUT else np.empty((left, keep.size), np.int32)
        out = lent[: min(left, OUTPUT)]
        filled, row, offset = expand(
            batch.rows, keep, matches.begins, matches.lengths, matches.payload, take, out, row, offset
        )
        left -= filled
        yield Batch(out, layout)
        if lent.shape[0] == SIZE:
            give_back(lent)


@lru_cache(1 << 12)
def in_payload(new: Named, columns: tuple[int, ...]) -> Named:
    """Names of columns of a relation, as columns of rows that have these columns of it."""
    return tuple((name, columns.index(column)) for name, column in new)


def first_of(matches: Matches, most: int | None) -> Matches:
    """At most so many matches of each row."""
    if most is None:
        return matches
    lengths = np.minimum(matches.lengths, most)
    return Matches(matches.begins, lengths, matches.payload, int(lengths.sum()))


def agreeing(batch: Batch, pairs: tuple[tuple[str, str], ...], names: tuple[str, ...]) -> Batch:
    """The rows of `batch` in which the columns of each pair agree."""
    if not pairs:
        return batch
    mask = np.ones(batch.size, np.bool_)
    for one, other in pairs:
        mask &= batch.column(one) == batch.column(other)
    return keep_rows(batch, mask, names)


def probing(batch: Batch, arguments: tuple[Argument, ...]) -> tuple[Rows, npt.NDArray[np.int64]]:
    """Rows and the columns of them that hold the key: those of the batch itself where no constant takes part."""
    if all(isinstance(argument, str) for argument in arguments):
        return batch.rows, batch.names.places(arguments)  # type: ignore[arg-type]
    return key_rows(batch, arguments), np.arange(len(arguments))


def key_rows(batch: Batch, arguments: tuple[Argument, ...]) -> Rows:
    """The key of each row of `batch`, as rows of their own."""
    if all(isinstance(argument, str) for argument in arguments):
        return select_columns(batch, arguments)  # type: ignore[arg-type]
    rows = np.empty((batch.size, len(arguments)), np.int32)
    for column, argument in enumerate(arguments):
        rows[:, column] = batch.column(argument) if isinstance(argument, str) else argument
    return rows


def with_column(batch: Batch, name: str, ids: npt.NDArray[np.int32], names: tuple[str, ...]) -> Batch:
    """`batch` with one more column, reduced to the columns `names`."""
    if name not in names:
        return Batch(select_columns(batch, names), layout_of(names))
    rows = select_some(batch, names, name)
    rows[:, names.index(name)] = ids
    return Batch(rows, layout_of(names))
