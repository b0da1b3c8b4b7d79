"""Spark shows which rules a job is for."""

from __future__ import annotations

from pyspark.sql import SparkSession
from stories import Keeper

from answers import checked_program
from tidelog.backends.spark.job_names import MOST, described

PAIRS = """.decl edge(x: number, y: number)
.decl two(x: number, z: number)
two(x, z) :- edge(x, y), edge(y, z)."""


def test_the_jobs_of_a_rule_have_its_text_and_place(spark: SparkSession) -> None:
    keeper = Keeper(spark, checked_program(PAIRS))
    keeper.load({"edge": [(1, 2), (2, 3)]})
    assert keeper.rows("two") == [(1, 3)]
    assert any("two: " in one and ":3:1: two(x, z) :- edge(x, y), edge(y, z)." in one for one in descriptions(spark))


def test_a_description_of_the_callers_comes_back(spark: SparkSession) -> None:
    spark.sparkContext.setJobDescription("mine")
    with described(spark, "x" * 1000):
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "x" * MOST + "…"
    assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
    spark.sparkContext.setJobDescription(None)  # type: ignore[arg-type]


def test_through_connect_jobs_have_a_tag_without_commas(connected: SparkSession) -> None:
    with described(connected, "two(x, z)"):
        assert connected.getTags() == {"two(x; z)"}
    assert connected.getTags() == set()


def descriptions(spark: SparkSession) -> list[str]:
    """What Spark has noted of its jobs; only its own classes know."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return [str(jobs.apply(place).description()) for place in range(jobs.size())]
