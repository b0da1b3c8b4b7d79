"""Tables of relations between this process (Arrow) and Spark (DataFrames). All rows move: for what is known to fit."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.types import spark_schema
from tidelog.facts.columns import arrow_schema
from tidelog.schema import Kind, Schema

CARRIED: dict[Kind, pa.DataType] = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.decimal128(20, 0),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.string(),
}
"""The Arrow types that Spark takes and gives; it has no unsigned ones."""


def frame_of_table(spark: SparkSession, table: pa.Table, schema: Schema) -> DataFrame:
    """A table of the relation as a DataFrame with the types of `spark_schema`."""
    if not schema.arity:
        return spark.range(table.num_rows).select()
    columns = [column.cast(CARRIED[kind]) for column, kind in zip(table.columns, schema.kinds, strict=True)]
    # PySpark loses the rows behind a chunk that is empty.
    named = pa.Table.from_arrays(columns, names=list(schema.names)).combine_chunks()
    return spark.createDataFrame(named, schema=spark_schema(schema))


def table_of_frame(frame: DataFrame, schema: Schema) -> pa.Table:
    """A DataFrame with the types of `spark_schema` as a table of the relation."""
    if not schema.arity:
        # Arrow batches without columns lose count of their rows on the way.
        return pa.table({"": pa.nulls(frame.count())}).select([])
    target = arrow_schema(schema)
    rows = frame.toArrow()
    columns = [column.cast(field.type) for column, field in zip(rows.columns, target, strict=True)]
    return pa.Table.from_arrays(columns, schema=target)
