"""Sets of rows hold what a Python set of tuples would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.facts import difference
from tidelog.facts.difference import pairs_without
from tidelog.facts.membership import IdSet, PairSet, RowSet, membership_for
from unit.kernels.forms import TIERS, tier

LARGEST = 2**31 - 1
widths = pytest.mark.parametrize("width", [1, 2, 3, 4])


class Checked:
    """A set of rows beside its model. Its `out` keeps all rows from the first on, as a relation does."""

    def __init__(self, width):
        self.width, self.set, self.known = width, membership_for(width), {}

    def add(self, rows):
        array = rows_array(rows, self.width)
        out = np.full((len(self.known) + len(rows) + 1, self.width), -7, np.int32)
        out[: len(self.known)] = rows_array(list(self.known), self.width)
        before = len(self.known)
        self.known |= dict.fromkeys(rows)
        assert self.set.add(array, out, before) == len(self.known)
        assert [tuple(row) for row in out[: len(self.known)].tolist()] == list(self.known)

    def ask(self, rows):
        assert self.set.contains(rows_array(rows, self.width)).tolist() == [row in self.known for row in rows]
        unknown = self.set.unknown(rows_array(rows, self.width))
        assert [tuple(row) for row in unknown.tolist()] == [row for row in rows if row not in self.known]


def rows_array(rows, width):
    return np.array(rows, np.int32).reshape(len(rows), width)


def test_the_width_chooses_the_set():
    assert [type(membership_for(width)) for width in (1, 2, 3, 9)] == [IdSet, PairSet, RowSet, RowSet]


@widths
@settings(max_examples=20)
@given(data=st.data())
def test_each_row_is_new_once(width, data):
    ids = st.integers(0, 3) | st.integers(60, 200) | st.integers(0, 5000)
    rows = st.lists(st.tuples(*[ids] * width), max_size=100)
    checked = Checked(width)
    for batch in data.draw(st.lists(rows, max_size=4)):
        checked.add(batch)
    checked.ask(data.draw(rows) + list(checked.known))


@widths
@pytest.mark.parametrize("form", TIERS)
@pytest.mark.parametrize("size", [63, 64, 65, 127, 128, 129, 500])
def test_sizes_around_limits(width, form, size):
    rows = [tuple((number * 17 + column) % 509 for column in range(width)) for number in range(size)]
    with tier(form):
        checked = Checked(width)
        checked.add([*rows, *rows[::-1]])
        checked.add(rows)
        checked.ask([*rows, *(tuple(number + 510 for number in row) for row in rows)])


@pytest.mark.parametrize("width", [2, 3])
def test_large_ids_are_kept_apart(width):
    checked = Checked(width)
    rows = [(LARGEST - number,) * width for number in range(130)]
    checked.add(rows)
    checked.ask([*rows, (LARGEST - 130,) * width, (0,) * width, (LARGEST, *[0] * (width - 1))])


@pytest.mark.parametrize("form", TIERS)
def test_pairs_turn_from_words_to_bits_and_back_and_again(form):
    with tier(form):
        checked = Checked(2)
        checked.set.few_bytes = 1 << 14
        checked.add([(0, 0), (3, 100)])
        assert not is_bits(checked)
        checked.add([(first, second) for first in range(100) for second in range(0, 100, 64)])
        assert is_bits(checked)
        checked.ask([*checked.known, (0, 1), (100, 0), (0, 100), (5000, 5000), (LARGEST, LARGEST)])
        checked.add([(first, first) for first in range(100)])
        assert is_bits(checked)
        checked.add([(7, 50_000)])
        assert not is_bits(checked)
        checked.ask([*checked.known, (7, 49_999), (8, 50_000), (7, 50_001)])
        checked.set.few_bytes = 1 << 22
        checked.add([(0, 1), (0, 1)])
        assert is_bits(checked)
        checked.ask([*checked.known, (7, 49_999), (8, 50_000), (7, 50_001)])


@pytest.mark.parametrize("form", TIERS)
def test_many_pairs_that_come_first_are_bits_at_once(form):
    pairs = [(number % 10, number * 7 % 300) for number in range(200)]
    with tier(form):
        checked = Checked(2)
        checked.add([*pairs, *pairs])
        assert is_bits(checked)
        assert checked.set.used == 0
        checked.ask([*pairs, (10, 0), (0, 301), (5000, 5000)])
        checked.add([(7, 50_000_000)])
        assert not is_bits(checked)
        checked.ask([*checked.known, (7, 49_999)])


def is_bits(checked):
    return checked.set._bits is not None


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(2, 130), st.integers(2, 600)), min_size=1, max_size=5))
def test_pairs_with_growing_ranges(shapes):
    checked = Checked(2)
    for firsts, seconds in shapes:
        checked.add([(number % firsts, number * 7 % seconds) for number in range(firsts + seconds)])
        checked.ask([*checked.known, (firsts, seconds), (0, seconds), (firsts, 0)])


def test_pairs_pushed_into_bits_are_kept_when_these_reach_further():
    held = PairSet()
    pairs = [(one, other) for one in range(100) for other in range(40)]
    held.add(rows_array(pairs, 2), np.empty((len(pairs) + 1, 2), np.int32), 0)
    assert held.is_bits
    _, cells, width = held.arrays
    pushed = (105, 60)  # beyond all ids seen so far, within reach of the bits
    cells[pushed[0] * width] |= np.int64(1) << pushed[1]
    held.take(rows_array([pushed], 2), held.used)
    held.make_room()
    assert not held.is_bits
    further = (200, 200)
    held.add(rows_array([further], 2), np.empty((2, 2), np.int32), 0)
    asked = [*pairs, pushed, further, (105, 61), (104, 60)]
    assert held.contains(rows_array(asked, 2)).tolist() == [each in {*pairs, pushed, further} for each in asked]
    assert held.is_bits


def test_bits_that_did_not_reach_far_enough_come_back_only_with_ids_further_out():
    held = PairSet()
    pairs = rows_array([(one, other) for one in range(100) for other in range(40)], 2)
    room = np.empty((len(pairs) + 1, 2), np.int32)
    held.add(pairs, room, 0)
    held.make_room()
    held.take(pairs[:0], held.used)
    held.add(pairs, room, 0)
    assert not held.is_bits  # else whoever pushes the pair that they did not reach would never be done
    held.add(rows_array([(200, 200)], 2), room, 0)
    assert held.is_bits


@widths
def test_an_empty_batch_changes_nothing(width):
    checked = Checked(width)
    checked.add([])
    checked.ask([])
    checked.ask([(0,) * width, (LARGEST,) * width])


def test_rows_are_numbered_through_columns():
    groups = RowSet(2)
    rows = np.array([(1, 5, 2), (9, 5, 1), (1, 7, 2), (2, 0, 1)], np.int32)
    assert groups.number(rows, np.array([0, 2])).tolist() == [0, 1, 0, 2]
    assert groups.find(rows[:, ::-1].copy(), np.array([0, 2])).tolist() == [2, -1, 2, 0]
    assert groups.rows[: groups.count].tolist() == [[1, 2], [9, 1], [2, 1]]


def test_rows_without_columns_are_all_the_same_row():
    groups = RowSet(0)
    none = np.empty((3, 0), np.int32)
    assert groups.find(none, np.arange(0)).tolist() == [-1, -1, -1]
    assert groups.number(none, np.arange(0)).tolist() == [0, 0, 0]
    assert groups.find(none, np.arange(0)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("form", TIERS)
@pytest.mark.parametrize("few_bytes", [(0, 0), (1 << 22, 1 << 22), (0, 1 << 22)])
@settings(max_examples=20)
@given(data=st.data())
def test_what_another_set_of_pairs_has_not(form, few_bytes, data):
    ids = st.integers(0, 3) | st.integers(60, 200) | st.integers(0, 3000)
    pairs = st.sets(st.tuples(ids, ids), max_size=150)
    common, *apart, gone = (data.draw(pairs) for _ in range(4))
    with tier(form), pytest.MonkeyPatch.context() as patch:
        patch.setattr(difference, "_SEVERAL", 0)
        one, other = (pair_set(common | own, gone & own, few) for own, few in zip(apart, few_bytes, strict=True))
        left = pairs_without(one[0], other[0])
    assert (left is None) is (one[0].is_bits is not other[0].is_bits)
    if left is not None:
        assert sorted(map(tuple, left.tolist())) == sorted(one[1] - other[1])


def pair_set(pairs, gone, few_bytes):
    """A set of pairs from which some were removed, and its model."""
    held = PairSet(few_bytes=few_bytes)
    held.add(rows_array(sorted(pairs), 2), np.empty((len(pairs) + 1, 2), np.int32), 0)
    held.remove(rows_array(sorted(gone), 2))
    return held, pairs - gone
