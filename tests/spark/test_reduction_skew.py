"""Heavy keys have partitions of their own, and both sides agree on which partition a value belongs to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tidelog.backends.spark.components import least_connected
from tidelog.backends.spark.layout import SPARK_TYPES
from tidelog.backends.spark.partitions import Partitioner, hash_of_numbers, hash_of_rows, hash_of_texts
from tidelog.backends.spark.skew import pack, weigh
from tidelog.schema import Attribute, Kind, Schema

NUMBERS = np.array([0, 1, -1, 2**63 - 1, -(2**63), 42], np.int64)
UNSIGNED = [0, 1, 2**64 - 1, 2**63, 2**31, 7]
FLOATS = np.array([0.0, -0.0, 1.5, np.inf, -np.inf, 1e-300])
TEXTS = ["", "a", "é", "日本", "a longer text, of more than thirty-two letters", "\n"]


def test_spark_and_the_engine_agree_on_the_partition_of_a_value(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        pa.table(
            {
                "n": pa.array(NUMBERS.tolist()),
                "u": pa.array([str(value) for value in UNSIGNED]),
                "f": pa.array(FLOATS.tolist()),
                "s": pa.array(TEXTS),
            }
        )
    ).withColumn("u", sf.col("u").cast(SPARK_TYPES[Kind.UNSIGNED]))
    where = Partitioner(97, ((42, 0), (-1, 1)), Kind.NUMBER, 2)
    kinds = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL)
    columns = [sf.col(name) for name in "nufs"]
    found = frame.select(
        *(where.of_column(kind, column).alias(f"c{kind.value}") for kind, column in zip(kinds, columns, strict=True)),
        where.of_row(kinds, columns).alias("row"),
    ).toArrow()
    unsigned = np.array(UNSIGNED, np.uint64)
    hashes = [
        hash_of_numbers(Kind.NUMBER, NUMBERS),
        hash_of_numbers(Kind.UNSIGNED, unsigned),
        hash_of_numbers(Kind.FLOAT, FLOATS),
        hash_of_texts(TEXTS),
    ]
    assert found["cnumber"].to_pylist() == where.of_numbers(Kind.NUMBER, NUMBERS).tolist()
    assert found["cunsigned"].to_pylist() == where.of_numbers(Kind.UNSIGNED, unsigned).tolist()
    assert found["cfloat"].to_pylist() == where.of_numbers(Kind.FLOAT, FLOATS).tolist()
    assert found["csymbol"].to_pylist() == where.of_texts(TEXTS).tolist()
    assert found["row"].to_pylist() == where.of_hashes(hash_of_rows(hashes, 6)).tolist()


def test_a_heavy_key_shares_its_partition_with_no_other(spark: SparkSession) -> None:
    keys = np.concatenate([np.full(5_000, 7), np.arange(100, 2_100)])
    schema = Schema("r", (Attribute("x", "number", Kind.NUMBER),))
    frame = spark.createDataFrame(pa.table({"x": pa.array(keys.tolist())}))
    where = weigh([("r", 0)], {"r": frame}, {"r": schema}, 8)
    sizes = frame.groupBy(where.of_column(Kind.NUMBER, sf.col("x")).alias("p")).count().toArrow()
    by_partition = dict(zip(sizes["p"].to_pylist(), sizes["count"].to_pylist(), strict=True))
    own = where.of_numbers(Kind.NUMBER, np.array([7]))[0]
    assert by_partition.pop(own) == 5_000
    assert max(by_partition.values()) < 2 * 2_000 / len(by_partition)


def test_heavy_keys_are_put_where_there_is_least() -> None:
    where = pack(Kind.NUMBER, {1: 40, 2: 25, 3: 20}, 100, 4)
    assert where.reserved == 3
    assert dict(where.heavy) == {1: 0, 2: 1, 3: 2}
    light = where.of_numbers(Kind.NUMBER, np.arange(10, 500))
    assert set(light.tolist()) == {3}


def test_without_heavy_keys_nothing_is_reserved() -> None:
    assert pack(Kind.NUMBER, {}, 0, 4) == Partitioner(4)


def test_nodes_of_a_long_path_have_one_least_node() -> None:
    order = np.random.default_rng(1).permutation(10_000)
    assert not least_connected(10_000, order[:-1], order[1:]).any()
