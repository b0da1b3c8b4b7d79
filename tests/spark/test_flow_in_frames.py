"""A flow whose facts stay in DataFrames gives the answers and deltas of the one in the driver, by every strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.spark import ReductionStrategy, Tier

CLOSURE = """
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl lonely(a: number)
lonely(x) :- edge(x, _), !path(x, x).
.decl reached(a: number, n: number)
reached(x, n) :- edge(x, _), n = count : { path(x, _) }.
"""
GENERATIONS = """
.decl edge(a: number, b: number)
.decl sg(a: number, b: number)
sg(x, y) :- edge(p, x), edge(p, y), x != y.
sg(x, y) :- edge(a, x), sg(a, b), edge(b, y).
"""
EDGES = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (1, 6), (6, 5), (5, 7)]


def frame_of(spark: SparkSession, rows: Sequence[tuple[int, int]]) -> DataFrame:
    return spark.createDataFrame(list(rows), "a long, b long")


def rows_of(flow: tidelog.spark.Flow) -> Mapping[str, list[tuple[object, ...]]]:
    return {name: sorted(tuple(row) for row in flow[name].collect()) for name in flow.schemas}


def expected(program: str, edges: Sequence[tuple[int, int]]) -> Mapping[str, list[tuple[object, ...]]]:
    with tidelog.open(program) as db:
        db.insert("edge", edges)
        return {name: sorted(db[name].rows()) for name in db}


@pytest.mark.parametrize("program", [CLOSURE, GENERATIONS], ids=["closure", "same generation"])
@pytest.mark.parametrize("strategy", [None, *ReductionStrategy], ids=lambda each: each.value if each else "chosen")
def test_every_strategy_gives_the_answers_of_the_local_engine(
    spark: SparkSession, program: str, strategy: ReductionStrategy | None
) -> None:
    if program == GENERATIONS and strategy is ReductionStrategy.PRESERVED:
        pytest.skip("no variable of sg is preserved")
    if program == CLOSURE and strategy in (ReductionStrategy.SYNCHRONOUS, ReductionStrategy.ASYNCHRONOUS):
        pytest.skip("a transitive closure is one stage")
    flow = tidelog.spark.open(
        program, spark, inputs={"edge": frame_of(spark, EDGES)}, tier=Tier.SPARK, reduction=strategy
    )
    assert flow.tier is Tier.SPARK
    assert rows_of(flow) == expected(program, EDGES)
    assert flow.reductions
    assert strategy is None or {each.strategy for each in flow.reductions} == {strategy}


def test_changes_are_kept_true_and_come_back_from_the_state(spark: SparkSession, tmp_path: Path) -> None:
    state = tmp_path / "state"
    flow = tidelog.spark.open(CLOSURE, spark, inputs={"edge": frame_of(spark, EDGES)}, state=state, tier=Tier.SPARK)
    delta = flow.apply(retract={"edge": frame_of(spark, [(3, 1), (9, 9)])}, insert={"edge": frame_of(spark, [(7, 8)])})
    left = [*(edge for edge in EDGES if edge != (3, 1)), (7, 8)]
    before, after = expected(CLOSURE, EDGES), expected(CLOSURE, left)
    assert rows_of(flow) == after
    assert str(delta.counts) == "1 inserted (0 already there), 1 retracted (1 not there)"
    for name in ("path", "lonely", "reached"):
        assert {tuple(row) for row in delta[name].appeared.collect()} == set(after[name]) - set(before[name])
        assert {tuple(row) for row in delta[name].vanished.collect()} == set(before[name]) - set(after[name])
    flow.close()
    again = tidelog.spark.open(CLOSURE, spark, state=state, tier=Tier.SPARK)
    assert rows_of(again) == after
    assert again.version == 2


def test_facts_given_to_a_closure_are_no_edges(spark: SparkSession) -> None:
    flow = tidelog.spark.open(CLOSURE, spark, inputs={"edge": frame_of(spark, EDGES)}, tier=Tier.SPARK)
    flow.apply(insert={"path": frame_of(spark, [(0, 4), (7, 0)])})
    with tidelog.open(CLOSURE) as db:
        db.insert("edge", EDGES)
        db.insert("path", [(0, 4), (7, 0)])
        assert rows_of(flow) == {name: sorted(db[name].rows()) for name in db}
