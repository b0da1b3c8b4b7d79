"""Production rules in flows and pipelines: what they leave is an answer that is kept true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pipeline_folder import change, pipeline, rows_in, version
from production_partitions import Partitions
from pyspark.sql import DataFrame, SparkSession

import tidelog
from answers import checked_program
from tidelog.backends.spark.partitions import Partitioner
from tidelog.errors import EvaluationError, OscillationError, UsageError
from tidelog.pipeline.production.director import Pace
from tidelog.plan.reduction import Strategy
from tidelog.schema import Kind

FAILURES = """\
.production parallel
.decl link(x: symbol, y: symbol)
.decl fails(x: symbol)
.decl up(x: symbol)
.decl left(n: number)
left(n) :- n = count : { up(_) }.
.output fails, left
-up(y), +fails(y) :- fails(x), link(x, y), up(y).
"""

GOES_ROUND = """\
.production parallel
.decl on(x: number)
.decl off(x: number)
+on(x), -off(x) :- off(x).
+off(x), -on(x) :- on(x).
"""


def frame(spark: SparkSession, *rows: tuple[str, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), "x string" if len(rows[0]) == 1 else "x string, y string")


def rows(found: DataFrame) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in found.toArrow().to_pylist()}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("tier", "reduction"), [("compiled", None), ("spark", "alone"), ("spark", "asynchronous"), ("spark", "synchronous")]
)
def test_a_change_leads_to_what_running_again_leads_to(
    spark: SparkSession, tmp_path: Path, tier: str, reduction: str | None
) -> None:
    inputs = {
        "link": frame(spark, ("a", "b"), ("b", "c"), ("c", "d")),
        "up": frame(spark, ("b",), ("c",), ("d",)),
        "fails": frame(spark, ("a",)),
    }
    with tidelog.spark.open(
        FAILURES, spark, inputs=inputs, state=tmp_path / "state", tier=tier, reduction=reduction
    ) as flow:
        assert flow.production is not None
        assert flow.production.strategy is Strategy(reduction or "alone")
        assert rows(flow["fails"]) == {("a",), ("b",), ("c",), ("d",)}
        assert rows(flow["left"]) == {(0,)}
        assert flow.given("up").count() == 3
        delta = flow.apply(retract={"link": frame(spark, ("b", "c"))})
        assert rows(delta["fails"].vanished) == {("c",), ("d",)}
        assert rows(delta["up"].appeared) == {("c",), ("d",)}
        assert (delta.counts.inserted, delta.counts.retracted) == (0, 1)
        if tier == "compiled":  # the second change is the first that is late news
            delta = flow.apply(insert={"fails": frame(spark, ("c",))}, retract={"fails": frame(spark, ("a",))})
            assert rows(delta["fails"].appeared) == {("c",), ("d",)}
            assert rows(delta["fails"].vanished) == {("a",), ("b",)}
            assert rows(flow.given("fails")) == {("c",)}
        answers = {name: rows(flow[name]) for name in ("fails", "up", "left")}
    if tier == "compiled":
        with tidelog.spark.open(FAILURES, spark, state=tmp_path / "state", tier=tier) as again:
            assert {name: rows(again[name]) for name in answers} == answers
            assert rows(again.read("fails", version=1)) == {("a",), ("b",), ("c",), ("d",)}


@pytest.mark.usefixtures("quick")
def test_rules_that_go_round_on_spark_are_the_error_that_they_are_at_home(spark: SparkSession) -> None:
    inputs = {"on": spark.range(1, 2).toDF("x")}
    for reduction in ("alone", "asynchronous"):
        with pytest.raises(OscillationError, match=r"what they were 2 cycles before(?s:.)*\+on\(x\)(?s:.)*\+off\(1\)"):
            tidelog.spark.open(GOES_ROUND, spark, inputs=inputs, tier="spark", reduction=reduction)


@pytest.mark.usefixtures("quick")
def test_an_error_in_a_state_that_never_is_is_none(spark: SparkSession) -> None:
    text = """
    .production parallel
    .decl q(x: number)
    .decl go(x: number)
    .decl bad(x: number)
    .decl source(x: number, y: number)
    .decl out(x: number)
    +go(x) :- q(x).
    +bad(y) :- source(x, y), x != y.
    +out(10 / x) :- q(x), go(x), !bad(x).
    """
    where = Partitioner(2).of_numbers(Kind.NUMBER, np.arange(50)).tolist()
    elsewhere = next(number for number in range(50) if where[number] != where[0])
    facts = {"q": [(0,), (5,)], "source": [(elsewhere, 0)]}
    ahead = Partitions(checked_program(text), Pace.ASYNCHRONOUS, 2)
    with pytest.raises(EvaluationError, match="by zero"):
        ahead.states({**facts, "go": [], "bad": [], "out": []})
    inputs = {
        "q": spark.createDataFrame(facts["q"], "x long"),
        "source": spark.createDataFrame(facts["source"], "x long, y long"),
    }
    with tidelog.spark.open(text, spark, inputs=inputs, tier="spark", reduction="asynchronous") as flow:
        assert rows(flow["out"]) == {(2,)}


def test_rules_of_which_one_fires_at_a_time_are_not_shared(spark: SparkSession) -> None:
    one_rule = GOES_ROUND.replace("parallel", "set")
    with pytest.raises(UsageError, match="asynchronous: one rule fires in a cycle"):
        tidelog.spark.open(one_rule, spark, tier="spark", reduction="asynchronous")


PIPELINE = """\
program = "rules.dl"
[state]
path = "state"
[inputs.link]
path = "links.csv"
[inputs.up]
path = "up.csv"
[inputs.fails]
path = "fails.csv"
[changes.link]
path = "changes"
[outputs.fails]
path = "out/fails"
[outputs.up]
path = "out/up"
deltas = "out/changes"
"""


@pytest.mark.usefixtures("spark")
def test_a_pipeline_runs_and_follows_changes_of_its_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.dl").write_text(FAILURES)
    Path("pipeline.toml").write_text(PIPELINE)
    Path("links.csv").write_text("x,y\na,b\nb,c\n")
    Path("up.csv").write_text("x\nb\nc\n")
    Path("fails.csv").write_text("x\na\n")
    Path("changes").mkdir()
    assert pipeline("run") == 0
    assert rows_in("out/fails") == {("a",), ("b",), ("c",)}
    change("1.csv", "op,x,y\n-,b,c\n")
    assert pipeline("apply") == 0
    assert rows_in("out/fails") == {("a",), ("b",)}
    assert rows_in("out/up") == {("c",)}
    assert "up\t+1\t-0" in capsys.readouterr().out
    Path("up.csv").write_text("x\nb\nc\nd\n")
    assert pipeline("run") == 0
    assert rows_in("out/up") == {("c",), ("d",)}
    assert version() == 3
    assert pipeline("status") == 0
    assert "version 3" in capsys.readouterr().out
