"""What a user of PySpark writes instead of rules: a loop over DataFrames that joins what is new until nothing is.

Each loop is semi-naive, cuts its plan with a checkpoint in every round and keeps as few partitions as there are cores,
which is the fastest of the ways tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

Tables = Mapping[str, DataFrame]
Step = Callable[[DataFrame, DataFrame], DataFrame]

COMPACTED_AFTER = 8
"""Rounds after which the parts of what is known are put together."""


def closure(tables: Tables) -> DataFrame:
    """`path`: an edge, or a path and an edge behind it."""
    edges = tables["edge"].toDF("y", "z").cache()
    paths = tables["edge"].toDF("a", "b")
    return until_nothing_is_new(
        paths, lambda new, _: new.join(edges, new["b"] == edges["y"]).select("a", sf.col("z").alias("b"))
    )


def reach(tables: Tables) -> DataFrame:
    """`reach`: what the sources lead to."""
    edges = tables["edge"].toDF("x", "y").cache()
    return until_nothing_is_new(
        tables["source"].toDF("a"),
        lambda new, _: new.join(edges, new["a"] == edges["x"]).select(sf.col("y").alias("a")),
    )


def same_generation(tables: Tables) -> DataFrame:
    """`sg`: children of one parent, and children of nodes of the same generation."""
    left = tables["edge"].toDF("p", "a").cache()
    right = tables["edge"].toDF("q", "b").cache()
    start = left.join(right, left["p"] == right["q"]).where("a <> b").select("a", "b")

    def step(new: DataFrame, _: DataFrame) -> DataFrame:
        pairs = new.toDF("m", "n")
        return pairs.join(left, pairs["m"] == left["p"]).join(right, pairs["n"] == right["q"]).select("a", "b")

    return until_nothing_is_new(start, step)


def points_to(tables: Tables) -> DataFrame:
    """`pts` of Andersen's analysis: addresses, assignments, loads and stores."""
    assigns = tables["assign"].toDF("to", "from").cache()
    loads = tables["load"].toDF("to", "from").cache()
    stores = tables["store"].toDF("to", "from").cache()

    def named(frame: DataFrame, one: str, other: str) -> DataFrame:
        return frame.toDF(one, other)

    def loaded(pointers: DataFrame, pointed: DataFrame) -> DataFrame:
        first = loads.join(named(pointers, "from", "middle"), "from")
        return first.join(named(pointed, "middle", "b"), "middle").select(sf.col("to").alias("a"), "b")

    def stored(pointers: DataFrame, pointed: DataFrame) -> DataFrame:
        first = stores.join(named(pointers, "to", "a"), "to")
        return first.join(named(pointed, "from", "b"), "from").select("a", "b")

    def step(new: DataFrame, known: DataFrame) -> DataFrame:
        parts = [assigns.join(named(new, "from", "b"), "from").select(sf.col("to").alias("a"), "b")]
        for rule in (loaded, stored):
            parts += [rule(new, known), rule(known, new)]
        return reduce(DataFrame.union, parts)

    return until_nothing_is_new(tables["addressOf"].toDF("a", "b"), step)


def components(tables: Tables) -> DataFrame:
    """`component`: each node takes the least label among its neighbours', until none changes."""
    one_way = tables["edge"].toDF("x", "y")
    edges = one_way.union(one_way.select("y", "x")).distinct().cache()
    labels = checkpointed(edges.select(sf.col("x").alias("a")).distinct().withColumn("first", sf.col("a")))
    while True:
        heard = edges.join(labels, edges["x"] == labels["a"]).groupBy("y").agg(sf.min("first").alias("least"))
        told = labels.join(heard, labels["a"] == heard["y"])
        following = checkpointed(
            told.select(
                "a", sf.least("first", "least").alias("first"), (sf.col("least") < sf.col("first")).alias("moved")
            )
        )
        if not following.where("moved").count():
            return following.select("a", "first")
        labels = following.select("a", "first")


LOOPS: Mapping[str, Callable[[Tables], DataFrame]] = {
    "tc_dag10k_lin": closure,
    "reach": reach,
    "sg_graph": same_generation,
    "andersen": points_to,
    "components": components,
}


def until_nothing_is_new(start: DataFrame, step: Step) -> DataFrame:
    """All rows of `start` and of the steps that follow from them, each once."""
    new = known = checkpointed(start.distinct())
    rounds = 0
    while new.count():
        found = step(new, known).distinct()
        new = checkpointed(found.join(known, found.columns, "left_anti"))
        known = known.union(new)
        rounds += 1
        if rounds % COMPACTED_AFTER == 0:
            known = checkpointed(known.coalesce(new.sparkSession.sparkContext.defaultParallelism))
    return known


def checkpointed(frame: DataFrame) -> DataFrame:
    return frame.localCheckpoint(eager=False)
