"""Ages count on from each jump."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.ages import ages_of_rows, are_older, are_younger, rows_before
from unit.kernels.forms import run_both

STARTS, AGES = np.array([0, 3, 4, 9], np.int32), np.array([5, 20, 30, 50], np.int32)
LITERALLY = [5, 6, 7, 20, 30, 31, 32, 33, 34, 50, 51, 52]


@settings(max_examples=40)
@given(st.lists(st.integers(0, len(LITERALLY) - 1), max_size=20))
def test_the_age_of_each_row_is_that_of_the_last_jump_and_the_rows_since(numbers):
    for asked in (numbers, sorted(numbers), list(range(len(LITERALLY)))):
        found = np.zeros(len(asked), np.int32)
        run_both(ages_of_rows, STARTS, AGES, np.array(asked, np.int32), found)
        assert found.tolist() == [LITERALLY[number] for number in asked]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-1, len(LITERALLY) - 1), st.integers(0, 60)), max_size=20))
def test_rows_that_are_there_are_compared_by_age(asked):
    rows = np.array([(7, number, age) for number, age in asked], np.int32).reshape(-1, 3)
    result = np.zeros(len(asked), np.bool_)
    run_both(are_older, STARTS, AGES, rows, 1, rows, 2, result)
    assert result.tolist() == [number >= 0 and LITERALLY[number] < age for number, age in asked]
    run_both(are_younger, STARTS, AGES, rows, 1, rows, 2, result)
    assert result.tolist() == [number >= 0 and LITERALLY[number] > age for number, age in asked]


@given(st.integers(0, 60))
def test_the_rows_before_an_age_are_those_that_are_older(age):
    assert run_both(rows_before, STARTS, AGES, age) == sum(each < age for each in LITERALLY) or age > LITERALLY[-1]


def test_no_row_is_older_than_the_first_also_where_a_jump_has_no_rows():
    starts, ages = np.array([0, 0], np.int32), np.array([0, 5], np.int32)
    assert [rows_before.python(starts, ages, age) for age in (0, 3, 5, 6, 8)] == [0, 0, 0, 1, 3]
