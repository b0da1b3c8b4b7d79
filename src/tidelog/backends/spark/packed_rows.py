"""Rows between stages: those of a relation that go to one partition are one binary value.

Spark carries a few large values many times faster than millions of rows, and what a partition knows travels in every
round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, BooleanType, IntegerType, LongType, StructField, StructType

from tidelog.backends.spark.tagged_rows import MARKER, TAG, TO, Layout, plain_batches, plain_struct
from tidelog.facts.columns import arrow_schema
from tidelog.schema import Schema

IS_ANSWER = "~is_answer"
"""The column that says whether the rows are part of the answer."""

COUNT = "~count"
ROWS = "~rows"

PACKED = StructType(
    [
        StructField(TO, IntegerType(), nullable=False),
        StructField(TAG, IntegerType(), nullable=False),
        StructField(IS_ANSWER, BooleanType(), nullable=False),
        StructField(COUNT, LongType(), nullable=False),
        StructField(ROWS, BinaryType(), nullable=False),
    ]
)

_NAMES = PACKED.names
_TYPES = [pa.int32(), pa.int32(), pa.bool_(), pa.int64(), pa.binary()]


def packed(layout: Layout, name: str, rows: pa.Table, to: int, *, is_answer: bool) -> pa.RecordBatch:
    """The rows of a relation, on their way to one partition."""
    return _batch(to, layout.tags[name], is_answer, rows)


def packed_marker(to: int) -> pa.RecordBatch:
    """What tells a partition its number, if nothing else does."""
    return _batch(to, MARKER, False, pa.table({}))


def unpacked(layout: Layout, batches: Iterable[pa.RecordBatch]) -> dict[str, pa.Table]:
    """The rows of a partition by name."""
    names = list(layout.schemas)
    found: dict[str, list[pa.Table]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            if row[TAG] != MARKER:
                name = names[row[TAG]]
                found.setdefault(name, []).append(_table(layout.schemas[name], row[COUNT], row[ROWS]))
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def has_packed(frame: DataFrame) -> bool:
    """Whether a frame of packed rows has any. All partitions are computed at once; `isEmpty` would begin with one."""
    return bool(frame.select(TO).toArrow().num_rows)


def answers(layout: Layout, name: str, frame: DataFrame) -> DataFrame:
    """The rows of `name` in a frame of packed rows that are answers, with the columns of a stored relation."""
    schema = layout.schemas[name]
    mine = frame.where((sf.col(TAG) == layout.tags[name]) & sf.col(IS_ANSWER))
    return mine.mapInArrow(partial(plain_rows, schema), plain_struct(schema))


def plain_rows(schema: Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All rows of one relation, one by one."""
    for batch in batches:
        for row in batch.to_pylist():
            rows = _table(schema, row[COUNT], row[ROWS])
            yield from plain_batches(schema, rows if schema.arity else rows.select([]))


def _batch(to: int, tag: int, is_answer: bool, rows: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    values = (to, tag, is_answer, rows.num_rows, sink.getvalue().to_pybytes())
    columns = [pa.array([value], each) for value, each in zip(values, _TYPES, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=_NAMES)


def _table(schema: Schema, count: int, rows: bytes) -> pa.Table:
    if not schema.arity:
        return pa.table({"": pa.nulls(count)})
    return pa.ipc.open_stream(rows).read_all().cast(arrow_schema(schema))
