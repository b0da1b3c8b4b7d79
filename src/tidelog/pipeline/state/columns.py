"""Columns of state tables: the same relation as Arrow in the driver, as a DataFrame, and as it lies in files.

In files every name differs from the others in more than case (Spark does not tell `x` from `X`), unsigned numbers are
decimals (Spark has no unsigned type), and a relation without columns has one that says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StructField, StructType

from tidelog.backends.spark.layout import SPARK_TYPES
from tidelog.errors import UsageError
from tidelog.facts.columns import ARROW_TYPES, column_of_numbers
from tidelog.pipeline.state.protocol import Rows
from tidelog.schema import Kind

STORED_TYPES: dict[Kind, pa.DataType] = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.decimal128(20, 0),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.large_string(),
}

PRESENT = "_"
"""The column of a relation without columns."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind


Columns: TypeAlias = tuple[Column, ...]


def columns_of(table: str, rows: Rows) -> Columns:
    """The columns of `rows`; those of a type that no kind has are an error that names the table."""
    if isinstance(rows, pa.Table):
        return tuple(Column(field.name, _kind_of_arrow(table, field)) for field in rows.schema)
    return tuple(Column(field.name, _kind_of_spark(table, field)) for field in rows.schema.fields)


def checked_columns(table: str, known: Columns | None, given: Sequence[Columns]) -> Columns:
    """The columns of a table that has `known` ones, or none yet, and is given rows; an error when they differ."""
    if known is None and not given:
        raise UsageError(
            f"the state has no table '{table}' yet, and no rows of it are given: its columns are not known"
        )
    expected = given[0] if known is None else known
    for columns in given:
        if columns != expected:
            raise UsageError(
                f"table '{table}' has the columns ({_told(expected)}), the change has ({_told(columns)}): give rows "
                f"of the same columns, or replace the table"
            )
    return expected


def stored_names(columns: Columns) -> list[str]:
    """The names of the columns in files."""
    names = [column.name for column in columns]
    if len({name.lower() for name in names}) == len(names):
        return names or [PRESENT]
    return [f"c{place}" for place in range(len(names))]


def stored_spark_schema(columns: Columns) -> StructType:
    """What Spark reads from the files."""
    kinds = [column.kind for column in columns] or [Kind.NUMBER]
    return StructType(
        [StructField(name, SPARK_TYPES[kind]) for name, kind in zip(stored_names(columns), kinds, strict=True)]
    )


def arrow_to_stored(rows: pa.Table, columns: Columns) -> pa.Table:
    """Rows as they go into files."""
    if not columns:
        return pa.table({PRESENT: column_of_numbers(Kind.NUMBER, np.ones(rows.num_rows, np.int64))})
    types = [pa.field(name, STORED_TYPES[c.kind]) for name, c in zip(stored_names(columns), columns, strict=True)]
    return rows.rename_columns(stored_names(columns)).cast(pa.schema(types))


def stored_arrow_schema(columns: Columns) -> pa.Schema:
    """What Arrow makes of the files, before unsigned numbers and names are those of the relation again."""
    kinds = [column.kind for column in columns] or [Kind.NUMBER]
    return pa.schema([(name, STORED_TYPES[kind]) for name, kind in zip(stored_names(columns), kinds, strict=True)])


def arrow_from_stored(rows: pa.Table, columns: Columns) -> pa.Table:
    """Rows of files in the types of `facts.columns`."""
    if not columns:
        return rows.select([])
    fields = [pa.field(column.name, ARROW_TYPES[column.kind], nullable=False) for column in columns]
    return rows.rename_columns([column.name for column in columns]).cast(pa.schema(fields))


def frame_to_stored(rows: DataFrame, columns: Columns) -> DataFrame:
    """A DataFrame as it goes into files."""
    if not columns:
        return rows.select(f.lit(1).cast(LongType()).alias(PRESENT))
    return rows.toDF(*stored_names(columns))


def frame_from_stored(rows: DataFrame, columns: Columns) -> DataFrame:
    """A DataFrame of files with the names of the relation."""
    if not columns:
        return rows.select()
    return rows if stored_names(columns) == [c.name for c in columns] else rows.toDF(*(c.name for c in columns))


def _told(columns: Columns) -> str:
    return ", ".join(f"{column.name}: {column.kind.value}" for column in columns)


def _kind_of_arrow(table: str, field: pa.Field[pa.DataType]) -> Kind:
    if pa.types.is_string(field.type):
        return Kind.SYMBOL
    for kind, arrow_type in ARROW_TYPES.items():
        if arrow_type.equals(field.type):
            return kind
    raise _not_stored(table, field.name, str(field.type))


def _kind_of_spark(table: str, field: StructField) -> Kind:
    for kind, spark_type in SPARK_TYPES.items():
        if spark_type == field.dataType:
            return kind
    raise _not_stored(table, field.name, field.dataType.simpleString())


def _not_stored(table: str, column: str, given: str) -> UsageError:
    return UsageError(
        f"column '{column}' of table '{table}' is of type {given}; a state keeps 64-bit integers, decimal(20,0) or "
        f"uint64, doubles and strings: bring the rows into the relation's schema first"
    )
