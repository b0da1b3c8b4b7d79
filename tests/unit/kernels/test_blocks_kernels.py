"""Blocks keep the rows of each group together in the order they came, as a dict of lists would."""

from __future__ import annotations

import bisect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.blocks import (
    EMPTY_COUNTS,
    append_blocks,
    bisect_blocks,
    expand_agreeing,
    fill_blocks,
    lay_out_blocks,
    present_agreeing,
    present_in_blocks,
    probe_blocks,
    remove_from_blocks,
    set_old,
)
from unit.kernels.forms import run_both

GROUPS = 6
COLUMNS = np.array([2, 0], np.int64)

group_lists = st.lists(st.integers(0, GROUPS - 1), max_size=40)


def column_of(groups):
    """An array, and the number of the column in which these groups stand."""
    among = np.full((len(groups), 2), -3, np.int32)
    among[:, 1] = groups
    return among, 1


class Blocks:
    """The arrays of an index, moved by kernels only."""

    def __init__(self):
        self.starts, self.counts, self.olds, self.rooms = (np.zeros(GROUPS, np.int32) for _ in range(4))
        self.free = np.full(32, -1, np.int32)
        self.payload, self.tail = np.zeros((0, COLUMNS.size), np.int32), 0

    def append(self, groups, rows, first_row):
        reached = 0
        while True:
            reached, self.tail, _ = run_both(
                append_blocks, *column_of(groups), rows, first_row, COLUMNS, reached,
                self.starts, self.counts, self.rooms, self.payload, self.tail, self.free,
            )  # fmt: skip
            if reached == len(groups):
                return
            self.payload = np.concatenate([self.payload, np.zeros((8, COLUMNS.size), np.int32)])

    def remove(self, groups, rows, numbers):
        run_both(
            remove_from_blocks, np.array(groups, np.int32), rows, np.array(numbers, np.int32), COLUMNS,
            self.starts, self.counts, self.olds, self.payload,
        )  # fmt: skip

    def probe(self, groups, lows, highs):
        begins, lengths = (np.full(len(groups), -7, np.int64) for _ in range(2))
        total = run_both(probe_blocks, np.array(groups, np.int32), self.starts, lows, highs, begins, lengths)
        assert total == lengths.sum()
        return [
            [tuple(row) for row in self.payload[begin : begin + length].tolist()]
            for begin, length in zip(begins, lengths, strict=True)
        ]


@settings(max_examples=40)
@given(group_lists, group_lists, group_lists)
def test_blocks_give_the_rows_of_each_group_in_order_old_ones_first(laid_out, old, new):
    blocks = Blocks()
    tail = run_both(lay_out_blocks, *column_of(laid_out), blocks.starts, blocks.rooms)
    assert tail == len(laid_out)
    blocks.payload, blocks.tail = np.zeros((tail, COLUMNS.size), np.int32), tail
    groups = laid_out + old + new
    rows = np.array([(7 * n, 7 * n + 1, 7 * n + 2) for n in range(len(groups))], np.int32).reshape(-1, 3)
    blocks.append(laid_out, rows, 0)
    assert blocks.tail == tail, "no block had to move"
    blocks.append(old, rows, len(laid_out))
    run_both(set_old, *column_of(laid_out + old), blocks.counts, blocks.olds)
    blocks.append(new, rows, len(laid_out) + len(old))

    def model(low, high):
        return [[(7 * n + 2, 7 * n) for n in range(low, high) if groups[n] == group] for group in asked[:-2]] + [[], []]

    asked = [*range(GROUPS), 0, GROUPS, -1]
    count, aged = len(groups), len(laid_out) + len(old)
    assert blocks.probe(asked, EMPTY_COUNTS, blocks.counts) == model(0, count)
    assert blocks.probe(asked, EMPTY_COUNTS, blocks.olds) == model(0, aged)
    assert blocks.probe(asked, blocks.olds, blocks.counts) == model(aged, count)


