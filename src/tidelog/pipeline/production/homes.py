"""Which partitions rows of a relation belong to: takes Arrow tables and a way, returns numbers of partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tidelog.backends.spark.partitions import (
    Hashes,
    Partitioner,
    Partitions,
    hash_of_numbers,
    hash_of_rows,
    hash_of_texts,
)
from tidelog.facts.columns import ArrowColumn, numbers_of, values_of
from tidelog.facts.membership import Mask
from tidelog.plan.placement import EVERYWHERE, WHOLE_ROW
from tidelog.schema import Kind, Schema


def partitions_of(partitioner: Partitioner, schema: Schema, rows: pa.Table, way: int) -> Partitions | None:
    """The partition of each row, whose first columns are those of `schema`; None for all partitions."""
    if way == EVERYWHERE:
        return None
    columns = range(schema.arity) if way == WHOLE_ROW else (way,)
    hashes = [_hashes(schema.kinds[number], rows.column(number)) for number in columns]
    return partitioner.of_hashes(hash_of_rows(hashes, rows.num_rows) if way == WHOLE_ROW else hashes[0])


def is_at(partitioner: Partitioner, schema: Schema, rows: pa.Table, ways: Sequence[int], number: int) -> Mask:
    """Which rows belong to the partition by one of `ways`."""
    found = np.zeros(rows.num_rows, np.bool_)
    for way in ways:
        partitions = partitions_of(partitioner, schema, rows, way)
        found |= True if partitions is None else partitions == number
    return found


def sent(partitioner: Partitioner, schema: Schema, rows: pa.Table, ways: Sequence[int]) -> Iterator[tuple[int, Mask]]:
    """Each partition that some of `rows` belong to by one of `ways`, and which these are."""
    for number in range(partitioner.partitions):
        mine = is_at(partitioner, schema, rows, ways, number)
        if mine.any():
            yield number, mine


def _hashes(kind: Kind, column: ArrowColumn) -> Hashes:
    if kind is Kind.SYMBOL:
        return hash_of_texts(values_of(column))  # type: ignore[arg-type]
    return hash_of_numbers(kind, numbers_of(kind, column))
