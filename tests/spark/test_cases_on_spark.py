"""Every case under `cases/` gives its expected rows on Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from stories import Keeper

from case_files import Case, all_cases
from test_cases import is_expected
from tidelog.errors import EvaluationError


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_spark_gives_what_is_expected(spark: SparkSession, case: Case) -> None:
    checked = case.checked()
    keeper = Keeper(spark, checked)
    keeper.load(case.facts(checked))
    if case.expected_error is None:
        expected = case.expected(checked)
        assert {name: keeper.rows(name) for name in expected} == {name: sorted(expected[name]) for name in expected}
    else:
        with pytest.raises(EvaluationError) as caught:
            keeper.materialization.materialize()
        assert is_expected(caught.value, case.expected_error)
