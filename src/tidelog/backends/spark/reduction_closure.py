"""Closures as modules: transitive ones by source or by group in one stage, symmetric ones from components."""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.backends.spark.closure_stage import EDGES, ClosureScript, close_partition
from tidelog.backends.spark.partitions import Partitioner
from tidelog.backends.spark.reduction_protocol import delivered, to_all
from tidelog.backends.spark.tagged_rows import Layout, plain_struct
from tidelog.plan.nodes import ClosedRelation
from tidelog.schema import Schema


def close_in_one_stage(
    spark: SparkSession,
    closed: ClosedRelation,
    edges: DataFrame,
    schema: Schema,
    columns: tuple[int, ...],
    partitioner: Partitioner,
) -> DataFrame:
    """The transitive closure of `edges`, shared out by `columns`: those of the group, or the source."""
    group = closed.closure
    is_by_source = columns == (group.source,)
    layout = Layout({EDGES: schema})
    script = ClosureScript(group, schema, layout, partitioner, is_by_source)
    to = to_all(partitioner.partitions) if is_by_source else by_columns(partitioner, schema, columns)
    rows = delivered(layout, [layout.tag(EDGES, edges, to)], spark, partitioner.partitions)
    return rows.mapInArrow(partial(close_partition, script), plain_struct(schema))


def by_columns(partitioner: Partitioner, schema: Schema, columns: tuple[int, ...]) -> Column:
    """The partition of a row by some of its columns; everything together where there are none."""
    named = [sf.col(f"c{number}") for number in columns]
    if len(columns) == 1:
        return partitioner.of_column(schema.kinds[columns[0]], named[0])
    return partitioner.of_row([schema.kinds[number] for number in columns], named)
