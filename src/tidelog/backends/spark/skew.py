"""Keys that have more rows than a fair share: they get partitions of their own, so that no other key waits for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace
from math import ceil

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tidelog.backends.spark.partitions import Partitioner
from tidelog.backends.spark.reduction_protocol import Tables
from tidelog.backends.spark.tagged_rows import union_all
from tidelog.schema import Kind, Schema, Value

HEAVY = 0.5
"""The part of a fair share from which on a key is looked after."""

WEIGHED_KINDS = (Kind.NUMBER, Kind.SYMBOL, Kind.FLOAT)


def weigh(
    keys: Sequence[tuple[str, int]], tables: Tables, schemas: Mapping[str, Schema], partitions: int
) -> Partitioner:
    """Partitions for the values of these columns, each a relation and its column, by how many rows each value has.

    It takes one job, which counts; of its answer at most two keys for each partition come to the driver.
    """
    kinds = [schemas[name].kinds[column] for name, column in keys]
    chosen = next((kind for kind in kinds if kind in WEIGHED_KINDS), None)
    frames = [
        tables[name].toDF(*(f"c{number}" for number in range(len(tables[name].columns)))).select(sf.col(f"c{column}"))
        for (name, column), kind in zip(keys, kinds, strict=True)
        if kind is chosen and name in tables
    ]
    if chosen is None or not frames or partitions < 2:
        return Partitioner(partitions)
    return pack(chosen, *heavy_keys(union_all(frames).toDF("key"), partitions), partitions)


def heavy_keys(keys: DataFrame, partitions: int) -> tuple[dict[Value, int], int]:
    """The keys that have more than HEAVY of a fair share of all rows, with their numbers of rows, and that of all."""
    counts = keys.groupBy("key").agg(sf.count("*").alias("rows"))
    total = counts.agg(sf.sum("rows").alias("total"))
    bound = sf.col("total") * HEAVY / partitions
    found = counts.crossJoin(sf.broadcast(total)).where(sf.col("rows") > bound).toArrow()
    rows = found.to_pylist()
    return {row["key"]: row["rows"] for row in rows}, rows[0]["total"] if rows else 0


def pack(kind: Kind, heavy: Mapping[Value, int], total: int, partitions: int) -> Partitioner:
    """As many partitions as they need for the heavy keys, the heaviest first and each where there is least so far; the
    others are for all other keys."""
    if not heavy or partitions < 2:
        return Partitioner(partitions)
    reserved = min(partitions - 1, len(heavy), max(1, ceil(sum(heavy.values()) * partitions / total)))
    bins = [(0, number) for number in range(reserved)]
    heapify(bins)
    where: list[tuple[Value, int]] = []
    for key, rows in sorted(heavy.items(), key=lambda item: (-item[1], str(item[0]))):
        load, number = bins[0]
        where.append((key, number))
        heapreplace(bins, (load + rows, number))
    return Partitioner(partitions, tuple(where), kind, reserved)
