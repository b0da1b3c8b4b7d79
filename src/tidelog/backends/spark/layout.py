"""How rows lie in DataFrames: the columns of a relation by number, those of a rule's body by variable.

Spark does not tell upper from lower case in names, and a relation without columns cannot be a DataFrame whose rows
count. So names are spelled out here, and such a relation has one column that is always 0.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql.types import DataType, DecimalType, DoubleType, LongType, StringType, StructField, StructType

from tidelog.facts.columns import ARROW_TYPES, arrow_schema, column_of_numbers
from tidelog.schema import Kind, Schema

AGE_COLUMN = "age"
"""The column behind those of a stored relation: when the row came."""

SPARK_TYPES: dict[Kind, DataType] = {
    Kind.NUMBER: LongType(),
    Kind.UNSIGNED: DecimalType(20, 0),
    Kind.FLOAT: DoubleType(),
    Kind.SYMBOL: StringType(),
}
"""The Spark type of a column of that kind."""

CARRIED: dict[Kind, pa.DataType] = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.decimal128(20, 0),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.string(),
}
"""The Arrow type in which a column of that kind goes to Spark and comes from there; Spark has no unsigned ones."""


def stored_kinds(schema: Schema) -> tuple[Kind, ...]:
    """The kinds of the columns in which rows of a relation are stored; there is always one."""
    return schema.kinds or (Kind.NUMBER,)


def column_names(count: int) -> tuple[str, ...]:
    """The names of the columns of a stored relation."""
    return tuple(f"c{number}" for number in range(count))


def variable_column(name: str) -> str:
    """The name of the column of a variable: different for different variables, whatever their case."""
    return "v" + "".join(_spelled(letter) for letter in name)


def _spelled(letter: str) -> str:
    if letter.isascii() and (letter.islower() or letter.isdigit()):
        return letter
    return f"_{ord(letter):x}_"


def spark_schema_of(kinds: tuple[Kind, ...], names: tuple[str, ...]) -> StructType:
    """Columns of these kinds and names."""
    fields = zip(names, kinds, strict=True)
    return StructType([StructField(name, SPARK_TYPES[kind], nullable=False) for name, kind in fields])


def spark_schema(schema: Schema) -> StructType:
    """The Spark schema of a relation's table outside the backend; no column holds NULL."""
    return spark_schema_of(schema.kinds, schema.names)


def stored_table(rows: pa.Table, schema: Schema) -> pa.Table:
    """The rows of a table of a relation, each as often as it is there, under the names in which they are stored."""
    names = column_names(max(1, schema.arity))
    if not schema.arity:
        zeros = column_of_numbers(Kind.NUMBER, np.zeros(rows.num_rows, np.int64))
        return pa.Table.from_arrays([zeros], names=list(names))
    types = [ARROW_TYPES[kind] for kind in schema.kinds]
    columns = [column.cast(each) for column, each in zip(rows.columns, types, strict=True)]
    return pa.Table.from_arrays(columns, names=list(names))


def public_table(rows: pa.Table, schema: Schema) -> pa.Table:
    """Stored rows as a table of the relation."""
    if not schema.arity:
        return pa.table({"": pa.nulls(rows.num_rows)}).select([])
    return pa.Table.from_arrays(rows.columns, schema=arrow_schema(schema))


def no_rows(kinds: tuple[Kind, ...]) -> pa.Table:
    """A table of stored rows that has none."""
    names = column_names(len(kinds))
    return pa.table({name: pa.array([], ARROW_TYPES[kind]) for name, kind in zip(names, kinds, strict=True)})


def to_carried(rows: pa.Table, kinds: tuple[Kind, ...]) -> pa.Table:
    """`rows` in the types that Spark reads, in one piece: behind an empty one Spark reads no more."""
    columns = [column.cast(CARRIED[kind]) for column, kind in zip(rows.columns, kinds, strict=True)]
    return pa.Table.from_arrays(columns, names=rows.column_names).combine_chunks()


def from_carried(rows: pa.Table, kinds: tuple[Kind, ...]) -> pa.Table:
    """Rows that came from Spark, in the types that facts have in this process."""
    columns = [column.cast(ARROW_TYPES[kind]) for column, kind in zip(rows.columns, kinds, strict=True)]
    return pa.Table.from_arrays(columns, names=rows.column_names)
