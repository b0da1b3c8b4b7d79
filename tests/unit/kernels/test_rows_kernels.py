"""Joins, selections and projections of rows are those of Python lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kernels.rows import (
    compress,
    expand,
    largest_of_pairs,
    project,
    project_changing,
    project_some,
    run_starts,
)
from unit.kernels.forms import run_both

ids = st.integers(0, 2**31 - 1)
row_lists = st.lists(st.tuples(ids, ids), max_size=8)


def rows_array(rows):
    return np.array(rows, np.int32).reshape(len(rows), 2)


@st.composite
def blocks_of(draw, payload_rows):
    length = draw(st.integers(0, payload_rows))
    return draw(st.integers(0, payload_rows - length)), length


@given(st.data(), row_lists, row_lists, st.integers(1, 7))
def test_expand_gives_each_row_with_each_of_its_matches(data, left, payload, room):
    blocks = [data.draw(blocks_of(len(payload))) for _ in left]
    begins = np.array([begin for begin, _ in blocks], np.int64)
    lengths = np.array([length for _, length in blocks], np.int64)
    keep, take = np.array([1, -1, 0], np.int64), np.array([-1, 1, -1], np.int64)
    written, row, offset = [], 0, 0
    remaining = int(lengths.sum())
    while remaining:
        out = np.zeros((min(room, remaining), 3), np.int32)
        filled, row, offset = run_both(
            expand, rows_array(left), keep, begins, lengths, rows_array(payload), take, out, row, offset
        )
        assert filled == out.shape[0]
        written += map(tuple, out.tolist())
        remaining -= filled
    assert written == [
        (second, match[1], first)
        for (first, second), (begin, length) in zip(left, blocks, strict=True)
        for match in payload[begin : begin + length]
    ]


@given(row_lists, st.data())
def test_compress_keeps_the_rows_under_the_mask(rows, data):
    mask = np.array([data.draw(st.booleans()) for _ in rows], np.bool_)
    out = np.zeros((int(mask.sum()), 2), np.int32)
    assert run_both(compress, rows_array(rows), np.array([1, 0], np.int64), mask, out) == out.shape[0]
    assert [tuple(row) for row in out.tolist()] == [row[::-1] for row, kept in zip(rows, mask, strict=True) if kept]


@pytest.mark.parametrize("columns", [[], [1], [1, 0], [0, 0, 1]])
def test_project_copies_the_columns_that_were_asked_for(columns):
    rows = [(1, 2), (3, 4), (5, 6)]
    out = np.full((3, len(columns)), -7, np.int32)
    run_both(project, rows_array(rows), np.array(columns, np.int64), out)
    assert out.tolist() == [[row[column] for column in columns] for row in rows]


def test_columns_are_written_where_they_are_not_those_of_the_row_before():
    rows = np.array([[1, 5, 1], [1, 6, 1], [2, 5, 1], [1, 7, 1]], np.int32)
    out = np.zeros((4, 2), np.int32)
    count = run_both(project_changing, rows, np.array([2, 0]), out)
    assert out[:count].tolist() == [[1, 1], [1, 2], [1, 1]]


def test_a_column_that_is_not_there_is_left_as_it_is():
    out = np.full((2, 3), -7, np.int32)
    run_both(project_some, rows_array([(1, 2), (3, 4)]), np.array([1, -1, 0], np.int64), out)
    assert out.tolist() == [[2, -7, 1], [4, -7, 3]]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=12), st.integers(0, 12))
def test_runs_start_where_a_row_differs_from_the_one_before(rows, room):
    expected = [at for at in range(len(rows)) if at == 0 or rows[at][1] != rows[at - 1][1]]
    starts = np.full(room, -7, np.int64)
    runs = run_both(run_starts, rows_array(rows), np.array([1], np.int64), starts)
    assert runs == (len(expected) if len(expected) <= room else -1)
    assert starts[: max(0, runs)].tolist() == (expected if runs >= 0 else [])


@given(st.lists(st.tuples(ids, ids), max_size=40))
def test_the_largest_ids_of_pairs_are_found(rows):
    largest = run_both(largest_of_pairs, rows_array(rows))
    assert largest == tuple(max((row[column] for row in rows), default=0) for column in range(2))
