"""Rows get numbers as a Python dict in order of arrival would give."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.row_table import EMPTY, find_rows, move_rows, number_rows, remove_rows
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
        run_both(move_rows, slots, larger)
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


COLUMNS = np.arange(3)


class Table:
    """A table of rows of three columns with room for all of them, moved by kernels only."""

    def __init__(self, size):
        self.slots, self.rows, self.count = np.full(size, EMPTY, np.int64), np.zeros((size, 3), np.int32), 0

    def number(self, rows):
        numbers = np.empty(len(rows), np.int32)
        reached, self.count = run_both(
            number_rows, self.slots, self.rows, self.count, rows_array(rows), COLUMNS, 0, len(rows), numbers
        )
        assert reached == len(rows)
        return numbers.tolist()

    def remove(self, rows):
        numbers = np.empty(len(rows), np.int32)
        run_both(remove_rows, self.slots, self.rows, rows_array(rows), COLUMNS, numbers)
        return numbers.tolist()

    def find(self, rows):
        numbers = np.empty(len(rows), np.int32)
        run_both(find_rows, self.slots, self.rows, rows_array(rows), COLUMNS, numbers)
        return numbers.tolist()


@settings(max_examples=40)
@given(row_lists, st.data())
def test_a_removed_row_is_not_found_and_the_others_keep_their_numbers(rows, data):
    table = Table(128)
    table.number(rows)
    known = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    gone = data.draw(st.lists(st.sampled_from([*known, (7, 7, 7)]), unique=True))
    assert table.remove(gone) == [known.pop(row, -1) for row in gone]
    assert table.find([*rows, *gone]) == [known.get(row, -1) for row in (*rows, *gone)]


def test_a_removed_row_that_comes_again_gets_a_new_number():
    table = Table(16)
    assert table.number([(1, 1, 1), (2, 2, 2)]) == [0, 1]
    assert table.remove([(1, 1, 1)]) == [0]
    assert table.number([(2, 2, 2), (1, 1, 1)]) == [1, 2]
    assert table.remove([(1, 1, 1), (1, 1, 1)]) == [2, -1]


def test_growing_leaves_removed_rows_behind():
    table = Table(16)
    table.number([(number, 0, 0) for number in range(10)])
    table.remove([(number, 0, 0) for number in range(0, 10, 2)])
    larger = np.full(32, EMPTY, np.int64)
    run_both(move_rows, table.slots, larger)
    table.slots = larger
    assert np.count_nonzero(larger != EMPTY) == 5
    assert table.find([(number, 0, 0) for number in range(10)]) == [-1, 1, -1, 3, -1, 5, -1, 7, -1, 9]
