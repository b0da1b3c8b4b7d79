"""Layers of a table: when they are taken together, and what they come to.

A row of a layer counts 1 where it was added and -1 where it was removed. Deltas are exact, so the sum over the base and
all layers is 1 for a row that is there and 0 for one that is not, and over layers alone 1, 0 or -1. That makes taking
together any run of neighbours safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from tidelog.facts.columns import column_of, column_of_numbers
from tidelog.pipeline.state.manifest import Layer
from tidelog.schema import Kind

MOST_LAYERS = 16
"""Layers of a table before some are merged: what a read opens besides the base."""

FEWEST_MERGED = 8
"""A merge takes at least so many layers together, so that it comes up every so many commits at most."""

SHARE = 0.3
"""Rows in layers, as a share of the base, from which on the base is written anew."""

FEW_COUNTED = 5_000
"""Rows that are counted in Python, where Arrow would take longer to begin (it loads pandas) than to work."""

FEW_ROWS = 1_000
"""Rows in layers for which no base is written anew, however small it is."""


def outweighs(layers: Sequence[Layer], base_rows: int) -> bool:
    """Whether the layers have grown so much that base and layers should be written as one base."""
    return sum(layer.rows for layer in layers) > max(FEW_ROWS, SHARE * base_rows)


def merged_from(layers: Sequence[Layer]) -> int:
    """The place from which on `layers` should be merged into one; their number when all may stay.

    Goes back over layers while they are not much larger than what comes after them, so that a row is rewritten a number
    of times that grows with the logarithm of the rows.
    """
    if len(layers) <= MOST_LAYERS:
        return len(layers)
    place = len(layers) - FEWEST_MERGED
    rows = sum(layer.rows for layer in layers[place:])
    while place and layers[place - 1].rows <= 2 * rows:
        place -= 1
        rows += layers[place].rows
    return place


def net_of_tables(added: Sequence[pa.Table], removed: Sequence[pa.Table]) -> tuple[pa.Table, pa.Table]:
    """What tables of added and removed rows come to: the rows of sum 1 and those of sum -1."""
    rows = pa.concat_tables([*added, *removed])
    signs = [(1, table.num_rows) for table in added] + [(-1, table.num_rows) for table in removed]
    sign = np.repeat([value for value, _ in signs], [count for _, count in signs])
    if rows.num_rows <= FEW_COUNTED:
        return _counted_in_python(rows, sign.tolist())
    name = "".join(rows.column_names) + "?"  # the name of no column
    signed = rows.append_column(name, column_of_numbers(Kind.NUMBER, sign))
    sums = signed.group_by(rows.column_names).aggregate([(name, "sum")])

    def of_sum(value: int) -> pa.Table:
        kept = sums.filter(pc.equal(sums.column(f"{name}_sum"), column_of(Kind.NUMBER, [value])[0]))
        return kept.select(rows.column_names).cast(rows.schema)

    return of_sum(1), of_sum(-1)


def net_of_frames(added: Sequence[DataFrame], removed: Sequence[DataFrame]) -> tuple[DataFrame, DataFrame]:
    """The same for DataFrames."""
    names = (*added, *removed)[0].columns
    sign = "".join(names) + "?"
    one, minus_one = f.lit(1), f.lit(-1)
    signed = [frame.withColumn(sign, one) for frame in added] + [frame.withColumn(sign, minus_one) for frame in removed]
    total: Column = f.sum(_named(sign)).alias(sign)
    sums = union_of(signed).groupBy(*map(_named, names)).agg(total)
    kept = [_named(name) for name in names]
    return sums.where(_named(sign) == one).select(*kept), sums.where(_named(sign) == minus_one).select(*kept)


def frame_without(rows: DataFrame, removed: DataFrame) -> DataFrame:
    """The rows that are not among `removed`: only the smaller side is sent around where Spark sees that it is small."""
    return rows.join(removed, on=rows.columns, how="left_anti")


def union_of(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of one or more frames."""
    return reduce(lambda left, right: left.unionAll(right), frames)


def _named(name: str) -> Column:
    return f.col(f"`{name}`")


def _counted_in_python(rows: pa.Table, signs: Sequence[int]) -> tuple[pa.Table, pa.Table]:
    sums: dict[tuple[object, ...], int] = {}
    places: dict[tuple[object, ...], int] = {}
    for place, (row, sign) in enumerate(
        zip(zip(*(column.to_pylist() for column in rows.columns), strict=True), signs, strict=True)
    ):
        sums[row] = sums.get(row, 0) + sign
        places[row] = place

    def of_sum(value: int) -> pa.Table:
        return rows.take(column_of(Kind.NUMBER, [places[row] for row, total in sums.items() if total == value]))

    return of_sum(1), of_sum(-1)