def test_a_block_moves_to_the_place_that_another_has_left():
    blocks = Blocks()
    groups = [0] * 5 + [1] * 5
    blocks.append(groups, np.arange(3 * len(groups), dtype=np.int32).reshape(-1, 3), 0)
    assert blocks.tail == 2 + 4 + 8 + 8, "group 1 went through the places of 2 and 4 rows that group 0 had"
    assert [len(found) for found in blocks.probe([0, 1, 2], EMPTY_COUNTS, blocks.counts)] == [5, 5, 0]


@pytest.mark.parametrize("size", [0, 127, 128, 129])
def test_probes_work_across_blocks_of_questions(size):
    blocks = Blocks()
    rows = np.arange(3 * GROUPS, dtype=np.int32).reshape(GROUPS, 3)
    blocks.append(list(range(GROUPS)), rows, 0)
    asked = [number % (GROUPS + 1) for number in range(size)]
    expected = [[(3 * group + 2, 3 * group)] if group < GROUPS else [] for group in asked]
    assert blocks.probe(asked, EMPTY_COUNTS, blocks.counts) == expected


@given(
    st.lists(st.lists(st.integers(0, 6), max_size=9).map(sorted), min_size=1, max_size=4),
    st.data(),
    st.sampled_from([np.int64, np.uint64, np.float64]),
)
def test_bisection_keeps_what_lies_on_one_side_of_the_bound(blocks, data, dtype):
    values = np.array([value for block in blocks for value in block], dtype)
    limits = [data.draw(st.integers(0, 7)) for _ in blocks]
    starts = np.cumsum([0, *map(len, blocks)])[:-1].astype(np.int64)
    cuts = {
        (0, 1): lambda block, limit: block[: bisect.bisect_left(block, limit)],  # below the bound
        (1, 1): lambda block, limit: block[: bisect.bisect_right(block, limit)],  # up to it
        (0, 0): lambda block, limit: block[bisect.bisect_right(block, limit) :],  # above it
        (1, 0): lambda block, limit: block[bisect.bisect_left(block, limit) :],  # from it on
    }
    for (side, upper), expected in cuts.items():
        begins, lengths = starts.copy(), np.array([len(block) for block in blocks], np.int64)
        run_both(bisect_blocks, values, begins, lengths, np.array(limits, dtype), side, upper)
        found = [values[begin : begin + length].tolist() for begin, length in zip(begins, lengths, strict=True)]
        assert found == [expected(block, limit) for block, limit in zip(blocks, limits, strict=True)]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=9), st.data())
def test_a_row_is_present_where_its_block_has_it(payload, data):
    positions = st.integers(0, len(payload))
    blocks = data.draw(st.lists(st.tuples(positions, positions).map(sorted), max_size=6))
    rows = [(data.draw(st.integers(0, 2)), 7, data.draw(st.integers(0, 2))) for _ in blocks]
    begins, ends = (np.array([block[side] for block in blocks], np.int64) for side in (0, 1))
    result = np.empty(len(blocks), np.bool_)
    run_both(
        present_in_blocks, begins, ends - begins, np.array(payload, np.int32).reshape(-1, 2),
        np.array(rows, np.int32).reshape(-1, 3), np.array([2, 0]), result,
    )  # fmt: skip
    assert result.tolist() == [
        (last, first) in payload[begin:end] for (first, _, last), (begin, end) in zip(rows, blocks, strict=True)
    ]


@settings(max_examples=40)
@given(group_lists, group_lists, st.data())
def test_removing_rows_keeps_the_others_in_order_and_as_old_as_they_were(old, new, data):
    blocks = Blocks()
    groups = old + new
    rows = np.array([(7 * n, 7 * n + 1, 7 * n + 2) for n in range(len(groups))], np.int32).reshape(-1, 3)
    blocks.append(old, rows, 0)
    run_both(set_old, *column_of(old), blocks.counts, blocks.olds)
    blocks.append(new, rows, len(old))
    gone = data.draw(st.lists(st.sampled_from(range(len(groups))), unique=True)) if groups else []
    blocks.remove([groups[number] for number in gone], rows, gone)

    def model(low, high):
        living = [n for n in range(low, high) if n not in gone]
        return [[(7 * n + 2, 7 * n) for n in living if groups[n] == group] for group in range(GROUPS)]

    assert blocks.probe(range(GROUPS), EMPTY_COUNTS, blocks.counts) == model(0, len(groups))
    assert blocks.probe(range(GROUPS), EMPTY_COUNTS, blocks.olds) == model(0, len(old))
    assert blocks.probe(range(GROUPS), blocks.olds, blocks.counts) == model(len(old), len(groups))


