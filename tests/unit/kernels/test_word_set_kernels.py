"""Words of 64 neighbours hold what a Python set of pairs would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.word_set import (
    EMPTY,
    contains_words,
    insert_words,
    move_words,
    remove_words,
    spread_words,
    unknown_words,
)
from unit.kernels.forms import run_both

LARGEST = 2**31 - 1

ids = st.one_of(st.integers(0, 3), st.integers(60, 68), st.integers(LARGEST - 66, LARGEST))
pairs = st.tuples(ids, ids)


def packed(rows):
    return np.array([first | second << 32 for first, second in rows], np.int64)


def empty_table(words):
    entries = np.zeros(2 * words, np.int64)
    entries[::2] = EMPTY
    return entries


def add_all(entries, used, rows):
    """The table with `rows` in it (larger, where it had to grow), its words, and the new rows in order."""
    keys, out = packed(rows), np.empty(len(rows) + 1, np.int64)
    reached, used, found = run_both(insert_words, entries, used, keys, 0, out, 0)
    while reached < keys.size:
        larger = empty_table(entries.size)
        run_both(move_words, entries, larger)
        entries = larger
        reached, used, found = run_both(insert_words, entries, used, keys, reached, out, found)
    return entries, used, out[:found].tolist()


@settings(max_examples=40)
@given(st.lists(st.lists(pairs, max_size=30), max_size=3), st.lists(pairs, max_size=30))
def test_each_pair_is_new_once(batches, questions):
    entries, used, known = empty_table(4), 0, set()
    for rows in batches:
        entries, used, new = add_all(entries, used, rows)
        assert new == packed(dict.fromkeys(row for row in rows if row not in known)).tolist()
        known.update(rows)
    assert used == len({(first, second // 64) for first, second in known})
    result = np.empty(len(questions), np.bool_)
    run_both(contains_words, entries, packed(questions), result)
    assert result.tolist() == [pair in known for pair in questions]
    out = np.zeros(len(questions) + 1, np.int64)
    unknown = [pair for pair in questions if pair not in known]
    assert run_both(unknown_words, entries, packed(questions), out) == len(unknown)
    assert out[: len(unknown)].tolist() == packed(unknown).tolist()


@pytest.mark.parametrize("size", [63, 64, 65, 127, 128, 129, 300])
def test_a_run_of_neighbours_shares_words(size):
    rows = [(LARGEST, second) for second in range(size)]
    _, used, new = add_all(empty_table(16), 0, rows + rows)
    assert used == (size + 63) // 64
    assert new == packed(rows).tolist()


def test_a_table_that_should_grow_stops_before_the_key_that_needs_it():
    keys = packed([(first, 0) for first in range(8)])
    entries, out = empty_table(8), np.empty(9, np.int64)
    assert run_both(insert_words, entries, 0, keys, 0, out, 0) == (5, 5, 5)
    more_of_known_words = packed([(first, 1) for first in range(5)])
    assert run_both(insert_words, entries, 5, more_of_known_words, 0, out, 0) == (5, 5, 5)


def test_many_words_survive_growth():
    rows = [(number * 7919 % 1009, number % 200) for number in range(1500)]
    entries, _, new = add_all(empty_table(8), 0, rows)
    assert new == packed(dict.fromkeys(rows)).tolist()
    result = np.empty(len(rows), np.bool_)
    run_both(contains_words, entries, packed(rows), result)
    assert result.all()
    run_both(contains_words, entries, packed([(first + 2000, second) for first, second in rows]), result)
    assert not result.any()


def held(entries, rows):
    result = np.empty(len(rows), np.bool_)
    run_both(contains_words, entries, packed(rows), result)
    return result.tolist()


@settings(max_examples=40)
@given(st.lists(pairs, max_size=40), st.lists(pairs, max_size=20))
def test_removed_pairs_are_gone_and_new_again(rows, gone):
    entries, used, _ = add_all(empty_table(4), 0, rows)
    run_both(remove_words, entries, packed(gone))
    left = set(rows) - set(gone)
    assert held(entries, rows + gone) == [pair in left for pair in rows + gone]
    _, used_again, new = add_all(entries, used, rows)
    assert new == packed(dict.fromkeys(pair for pair in rows if pair not in left)).tolist()
    assert used_again == used, "a word without bits keeps its place"


small_pairs = st.tuples(st.integers(0, 8), st.integers(0, 150))


@given(st.lists(small_pairs, max_size=40), st.lists(small_pairs, max_size=10))
def test_spreading_sets_one_bit_for_each_pair(rows, gone):
    entries, _, _ = add_all(empty_table(4), 0, rows)
    run_both(remove_words, entries, packed(gone))
    stride = 19
    bits = np.zeros(9 * stride, np.uint8)
    run_both(spread_words, entries, bits, stride)
    places = np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist()
    assert {divmod(place, 8 * stride) for place in places} == set(rows) - set(gone)


def test_spreading_reads_all_64_bits_of_a_word():
    entries, _, _ = add_all(empty_table(4), 0, [(0, 0), (0, 63), (1, 31), (1, 32)])
    bits = np.zeros(16, np.uint8)
    run_both(spread_words, entries, bits, 8)
    assert bits.tolist() == [1, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 128, 1, 0, 0, 0]
