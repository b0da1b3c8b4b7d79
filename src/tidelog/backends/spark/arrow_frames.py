"""Tables of relations between this process (Arrow) and Spark (DataFrames). All rows move: for what is known to fit."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.layout import spark_schema, to_carried
from tidelog.facts.columns import arrow_schema
from tidelog.schema import Schema


def frame_of_table(spark: SparkSession, table: pa.Table, schema: Schema) -> DataFrame:
    """A table of the relation as a DataFrame with the types of `spark_schema`."""
    if not schema.arity:
        return spark.range(table.num_rows).select()
    named = table.rename_columns(list(schema.names))
    return spark.createDataFrame(to_carried(named, schema.kinds), schema=spark_schema(schema))


def table_of_frame(frame: DataFrame, schema: Schema) -> pa.Table:
    """A DataFrame with the types of `spark_schema` as a table of the relation."""
    if not schema.arity:
        # Arrow batches without columns lose count of their rows on the way.
        return pa.table({"": pa.nulls(frame.count())}).select([])
    target = arrow_schema(schema)
    rows = frame.toArrow()
    columns = [column.cast(field.type) for column, field in zip(rows.columns, target, strict=True)]
    return pa.Table.from_arrays(columns, schema=target)
