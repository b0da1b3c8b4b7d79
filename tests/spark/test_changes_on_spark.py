"""Every case with changes has the oracle's rows and deltas on Spark after each of them."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from unittest import mock

import pytest
from pyspark.sql import SparkSession
from stories import EVERYTHING_FAR, Keeper

from case_files import Case, all_cases
from test_change_cases import told
from tidelog.maintain import update
from tidelog.maintain.protocol import Maintenance, Strategy

CASES = [case for case in all_cases() if (case.folder / "changes").exists()]
CLOSURES = [case for case in CASES if any(word in str(case) for word in ("closure", "components", "eqrel"))]
OTHERS = [case for case in CASES if case not in CLOSURES]
IN_THE_CLUSTER = {
    "changes/closure_loses_a_cycle": Strategy.BACKWARD_FORWARD,
    "changes/group_of_an_aggregate_becomes_empty": Strategy.DRED,
}
"""Cases that take long there, each with one of the two strategies; a closure among them is followed by its rules."""

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    """Changes are followed to the end: jobs this small would be given up for deriving everything anew."""
    with mock.patch.object(update, "BUDGET", inf):
        yield


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_changes_followed_by_rules_have_the_rows_and_deltas_of_the_oracle(spark: SparkSession, case: Case) -> None:
    history = told(case)
    Keeper(spark, history.checked, maintenance=Maintenance(modules=False)).replay(history)


@pytest.mark.parametrize("case", CLOSURES, ids=str)
def test_changes_of_closures_in_the_driver_have_them_too(spark: SparkSession, case: Case) -> None:
    history = told(case)
    Keeper(spark, history.checked).replay(history)


@pytest.mark.parametrize("case", [case for case in CASES if str(case) in IN_THE_CLUSTER], ids=str)
def test_changes_of_rows_in_the_cluster_have_them_too(spark: SparkSession, case: Case) -> None:
    history = told(case)
    maintenance = Maintenance(modules=False, strategy=IN_THE_CLUSTER[str(case)])
    Keeper(spark, history.checked, EVERYTHING_FAR, maintenance).replay(history)
