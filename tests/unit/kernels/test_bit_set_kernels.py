"""Bit sets hold what a Python set would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kernels.bit_set import (
    contains_bits,
    contains_ids,
    count_different,
    insert_bits,
    insert_ids,
    remove_bits,
    unknown_bits,
)
from unit.kernels.forms import run_both

SOURCES, TARGETS = 9, 70
STRIDE = (TARGETS + 7) // 8

pairs = st.tuples(st.integers(0, SOURCES - 1), st.integers(0, TARGETS - 1))


def packed(rows):
    return np.array([first | second << 32 for first, second in rows], np.int64)


def first_times(known, rows):
    """Those of `rows` that are not in `known`, each where it first comes; `known` takes them in."""
    return [row for row in rows if not (row in known or known.add(row))]


@given(st.lists(st.lists(pairs, max_size=20), max_size=3), st.lists(pairs))
def test_each_pair_is_new_once(batches, questions):
    bits, known = np.zeros(SOURCES * STRIDE, np.uint8), set()
    for rows in batches:
        new = first_times(known, rows)
        out = np.full(len(new) + 3, -7, np.int64)
        assert run_both(insert_bits, bits, STRIDE, packed(rows), out, 2) == 2 + len(new)
        assert out[:2].tolist() == [-7, -7]
        assert out[2 : 2 + len(new)].tolist() == packed(new).tolist()
    result = np.empty(len(questions), np.bool_)
    run_both(contains_bits, bits, STRIDE, packed(questions), result)
    assert result.tolist() == [pair in known for pair in questions]
    out = np.zeros(len(questions) + 1, np.int64)
    unknown = [pair for pair in questions if pair not in known]
    assert run_both(unknown_bits, bits, STRIDE, packed(questions), out) == len(unknown)
    assert out[: len(unknown)].tolist() == packed(unknown).tolist()


@pytest.mark.parametrize("size", [127, 128, 129, 256, 300])
def test_pairs_are_found_across_blocks(size):
    rows = [(number % SOURCES, number // SOURCES) for number in range(size)]
    bits, out = np.zeros(SOURCES * STRIDE, np.uint8), np.empty(size + 1, np.int64)
    assert run_both(insert_bits, bits, STRIDE, packed(rows + rows[::-1]), out, 0) == size
    assert out[:size].tolist() == packed(rows).tolist()


def test_pairs_outside_the_range_are_not_in_the_set():
    bits = np.full(SOURCES * STRIDE, 0xFF, np.uint8)
    largest = 2**31 - 1
    rows = [(SOURCES - 1, TARGETS - 1), (SOURCES, 0), (0, 8 * STRIDE), (largest, 0), (0, largest), (largest, largest)]
    result = np.empty(len(rows), np.bool_)
    run_both(contains_bits, bits, STRIDE, packed(rows), result)
    assert result.tolist() == [True, False, False, False, False, False]
    out = np.zeros(len(rows) + 1, np.int64)
    assert run_both(unknown_bits, bits, STRIDE, packed(rows), out) == 5


@given(st.lists(st.integers(0, 40)), st.lists(st.integers(0, 40)))
def test_each_id_is_new_once(before, ids):
    seen, known = np.zeros(41, np.uint8), set(before)
    seen[before] = 1
    new = first_times(known, ids)
    out = np.empty(len(new) + 1, np.int32)
    assert run_both(insert_ids, seen, np.array(ids, np.int32), out, 0) == len(new)
    assert out[: len(new)].tolist() == new
    assert set(np.flatnonzero(seen).tolist()) == known
    result = np.empty(44, np.bool_)
    run_both(contains_ids, seen, np.arange(44, dtype=np.int32), result)
    assert result.tolist() == [identity in known for identity in range(44)]


@given(st.lists(st.integers(0, TARGETS - 1), max_size=30))
def test_different_ids_are_counted(ids):
    assert run_both(count_different, np.array(ids, np.int32), np.zeros(TARGETS, np.uint8)) == len(set(ids))


@given(st.lists(pairs, max_size=30), st.lists(pairs, max_size=20))
def test_removed_pairs_are_gone_and_the_others_stay(rows, gone):
    bits = np.zeros(SOURCES * STRIDE, np.uint8)
    run_both(insert_bits, bits, STRIDE, packed(rows), np.empty(len(rows) + 1, np.int64), 0)
    run_both(remove_bits, bits, STRIDE, packed(gone))
    result = np.empty(len(rows), np.bool_)
    run_both(contains_bits, bits, STRIDE, packed(rows), result)
    assert result.tolist() == [pair not in gone for pair in rows]


def test_removing_pairs_outside_the_range_touches_nothing():
    bits = np.full(SOURCES * STRIDE, 0xFF, np.uint8)
    largest = 2**31 - 1
    run_both(remove_bits, bits, STRIDE, packed([(SOURCES, 0), (0, 8 * STRIDE), (largest, largest), (0, largest)]))
    assert (bits == 0xFF).all()
