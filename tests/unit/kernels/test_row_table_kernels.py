"""Rows get numbers as a Python dict in order of arrival would give."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.row_table import EMPTY, find_rows, number_rows, move_rows
from unit.kernels.forms import run_both

ids = st.one_of(st.integers(0, 2), st.integers(2**31 - 3, 2**31 - 1))
row_lists = st.lists(st.tuples(ids, ids, ids), max_size=60)


def rows_array(rows, width=3):
    return np.array(rows, np.int32).reshape(len(rows), width)


@settings(max_examples=40)
@given(
    row_lists, row_lists, st.permutations([0, 1, 2]).flatmap(lambda order: st.integers(0, 3).map(lambda n: order[:n]))
)
def test_equal_rows_get_equal_numbers(rows, questions, order):
    columns, width = np.array(order, np.int64), len(order)
    keys = [tuple(row[column] for column in order) for row in rows]
    batch, numbers = rows_array(rows), np.empty(len(rows), np.int32)
    slots, table, count, reached = np.full(4, EMPTY, np.int64), np.zeros((3, width), np.int32), 0, 0
    while True:
        reached, count = run_both(number_rows, slots, table, count, batch, columns, reached, len(rows), numbers)
        if reached == len(rows):
            break
        larger = np.full(2 * slots.size, EMPTY, np.int64)
        table = np.concatenate([table, np.zeros_like(table)])
        run_both(move_rows, slots, larger, table, np.arange(width))
        slots = larger
    known = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    assert numbers.tolist() == [known[key] for key in keys]
    assert [tuple(row) for row in table[:count].tolist()] == list(known)
    found = np.empty(len(questions), np.int32)
    run_both(find_rows, slots, table, rows_array(questions), columns, found)
    assert found.tolist() == [known.get(tuple(row[column] for column in order), -1) for row in questions]


def test_numbering_stops_at_the_end_that_was_asked_for():
    batch, numbers = rows_array([(1, 1, 1), (2, 2, 2), (3, 3, 3)]), np.full(3, -7, np.int32)
    slots, table = np.full(8, EMPTY, np.int64), np.zeros((6, 3), np.int32)
    assert run_both(number_rows, slots, table, 0, batch, np.arange(3), 1, 2, numbers) == (2, 1)
    assert numbers.tolist() == [-7, 0, -7]
