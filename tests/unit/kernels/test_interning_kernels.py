"""Interned values get ids as a Python dict in order of arrival would give."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.interning import (
    EMPTY,
    copy_texts,
    enter_words,
    extremes,
    intern_column,
    intern_texts,
    intern_words,
    new_words,
    note_ids,
    rehash_texts,
)
from unit.kernels.forms import TIERS, run_both, tier

words = st.one_of(st.integers(0, 5), st.integers(2**64 - 4, 2**64 - 1), st.integers(0, 2**64 - 1))
texts = st.one_of(st.sampled_from(["", "a", "b", "ab", "ba", "é", "\0", "日本"]), st.text(max_size=5))


def numbered(values):
    """The id of each value, counted from 0 in order of arrival."""
    known = {}
    return [known.setdefault(value, len(known)) for value in values]


@given(st.lists(words, max_size=60))
def test_equal_words_get_equal_ids(values):
    array, ids = np.array(values, np.uint64), np.zeros((len(values), 2), np.int32)
    room = 2
    slots, table = np.full(2 * room, EMPTY, np.int32), np.empty(room, np.uint64)
    table[:] = 0
    reached, count = run_both(intern_words, slots, table, 0, array, 0, ids, 1)
    while reached < array.size:
        assert count == room
        room *= 2
        slots, table = np.full(2 * room, EMPTY, np.int32), np.concatenate([table, np.zeros_like(table)])
        run_both(enter_words, slots, table, 0, count)
        reached, count = run_both(intern_words, slots, table, count, array, reached, ids, 1)
    assert ids[:, 1].tolist() == numbered(values)
    assert table[:count].tolist() == list(dict.fromkeys(values))


near = st.integers(2**64 - 40, 2**64 - 1)


@given(st.sets(words | near, max_size=20), st.lists(near, min_size=1, max_size=60))
def test_words_near_to_one_another_get_ids_after_those_that_are_known(known, values):
    table, array = np.array([*known, 0], np.uint64), np.array(values, np.uint64)
    least, reach = array.min(), max(values) - min(values) + 1
    noted, rows = np.zeros(reach, np.int32), np.zeros((len(values), 2), np.int32)
    run_both(note_ids, table, len(known), least, noted)
    new = np.zeros(reach + 1, np.uint64)
    found = run_both(new_words, array, least, len(known), noted, new, rows, 1)
    assert rows[:, 1].tolist() == numbered([*known, *values])[len(known) :]
    assert [*known, *new[:found].tolist()] == list(dict.fromkeys([*known, *values]))


@pytest.mark.parametrize("form", TIERS)
@given(st.lists(st.lists(words, max_size=60), max_size=3), st.sampled_from([1, 20, 100]))
def test_columns_get_ids_with_room_made_for_new_words(form, columns, many):
    slots, table, count = np.full(4, EMPTY, np.int32), np.zeros(2, np.uint64), 0
    found = []
    for values in columns:
        ids = np.zeros((len(values), 2), np.int32)
        arguments = np.array(values, np.uint64), ids, 1, many, 2**31
        with tier(form):
            reached, count, slots, table = intern_column(slots, table, count, *arguments)
        assert reached == len(values)
        found += ids[:, 1].tolist()
    given_in_all = list(chain.from_iterable(columns))
    assert found == numbered(given_in_all)
    assert table[:count].tolist() == list(dict.fromkeys(given_in_all))


@given(st.lists(words, min_size=1, max_size=60))
def test_the_least_and_the_greatest_word_are_found(values):
    assert run_both(extremes, np.array(values, np.uint64)) == (min(values), max(values))


def cut(values):
    """Texts as an Arrow column keeps them: where each begins and ends, and all letters."""
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    return offsets, np.frombuffer(b"".join(encoded), np.uint8).copy()


@settings(max_examples=40)
@given(st.lists(texts, max_size=20))
def test_equal_texts_get_equal_ids_and_read_back(values):
    offsets, letters = cut(values)
    ids = np.empty(len(values), np.int32)
    room, space = 2, 4
    slots, codes = np.full(2 * room, EMPTY, np.int32), np.zeros(room, np.uint64)
    ends, held = np.zeros(room + 1, np.int64), np.zeros(space, np.uint8)
    count = reached = 0
    while True:
        reached, count = run_both(intern_texts, slots, codes, ends, held, count, offsets, letters, reached, ids)
        if reached == len(values):
            break
        if count < room:
            held = np.concatenate([held, np.zeros(held.size + 16, np.uint8)])
            continue
        room *= 2
        codes = np.concatenate([codes, np.zeros_like(codes)])
        ends = np.concatenate([ends, np.zeros(room + 1 - ends.size, np.int64)])
        slots = np.full(2 * room, EMPTY, np.int32)
        run_both(rehash_texts, slots, codes, count)
    assert ids.tolist() == numbered(values)
    out = np.zeros(letters.size, np.uint8)
    run_both(copy_texts, ends, held, ids, offsets, out)
    assert out.tobytes() == letters.tobytes()
