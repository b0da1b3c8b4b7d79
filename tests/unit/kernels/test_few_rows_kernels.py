"""Few rows are told apart as Python sets of tuples would."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.few_rows import different_rows, rows_without
from unit.kernels.forms import run_both

ids = st.integers(0, 2)


def rows_array(rows, width):
    return np.array(rows, np.int32).reshape(len(rows), width)


def row_lists(width):
    return st.lists(st.tuples(*[ids] * width), max_size=12)


@settings(max_examples=40)
@given(st.integers(1, 3).flatmap(lambda width: st.tuples(st.just(width), row_lists(width), row_lists(width))))
def test_rows_are_kept_once_or_where_others_are_not_in_the_order_they_came(case):
    width, rows, others = case
    out = np.zeros((len(rows), width), np.int32)
    count = run_both(different_rows, rows_array(rows, width), out)
    assert [tuple(row) for row in out[:count].tolist()] == list(dict.fromkeys(rows))
    count = run_both(rows_without, rows_array(rows, width), rows_array(others, width), out)
    assert [tuple(row) for row in out[:count].tolist()] == [row for row in rows if row not in others]
