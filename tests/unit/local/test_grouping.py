"""Aggregates by group are what `functions.aggregate` gives for the values of each group."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.backends.local.grouping import aggregate_groups
from tidelog.facts.values import Values
from tidelog.language.functions import NoValue, aggregate
from tidelog.language.syntax_tree import AggregateFunction as Function
from tidelog.schema import Kind

ANY = {
    Kind.NUMBER: st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63), 2**62, -(2**62), 2**32, -(2**32) - 1]),
    Kind.UNSIGNED: st.integers(0, 3) | st.sampled_from([2**64 - 1, 2**63, 2**32 - 1]),
    Kind.FLOAT: st.sampled_from([0.0, 0.1, 0.2, -0.3, 1e308, -1e308, 1e-300, math.inf, -math.inf, 1e16, 1.0]),
    Kind.SYMBOL: st.sampled_from(["", "a", "B", "é", "日本", "\U0001f30a", "\uffff", "ab"]),
}
FUNCTIONS = [
    *((function, kind) for kind in ANY for function in (Function.MIN, Function.MAX)),
    *((function, kind) for kind in list(ANY)[:3] for function in (Function.SUM, Function.MEAN)),
]
COUNT = 4


@pytest.mark.parametrize(("function", "kind"), FUNCTIONS, ids=lambda part: part.value)
@settings(max_examples=40)
@given(data=st.data())
def test_each_group_gets_what_the_function_gives(function, kind, data):
    rows = data.draw(st.lists(st.tuples(st.integers(0, COUNT - 1), ANY[kind]), max_size=20))
    values, result_kind = Values(), Kind.FLOAT if function is Function.MEAN else kind
    groups = np.array([group for group, _ in rows], np.int32)
    column = values.identify_all(kind, [value for _, value in rows])
    result = aggregate_groups(function, result_kind, groups, COUNT, column, kind, values)
    decoded = decode(values, result_kind, result)
    for group in range(COUNT):
        try:
            wanted = aggregate(function, kind, [value for each, value in rows if each == group])
        except NoValue:
            assert result.failed[group]
            assert result.reason
            continue
        assert not result.failed[group]
        if wanted is None:
            assert not result.present[group]
        else:
            assert result.present[group]
            assert repr(decoded[group]) == repr(wanted)


def decode(values, kind, result):
    """The value of each group; None where there is none."""
    usable = result.present & ~result.failed
    found = iter(values.decode(kind, result.ids[usable].astype(np.int32)).to_pylist())
    return [next(found) if each else None for each in usable.tolist()]


def test_count_of_nothing_is_zero():
    values = Values()
    result = aggregate_groups(Function.COUNT, Kind.NUMBER, np.array([1, 1], np.int32), 3, None, Kind.NUMBER, values)
    assert decode(values, Kind.NUMBER, result) == [0, 2, 0]


def test_only_the_group_that_overflows_fails():
    values = Values()
    column = values.identify_all(Kind.NUMBER, [2**63 - 1, 1, 5])
    groups = np.array([0, 0, 1], np.int32)
    result = aggregate_groups(Function.SUM, Kind.NUMBER, groups, 2, column, Kind.NUMBER, values)
    assert result.failed.tolist() == [True, False]
    assert decode(values, Kind.NUMBER, result) == [None, 5]
    assert "outside the range of number" in result.reason


def test_a_sum_with_an_infinity_beside_large_numbers_is_infinite():
    values = Values()
    column = values.identify_all(Kind.FLOAT, [1e308, 1e308, math.inf])
    result = aggregate_groups(Function.SUM, Kind.FLOAT, np.zeros(3, np.int32), 1, column, Kind.FLOAT, values)
    assert decode(values, Kind.FLOAT, result) == [math.inf]


def test_a_sum_may_leave_the_range_on_the_way():
    values = Values()
    column = values.identify_all(Kind.NUMBER, [2**63 - 1, 2**63 - 1, -(2**63), -(2**63), 7])
    result = aggregate_groups(Function.SUM, Kind.NUMBER, np.zeros(5, np.int32), 1, column, Kind.NUMBER, values)
    assert decode(values, Kind.NUMBER, result) == [5]