def test_rows_without_other_columns_are_counted_off():
    counts, olds = np.array([3], np.int32), np.array([2], np.int32)
    rows, none = np.zeros((3, 1), np.int32), np.empty(0, np.int64)
    run_both(
        remove_from_blocks, np.zeros(2, np.int32), rows, np.array([0, 1], np.int32), none,
        np.zeros(1, np.int32), counts, olds, np.empty((0, 0), np.int32),
    )  # fmt: skip
    assert (counts.tolist(), olds.tolist()) == ([1], [0])


@pytest.mark.parametrize("columns", [[], [0], [2], [-1], [2, 0], [1, -1]])
@given(groups=st.lists(st.integers(-1, GROUPS - 1), max_size=40))
def test_blocks_with_room_for_all_are_filled_as_others_grow(columns, groups):
    numbers, columns = column_of(groups), np.array(columns, np.int64)
    rows = np.arange(3 * len(groups) + 6, dtype=np.int32).reshape(-1, 3)
    filled, grown = [], []
    for found in (filled, grown):
        starts, counts, rooms = (np.zeros(GROUPS, np.int32) for _ in range(3))
        tail = run_both(lay_out_blocks, *numbers, starts, rooms)
        payload = np.full((tail, columns.size), -7, np.int32)
        if found is filled:
            run_both(fill_blocks, *numbers, rows, 2, columns, starts, counts, payload)
        else:
            free = np.full(32, -1, np.int32)
            run_both(append_blocks, *numbers, rows, 2, columns, 0, starts, counts, rooms, payload, tail, free)
        found += [starts.tolist(), counts.tolist(), payload.tolist()]
    assert filled == grown


def test_a_row_is_told_from_its_equals_by_its_number():
    columns = np.array([1, -1], np.int64)
    rows = np.array([(5, 8), (5, 8), (5, 9)], np.int32)
    starts, counts, olds, rooms = (np.zeros(6, np.int32) for _ in range(4))
    payload, free = np.zeros((6, 2), np.int32), np.full(32, -1, np.int32)
    groups = np.full(3, 5, np.int32)
    run_both(append_blocks, *column_of(groups), rows, 0, columns, 0, starts, counts, rooms, payload, 0, free)
    run_both(
        remove_from_blocks, groups[:1], rows, np.array([1], np.int32), columns, starts, counts, olds, payload
    )  # fmt: skip
    assert payload[starts[5] : starts[5] + counts[5]].tolist() == [[8, 0], [9, 2]]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6), st.data(), st.integers(1, 4))
def test_rows_of_a_block_that_agree_are_found_and_joined(keys, data, room):
    payload = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=8))
    begins = [data.draw(st.integers(0, len(payload))) for _ in keys]
    lengths = [data.draw(st.integers(0, len(payload) - begin)) for begin in begins]
    left = np.array(keys, np.int32).reshape(len(keys), 2)
    matches = (np.array(begins, np.int64), np.array(lengths, np.int64), np.array(payload, np.int32))
    compared, columns = np.array([1], np.int64), np.array([0], np.int64)
    expected = [
        [(key[0], row[1]) for row in payload[begin : begin + length] if row[0] == key[1]]
        for key, begin, length in zip(keys, begins, lengths, strict=True)
    ]
    result = np.zeros(len(keys), np.bool_)
    run_both(present_agreeing, left, compared, *matches, columns, result)
    assert result.tolist() == [bool(rows) for rows in expected]
    written, row, offset = [], 0, 0
    keep, take = np.array([0, -1], np.int64), np.array([-1, 1], np.int64)
    while row < len(keys):
        out = np.zeros((room, 2), np.int32)
        filled, row, offset = run_both(
            expand_agreeing, left, keep, left, compared, *matches, columns, take, out, row, offset
        )
        written += map(tuple, out[:filled].tolist())
    assert written == [pair for rows in expected for pair in rows]
