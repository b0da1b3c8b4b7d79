"""Rows of words hold what a dictionary of sets would hold, in either form of the kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.facts import word_rows
from tidelog.facts.word_rows import WordRows, WordRun
from unit.kernels.forms import TIERS, tier

PAIRS = st.sets(st.tuples(st.integers(0, 9), st.sampled_from([0, 1, 63, 64, 127, 128, 4096, 8192, 8193, 20_000])))


Pairs = set[tuple[int, int]]


def held(rows: WordRows | WordRun) -> Pairs:
    """The pairs of `rows`, key first."""
    found = set()
    for key in range(rows.starts.size):
        row = slice(rows.starts[key], rows.starts[key] + rows.counts[key])
        numbers = rows.words[row].tolist()
        assert numbers == sorted(set(numbers))
        ids = {64 * word + bit for word, bits in zip(numbers, rows.bits[row].tolist(), strict=True)
               for bit in range(64) if (bits & (2**64 - 1)) >> bit & 1}  # fmt: skip
        assert rows.sizes[key] == len(ids)
        found |= {(key, other) for other in ids}
    return found


def as_rows(pairs: Pairs) -> npt.NDArray[np.int32]:
    return np.array(sorted(pairs, key=hash), np.int32).reshape(-1, 2)


WIDE_PAIRS = st.sets(st.tuples(st.integers(0, 99), st.sampled_from([0, 1, 63, 64, 127, 128, 4096, 20_000])))


@pytest.mark.parametrize("form", TIERS)
@given(steps=st.lists(st.tuples(st.sampled_from([1, 2, 4]), WIDE_PAIRS), max_size=6), data=st.data())
def test_parts_of_a_run_are_filled_and_added_in_any_order(
    form: str, steps: list[tuple[int, Pairs]], data: st.DataObject
) -> None:
    rows, run, model = WordRows(0), WordRun(0), Pairs()
    with tier(form):
        for parts, pairs in steps:
            run.begin(as_rows(pairs - model), parts)
            rows.begin(run)
            for part in data.draw(st.permutations(range(parts))):
                run.fill_part(part)
                rows.add_part(run, part)
            run.end()
            rows.end(run)
            assert held(run) == pairs - model
            assert sorted(run.keys.tolist()) == sorted({key for key, _ in pairs - model})
            model |= pairs
            assert held(rows) == model


@pytest.mark.parametrize("form", TIERS)
@given(steps=st.lists(st.tuples(st.sampled_from(["add", "remove", "clear"]), PAIRS), max_size=8))
def test_rows_of_words_are_a_dictionary_of_sets(form: str, steps: list[tuple[str, Pairs]]) -> None:
    rows, run, model = WordRows(0), WordRun(0), Pairs()
    with tier(form):
        for step, pairs in steps:
            if step == "add":
                run.fill(as_rows(pairs - model))
                assert held(run) == pairs - model
                rows.add(run)
                model |= pairs
            elif step == "clear":
                rows.clear()
                run.clear()
                model = Pairs()
                assert not held(run)
            else:
                rows.remove(as_rows(pairs))
                model -= pairs
            assert held(rows) == model


def test_the_second_column_can_be_the_key() -> None:
    run = WordRun(1)
    run.fill(np.array([[7, 3], [70, 3], [7, 4]], np.int32))
    assert held(run) == {(3, 7), (3, 70), (4, 7)}


@pytest.mark.parametrize("form", TIERS)
@given(pairs=WIDE_PAIRS)
def test_many_pairs_are_sorted_by_digits(form: str, pairs: Pairs) -> None:
    with tier(form), pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_rows, "_FEW_PAIRS", 0)
        run = WordRun(0)
        run.fill(as_rows(pairs))
    assert held(run) == pairs
