"""The Spark backend by itself: tables, deltas, ages, jobs and errors."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from stories import EVERYTHING_FAR, Keeper, frame_rows, table

from tidelog.analysis.check import check
from tidelog.backends.spark.backend import SparkBackend
from tidelog.backends.spark.jobs import SparkSettings
from tidelog.errors import EvaluationError
from tidelog.language.parser import parse
from tidelog.maintain.protocol import Maintenance
from tidelog.plan.nodes import Version
from tidelog.schema import Attribute, Kind, Schema

EDGE = Schema("edge", (Attribute("x", "number", Kind.NUMBER), Attribute("y", "number", Kind.NUMBER)))
FLAG = Schema("flag", ())

CHAIN = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""

NEAR_AND_FAR = pytest.mark.parametrize("settings", [SparkSettings(), EVERYTHING_FAR], ids=["near", "far"])


@NEAR_AND_FAR
def test_an_inserted_row_counts_once(spark: SparkSession, settings: SparkSettings) -> None:
    backend = SparkBackend(spark, {"edge": EDGE}, settings)
    assert backend.insert("edge", table([(1, 2), (1, 2), (2, 3)], EDGE)) == 2
    assert backend.insert("edge", table([(2, 3), (3, 4)], EDGE)) == 1
    assert frame_rows(backend.table("edge")) == [(1, 2), (2, 3), (3, 4)]


@NEAR_AND_FAR
def test_rows_of_a_dataframe_can_be_inserted(spark: SparkSession, settings: SparkSettings) -> None:
    backend = SparkBackend(spark, {"edge": EDGE}, settings)
    assert backend.insert("edge", spark.createDataFrame([(1, 2), (1, 2)], "x long, y long")) == 1


@NEAR_AND_FAR
def test_what_was_exchanged_is_there_and_what_went_is_not(spark: SparkSession, settings: SparkSettings) -> None:
    backend = SparkBackend(spark, {"edge": EDGE}, settings)
    backend.insert("edge", table([(1, 2), (2, 3)], EDGE))
    came, went = backend.facts("edge", table([(5, 6)], EDGE)), backend.facts("edge", table([(1, 2)], EDGE))
    backend.exchange("edge", came, went)
    assert frame_rows(backend.table("edge")) == [(2, 3), (5, 6)]
    assert len(backend.stored("edge", came.union(went))) == 1
    assert backend.statistics().rows("edge", Version.FULL) == 2


@NEAR_AND_FAR
def test_a_relation_without_columns_has_one_row_at_most(spark: SparkSession, settings: SparkSettings) -> None:
    backend = SparkBackend(spark, {"flag": FLAG}, settings)
    assert backend.insert("flag", table([(), ()], FLAG)) == 1
    assert backend.insert("flag", table([()], FLAG)) == 0
    assert frame_rows(backend.table("flag")) == [()]


@NEAR_AND_FAR
def test_a_relation_that_grows_for_many_rounds_is_whole(spark: SparkSession, settings: SparkSettings) -> None:
    keeper = Keeper(spark, check(parse(CHAIN)), settings, Maintenance(modules=False))
    keeper.load({"edge": [(n, n + 1) for n in range(6)]})
    assert len(keeper.rows("path")) == 21


def test_a_round_over_rows_in_the_driver_is_one_job(spark: SparkSession) -> None:
    keeper = Keeper(spark, check(parse(CHAIN)), maintenance=Maintenance(modules=False))
    keeper.load({"edge": [(n, n + 1) for n in range(4)]})
    keeper.materialization.materialize()
    assert keeper.backend.jobs == 4  # the first round copies; the last one finds nothing new


def test_a_closure_that_is_a_module_needs_no_rounds(spark: SparkSession) -> None:
    keeper = Keeper(spark, check(parse(CHAIN)))
    keeper.load({"edge": [(n, n + 1) for n in range(4)]})
    assert len(keeper.rows("path")) == 10
    assert keeper.backend.jobs == 0


@NEAR_AND_FAR
def test_an_error_names_the_rule_and_an_example(spark: SparkSession, settings: SparkSettings) -> None:
    text = ".decl p(x: number)\n.decl q(x: number)\nq(10 / x) :- p(x)."
    keeper = Keeper(spark, check(parse(text)), settings)
    keeper.load({"p": [(1,), (0,)]})
    with pytest.raises(
        EvaluationError, match=r"division by zero for x = 0 in the rule q\(10 / x\) :- p\(x\)"
    ) as caught:
        keeper.materialization.materialize()
    assert (caught.value.span.line, caught.value.span.column) == (3, 3)


def test_variables_that_differ_in_case_are_different(spark: SparkSession) -> None:
    text = ".decl p(x: number, y: number)\n.decl q(x: number, y: number)\nq(X, x) :- p(x, X)."
    keeper = Keeper(spark, check(parse(text)))
    keeper.load({"p": [(1, 2)]})
    assert keeper.rows("q") == [(2, 1)]


def test_ord_is_the_same_for_equal_symbols_only(spark: SparkSession) -> None:
    text = ".decl s(x: symbol)\n.decl n(x: symbol, y: number)\nn(x, ord(x)) :- s(x)."
    keeper = Keeper(spark, check(parse(text)))
    keeper.load({"s": [("a",), ("b",), ("ab",)]})
    assert len({number for _, number in keeper.rows("n")}) == 3
