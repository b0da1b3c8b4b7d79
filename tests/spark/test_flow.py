"""`tidelog.spark.open`: DataFrames in, DataFrames out, kept true, found again in the state."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import tidelog
from tidelog.errors import InputError, StateError, UsageError
from tidelog.pipeline.arrow_rows import input_error

REACHABLE = """\
.decl edge(a: number, b: number)
.input edge
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl loop(a: number)
loop(x) :- path(x, x).
.output path
"""


def edges(spark: SparkSession, *pairs: tuple[int, int]) -> DataFrame:
    return spark.createDataFrame(list(pairs), "a long, b long")


def rows(frame: DataFrame) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in frame.toArrow().to_pylist()}


def test_answers_are_frames_and_follow_changes(spark: SparkSession, tmp_path: Path) -> None:
    flow = tidelog.spark.open(REACHABLE, spark, inputs={"edge": edges(spark, (1, 2), (2, 3))}, state=tmp_path / "state")
    assert rows(flow["path"]) == {(1, 2), (2, 3), (1, 3)}
    delta = flow.apply(insert={"edge": edges(spark, (3, 4))}, retract={"edge": edges(spark, (1, 2), (8, 9))})
    assert rows(delta["path"].appeared) == {(3, 4), (2, 4)}
    assert rows(delta["path"].vanished) == {(1, 2), (1, 3)}
    assert (delta.counts.inserted, delta.counts.retracted, delta.counts.not_there) == (1, 1, 1)
    assert (delta.version, delta.tier) == (2, tidelog.spark.Tier.COMPILED)
    assert list(delta) == ["edge", "path"]
    assert rows(flow["path"]) == {(2, 3), (3, 4), (2, 4)}
    assert rows(flow.read("path", version=1)) == {(1, 2), (2, 3), (1, 3)}
    assert rows(flow["loop"]) == set()


def test_without_a_state_answers_come_from_the_driver(spark: SparkSession) -> None:
    with tidelog.spark.open(REACHABLE, spark, inputs={"edge": edges(spark, (1, 2), (2, 1))}) as flow:
        assert rows(flow["loop"]) == {(1,), (2,)}
        assert rows(flow.apply(retract={"edge": edges(spark, (2, 1))})["loop"].vanished) == {(1,), (2,)}
        with pytest.raises(UsageError, match="only its rows of now"):
            flow.read("path", version=1)


def test_a_flow_goes_on_from_its_state(spark: SparkSession, tmp_path: Path) -> None:
    program = REACHABLE + "path(7, 8). edge(20, 21)."
    with tidelog.spark.open(program, spark, inputs={"edge": edges(spark, (1, 2))}, state=tmp_path / "state") as flow:
        flow.apply(insert={"edge": edges(spark, (2, 3))}, retract={"edge": edges(spark, (20, 21))})
    with tidelog.spark.open(program, spark, state=tmp_path / "state") as again:
        assert again.version == 2
        delta = again.apply(retract={"path": edges(spark, (7, 8))}, insert={"edge": edges(spark, (8, 9))})
        assert rows(delta["path"].vanished) == {(7, 8)}
    with tidelog.spark.open(program, spark, state=tmp_path / "state") as last:
        assert rows(last["path"]) == {(1, 2), (2, 3), (1, 3), (8, 9)}
        assert rows(last["edge"]) == {(1, 2), (2, 3), (8, 9)}


def test_a_relation_can_be_kept_later(spark: SparkSession, tmp_path: Path) -> None:
    tidelog.spark.open(REACHABLE, spark, inputs={"edge": edges(spark, (1, 1))}, state=tmp_path / "state").close()
    flow = tidelog.spark.open(REACHABLE, spark, state=tmp_path / "state", keep=["loop"])
    assert flow.stored == {"edge", "path", "loop"}
    flow.apply(retract={"edge": edges(spark, (1, 1))})
    assert rows(flow.read("loop", version=2)) == {(1,)}
    assert rows(flow["path"]) == rows(flow["loop"]) == set()


def test_a_change_that_fails_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    program = ".decl p(x: number)\n.decl q(x: number)\nq(10 / x) :- p(x).\n"
    numbers = spark.createDataFrame([(2,)], "x long")
    flow = tidelog.spark.open(program, spark, inputs={"p": numbers}, state=tmp_path / "state")
    with pytest.raises(tidelog.EvaluationError):
        flow.apply(insert={"p": spark.createDataFrame([(5,), (0,)], "x long")})
    assert flow.version == 1
    assert rows(flow["q"]) == {(5,)}
    assert rows(flow.apply(insert={"p": spark.createDataFrame([(1,)], "x long")})["q"].appeared) == {(10,)}


def test_a_commit_that_fails_is_taken_back(spark: SparkSession, tmp_path: Path) -> None:
    flow = tidelog.spark.open(REACHABLE, spark, inputs={"edge": edges(spark, (1, 2))}, state=tmp_path / "state")
    other = tidelog.spark.open(REACHABLE, spark, state=tmp_path / "state")
    other.apply(insert={"edge": edges(spark, (5, 6))})
    with pytest.raises(StateError):
        flow.apply(insert={"edge": edges(spark, (2, 3))})
    assert rows(flow.given("edge")) == {(1, 2)}


def test_what_cannot_be_opened_is_said(spark: SparkSession, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with pytest.raises(UsageError, match="did you mean 'edge'"):
        tidelog.spark.open(REACHABLE, spark, inputs={"egde": edges(spark, (1, 2))})
    with pytest.raises(InputError, match="edge"):
        tidelog.spark.open(REACHABLE, spark, inputs={"edge": spark.createDataFrame([("x", 1.5)], "a string, b double")})
    tidelog.spark.open(REACHABLE, spark, inputs={"edge": edges(spark, (1, 2))}, state=state).close()
    with pytest.raises(UsageError, match="leave inputs out"):
        tidelog.spark.open(REACHABLE, spark, inputs={"edge": edges(spark, (1, 2))}, state=state)
    with pytest.raises(StateError, match="another program"):
        tidelog.spark.open(REACHABLE.replace("path(x, x)", "path(x, 3)"), spark, state=state)


WRONG = [
    (
        {"inputs": {"edge": [(1, 2)]}},
        r"inputs: expected a DataFrame of Spark .*, found list\n  hint: .*a bigint, b big",
    ),
    ({"inputs": {"edge": pa.table({"a": [1], "b": [2]})}}, r"found pyarrow\.lib\.Table"),
    ({"inputs": [(1, 2)]}, r'inputs: expected DataFrames by relation, such as \{"edge": df\}, found list'),
    ({"inputs": {3: None}}, "no relation '3'; there are: edge, path, loop"),
    ({"spark": None}, "spark: expected a SparkSession, found NoneType"),
    ({"tier": "sprak"}, "tier: expected one of 'compiled', 'spark', found 'sprak'"),
    ({"reduction": "lone"}, "reduction: expected one of 'alone', .* found 'lone'"),
    ({"keep": "path"}, "keep: expected names of relations"),
    ({"keep": ["pth"]}, "no relation 'pth'; did you mean 'path'"),
    ({"compiled_rows": "5"}, "compiled_rows: expected a whole number from 1, found '5'"),
    ({"jobs": 0}, "jobs: expected a whole number from 1, found 0"),
    ({"limits": {"rows": 5}}, "limits: expected tidelog.Limits"),
    ({"state": 5}, "state: expected a path or a URI, found int"),
    ({"program": None}, "expected a program or its text, found NoneType"),
    ({"program": Path("rules.dl")}, "hint: tidelog.parse_file"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[next(iter(given)) for given, _ in WRONG])
def test_a_call_that_cannot_be_taken_is_told_what_to_give(
    spark: SparkSession, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        tidelog.spark.open(**{"program": REACHABLE, "spark": spark, **given})


def test_frames_that_are_none_are_told_by_apply_too(spark: SparkSession) -> None:
    flow = tidelog.spark.open(REACHABLE, spark, inputs={"edge": edges(spark, (1, 2))})
    stream = spark.readStream.format("rate").load().selectExpr("value a", "value b")
    for given, words in [([(1, 2)], "insert: expected a DataFrame"), (stream, "is a stream")]:
        with pytest.raises(UsageError, match=words):
            flow.apply(insert={"edge": given})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="retract: expected DataFrames by relation"):
        flow.apply(retract=None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="hint: name it"):
        flow.apply({"edge": edges(spark, (2, 3))})
    assert flow.version == 1
    assert list(flow) == ["edge", "path", "loop"]


def test_tiers_and_reductions_may_be_given_by_name(spark: SparkSession) -> None:
    given = edges(spark, (1, 2), (2, 3))
    flow = tidelog.spark.open(REACHABLE, spark, inputs={"edge": given}, tier="spark", reduction="alone")
    assert flow.tier is tidelog.spark.Tier.SPARK
    assert {each.strategy for each in flow.reductions} == {tidelog.spark.ReductionStrategy.ALONE}


def test_a_flow_without_inputs_or_with_inputs_of_a_derived_relation_has_what_was_given(spark: SparkSession) -> None:
    assert rows(tidelog.spark.open(REACHABLE, spark)["path"]) == set()
    assert rows(tidelog.spark.open(REACHABLE, spark, inputs={"path": edges(spark, (3, 3))})["loop"]) == {(3,)}


def test_versions_that_are_not_there_are_told(spark: SparkSession, tmp_path: Path) -> None:
    flow = tidelog.spark.open(REACHABLE, spark, inputs={"edge": edges(spark, (1, 2))}, state=tmp_path / "state")
    with pytest.raises(UsageError, match="has no version 9: versions 1 to 1 are kept"):
        flow.read("path", version=9)
    with pytest.raises(UsageError, match="a version is a number, not '1'"):
        flow.read("path", version="1")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="did you mean 'path'"):
        flow.versions_of("pth")


def test_more_rows_than_the_driver_takes_is_told() -> None:
    error = PySparkException("Total size of serialized results is bigger than spark.driver.maxResultSize (1024.0 KiB)")
    assert "edge: it has more rows than Spark hands to the driver at once" in str(input_error(error, "edge"))


def test_every_kind_of_value_and_no_columns_at_all_survive(spark: SparkSession, tmp_path: Path) -> None:
    program = ".decl p(s: symbol, u: unsigned, f: float)\n.decl some()\nsome() :- p(_, _, _).\n.output some, p\n"
    given = spark.createDataFrame([("é", Decimal(2**64 - 1), 0.5)], "s string, u decimal(20,0), f double")
    tidelog.spark.open(program, spark, inputs={"p": given}, state=tmp_path / "state").close()
    flow = tidelog.spark.open(program, spark, state=tmp_path / "state")
    assert rows(flow["p"]) == {("é", 2**64 - 1, 0.5)}
    assert flow["some"].count() == 1
    delta = flow.apply(retract={"p": given})
    assert delta["some"].vanished_count == delta["some"].vanished.count() == 1
