"""Ids that are gathered from words and blocks are those of a set, in either form of the kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.facts.word_rows import WordRun
from tidelog.kernels.gather import gather_block, gather_words, take_gathered
from unit.kernels.forms import TIERS, tier

Part = tuple[str, set[int]]
PARTS = st.lists(
    st.tuples(st.sampled_from(["words", "block"]), st.sets(st.integers(0, 255), min_size=1)), min_size=1, max_size=5
)
WORDS = 4


@pytest.mark.parametrize("form", TIERS)
@given(parts=PARTS)
def test_what_was_gathered_are_all_ids_once_and_nothing_is_left_behind(form: str, parts: list[Part]) -> None:
    cells, words, bits = np.zeros(WORDS, np.int64), np.empty(WORDS, np.int32), np.empty(WORDS, np.int64)
    size = 0
    with tier(form):
        for how, ids in parts:
            if how == "words":
                run = WordRun(0)
                run.fill(np.array([(0, each) for each in ids], np.int32))
                size = gather_words(run.words, run.bits, run.starts[0], run.counts[0], cells, words, size)
            else:
                size = gather_block(np.array([[each] for each in ids], np.int32), 0, len(ids), cells, words, size)
        count = take_gathered(cells, words, bits, size)
    expected = set().union(*(ids for _, ids in parts))
    gathered = zip(words[:size].tolist(), bits[:size].tolist(), strict=True)
    found = [64 * word + bit for word, ids in gathered for bit in range(64) if (ids & (2**64 - 1)) >> bit & 1]
    assert sorted(found) == sorted(expected)
    assert count == len(expected)
    assert words[size - 1] == max(words[:size])
    assert not cells.any()


@pytest.mark.parametrize("form", TIERS)
def test_ids_that_were_removed_from_words_are_not_gathered(form: str) -> None:
    run = WordRun(0)
    cells, words = np.zeros(WORDS, np.int64), np.empty(WORDS, np.int32)
    with tier(form):
        run.fill(np.array([(0, 5), (0, 70)], np.int32))
        run.remove(np.array([(0, 70)], np.int32))
        assert gather_words(run.words, run.bits, run.starts[0], run.counts[0], cells, words, 0) == 1
    assert cells.tolist() == [1 << 5, 0, 0, 0]
