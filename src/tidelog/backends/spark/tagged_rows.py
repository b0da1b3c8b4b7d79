"""Rows of several relations in one frame, on their way into a stage: a tag says whose, and columns are shared by all
that have one of the kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from tidelog.backends.spark.layout import CARRIED, SPARK_TYPES, column_names, spark_schema_of, stored_kinds
from tidelog.facts.columns import ARROW_TYPES, ArrowColumn, arrow_schema, column_of_numbers
from tidelog.schema import Kind, Schema

Partitions = npt.NDArray[np.int32]
Truths = npt.NDArray[np.bool_]

TO = "~to"
"""The column with the partition that a row is for."""

TAG = "~tag"

MARKER = -1
"""The tag of a row that is there only so that no partition is empty."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows of each of `schemas` (by the name that is their tag) lie in a frame."""

    schemas: Mapping[str, Schema]

    @property
    def tags(self) -> Mapping[str, int]:
        """The number that stands for each name."""
        return {name: number for number, name in enumerate(self.schemas)}

    @property
    def slots(self) -> Mapping[str, Kind]:
        """The columns for values, and what they hold."""
        most = {kind: max((stored_kinds(s).count(kind) for s in self.schemas.values()), default=0) for kind in Kind}
        return {slot(kind, number): kind for kind, count in most.items() for number in range(count)}

    def tag(self, name: str, frame: DataFrame, to: Column) -> DataFrame:
        """The rows of `frame`, whose columns are those of `name` in order; `to` is an expression over c0, c1 and on."""
        places = {place: column for column, place in enumerate(slots_of(self.schemas[name]))}
        named = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
        values = [
            (sf.col(f"c{places[name]}") if name in places else sf.lit(None)).cast(SPARK_TYPES[kind]).alias(name)
            for name, kind in self.slots.items()
        ]
        return named.select(to.alias(TO), sf.lit(self.tags[name]).alias(TAG), *values)

    def markers(self, spark: SparkSession, partitions: int) -> DataFrame:
        """One row for each partition, so that each runs."""
        nothing = [sf.lit(None).cast(SPARK_TYPES[kind]).alias(name) for name, kind in self.slots.items()]
        return spark.range(partitions).select(sf.col("id").cast("int").alias(TO), sf.lit(MARKER).alias(TAG), *nothing)

    def tables(self, batches: Iterable[pa.RecordBatch]) -> dict[str, pa.Table]:
        """The rows of a partition by name, as tables that the engine takes."""
        found: dict[str, list[list[ArrowColumn]]] = {name: [] for name in self.schemas}
        counts = dict.fromkeys(self.schemas, 0)
        names = list(self.schemas)
        for batch in batches:
            tags = small_numbers_of(batch.column(batch.schema.get_field_index(TAG)))
            for tag in np.unique(tags[tags != MARKER]).tolist():
                name = names[tag]
                part = batch if (tags == tag).all() else batch.filter(column_of_truths(tags == tag))
                counts[name] += part.num_rows
                found[name].append([part.column(part.schema.get_field_index(s)) for s in slots_of(self.schemas[name])])
        return {name: _table(self.schemas[name], parts, counts[name]) for name, parts in found.items() if parts}


def slot(kind: Kind, number: int) -> str:
    """The column for the values of a kind of which a row has several."""
    return f"{kind.value}{number}"


def slots_of(schema: Schema) -> list[str]:
    """The columns in which the values of a row of the relation lie."""
    seen = dict.fromkeys(Kind, 0)
    names = []
    for kind in stored_kinds(schema):
        names.append(slot(kind, seen[kind]))
        seen[kind] += 1
    return names


def plain_struct(schema: Schema) -> StructType:
    """The Spark schema of the rows of one relation."""
    kinds = stored_kinds(schema)
    return spark_schema_of(kinds, column_names(len(kinds)))


def plain_batches(schema: Schema, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """`rows` as batches of a frame that has that relation only."""
    columns = [sent(kind, column) for kind, column in zip(stored_kinds(schema), stored_columns(rows), strict=True)]
    yield from pa.table(columns, names=list(column_names(len(columns)))).combine_chunks().to_batches()


def stored_columns(rows: pa.Table) -> list[ArrowColumn]:
    """The columns of a table of a relation, as they are stored: one of zeros where it has none."""
    return list(rows.columns) or [column_of_numbers(Kind.NUMBER, np.zeros(rows.num_rows, np.int64))]


def sent(kind: Kind, column: ArrowColumn) -> ArrowColumn:
    """A column of the engine in the type that Spark takes."""
    return column if CARRIED[kind] == column.type else column.cast(CARRIED[kind])


def received(kind: Kind, column: ArrowColumn) -> ArrowColumn:
    """A column that came from Spark in the type of the engine."""
    return column if ARROW_TYPES[kind] == column.type else column.cast(ARROW_TYPES[kind])


def small_numbers_of(column: ArrowColumn) -> Partitions:
    """The 32-bit numbers of an Arrow column without nulls."""
    return np.frombuffer(column.buffers()[1], np.int32, len(column), 4 * column.offset)


def column_of_truths(truths: Truths) -> ArrowColumn:
    """An Arrow column of booleans."""
    bits = np.packbits(truths, bitorder="little").tobytes()
    return pa.Array.from_buffers(pa.bool_(), truths.size, [None, pa.py_buffer(bits)])


def union_all(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all frames, of which there is at least one."""
    return reduce(DataFrame.unionAll, frames)


def _table(schema: Schema, parts: list[list[ArrowColumn]], count: int) -> pa.Table:
    if not schema.arity:
        return pa.table({"": pa.nulls(count)})
    columns = [
        pa.chunked_array([received(kind, part[number]) for part in parts]) for number, kind in enumerate(schema.kinds)
    ]
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))
