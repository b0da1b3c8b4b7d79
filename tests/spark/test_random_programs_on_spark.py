"""Random programs and random changes have the oracle's answers on Spark."""

from __future__ import annotations

from math import inf
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession
from stories import EVERYTHING_FAR, Keeper

from answers import Failure, by_oracle
from change_strategies import ALL_PROGRAMS, RISKY_PROGRAMS, Story, stories
from replay import expected_history
from strategies import Sample
from tidelog.analysis.check import check
from tidelog.errors import EvaluationError
from tidelog.language.parser import parse
from tidelog.maintain import update

FEW = settings(
    max_examples=8,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@FEW
@given(sample=RISKY_PROGRAMS)
def test_a_random_program_has_the_answer_of_the_oracle(spark: SparkSession, sample: Sample) -> None:
    checked = check(parse(sample.text))
    expected = by_oracle(checked, sample.facts)
    keeper = Keeper(spark, checked)
    try:
        keeper.load(sample.facts)
        found = keeper.all_rows()
    except EvaluationError:
        assert isinstance(expected, Failure)
    else:
        assert found == expected


@pytest.mark.usefixtures("quick")
@settings(FEW, max_examples=3)
@given(story=stories(ALL_PROGRAMS, most=4))
def test_random_changes_have_the_rows_and_deltas_of_the_oracle(spark: SparkSession, story: Story) -> None:
    history = expected_history(story)
    if history is not None:
        with mock.patch.object(update, "BUDGET", inf):
            Keeper(spark, history.checked).replay(history)


@pytest.mark.usefixtures("quick")
@settings(FEW, max_examples=1)
@given(story=stories(ALL_PROGRAMS, most=3))
def test_random_changes_of_rows_in_the_cluster_have_them_too(spark: SparkSession, story: Story) -> None:
    history = expected_history(story)
    if history is not None:
        with mock.patch.object(update, "BUDGET", inf):
            Keeper(spark, history.checked, EVERYTHING_FAR).replay(history)
