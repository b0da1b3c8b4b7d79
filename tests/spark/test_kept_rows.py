"""Rows that were kept in executors and are gone: the work is done again, or the error says what to do."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import tidelog.spark
from spark.stories import EVERYTHING_FAR, frame_rows
from tidelog.backends.spark.backend import SparkBackend
from tidelog.backends.spark.kept_rows import MOST_TIMES, surviving
from tidelog.backends.spark.reasons import RowsLostError
from tidelog.errors import InputError
from tidelog.pipeline import starting
from tidelog.pipeline.config import Tier
from tidelog.pipeline.flow import Flow

LOST = "Job aborted: org.apache.spark.SparkException: [CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block not found!"
PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


class Work:
    """Loses rows as often as it is told, in errors that others wrap; `said` has what happened."""

    def __init__(self, losses: int) -> None:
        self.losses = losses
        self.said: list[str] = []

    def do(self) -> str:
        self.said.append("work")
        if self.losses:
            self.losses -= 1
            raise InputError("cannot be read") from PySparkException(LOST)
        return "done"

    def start_over(self) -> None:
        self.said.append("over")


def test_work_is_done_again_after_a_loss() -> None:
    work = Work(losses=2)
    assert surviving(work.do, work.start_over) == "done"
    assert work.said == ["work", "over", "work", "over", "work"]


def test_it_is_given_up_when_rows_are_lost_again_and_again() -> None:
    work = Work(losses=100)
    with pytest.raises(RowsLostError, match="lost 4 times"):
        surviving(work.do, work.start_over)
    assert work.said.count("work") == MOST_TIMES


def test_other_errors_are_not_tried_again() -> None:
    work = mock.Mock(side_effect=InputError("there is no such file"))
    with pytest.raises(InputError):
        surviving(work, work.start_over)
    assert work.call_count == 1


def test_a_flow_with_a_state_goes_on_from_it(spark: SparkSession, tmp_path: Path) -> None:
    with flow_in_the_cluster(spark, tmp_path / "state") as flow:
        lose_kept_rows(spark)
        delta = changed(flow, spark)
        assert (delta["path"].appeared_count, delta["path"].vanished_count) == (2, 2)
        assert flow.version == 2
        assert frame_rows(flow["path"]) == [(2, 3), (2, 4), (3, 4)]


def test_a_flow_without_a_state_says_that_it_cannot_go_on(spark: SparkSession) -> None:
    with flow_in_the_cluster(spark, "") as flow:
        lose_kept_rows(spark)
        with pytest.raises(RowsLostError, match="with state=FOLDER it would go on"):
            changed(flow, spark)


def flow_in_the_cluster(spark: SparkSession, state: Path | str) -> Flow:
    """A flow whose rows are all kept by executors."""
    edges = spark.createDataFrame([(1, 2), (2, 3)], "x long, y long")
    with mock.patch.object(starting, "SparkBackend", partial(SparkBackend, settings=EVERYTHING_FAR)):
        return tidelog.spark.open(PATHS, spark, inputs={"edge": edges}, state=state, tier=Tier.SPARK)


def changed(flow: Flow, spark: SparkSession) -> tidelog.spark.FlowDelta:
    edge = partial(spark.createDataFrame, schema="x long, y long")
    return flow.apply(insert={"edge": edge([(3, 4)])}, retract={"edge": edge([(1, 2)])})


def lose_kept_rows(spark: SparkSession) -> None:
    """Does to kept rows what the loss of every executor does."""
    kept = spark.sparkContext._jsc.sc().getPersistentRDDs().valuesIterator()
    while kept.hasNext():
        kept.next().unpersist(True)
