"""Rows in runs are the same rows, with the rows of an id side by side where that pays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.backends.local.runs import Runs, Sorting, SortingRoom
from tidelog.facts.fact_set import FactSet
from tidelog.facts.relation import Relation
from tidelog.kernels.runs import end_of_run
from unit.kernels.forms import TIERS, run_both, tier

Pair = tuple[int, int]


def as_rows(pairs: list[Pair]) -> np.ndarray:
    return np.array(pairs, np.int32).reshape(-1, 2)


def sorted_into_runs(rows: np.ndarray, parts: int = 1) -> np.ndarray | None:
    sorting = Sorting(rows, parts, SortingRoom())
    for task in sorting.tasks:
        task()
    return sorting.rows


@pytest.mark.parametrize("form", TIERS)
@given(pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=60))
def test_sorted_rows_are_the_same_rows_by_their_first_id(form: str, pairs: list[Pair]) -> None:
    rows = as_rows(pairs)
    with tier(form):
        found = sorted_into_runs(rows)
    if found is not None:
        assert sorted(map(tuple, found.tolist())) == sorted(pairs)
        assert found[:, 0].tolist() == sorted(rows[:, 0].tolist())


@pytest.mark.parametrize("form", TIERS)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 9) | st.integers(0, 99), st.integers(0, 9)), max_size=60),
    parts=st.sampled_from([2, 4]),
)
def test_parts_together_have_all_rows_and_each_has_its_ids(form: str, pairs: list[Pair], parts: int) -> None:
    with tier(form):
        found = sorted_into_runs(as_rows(pairs), parts)
    if found is not None:
        assert sorted(map(tuple, found.tolist())) == sorted(pairs)
        owners = found[:, 0] // 16 % parts
        assert owners.tolist() == sorted(owners.tolist())


def test_rows_are_sorted_only_where_that_makes_runs_longer() -> None:
    together = as_rows([(1, 5), (1, 6), (0, 7), (0, 8)])
    apart = as_rows([(1, 5), (0, 7), (1, 6), (0, 8)])
    few_of_many_ids = as_rows([(1, 5), (1000, 7), (1, 6), (1000, 8)])
    with tier("plain"):
        assert sorted_into_runs(together) is None
        assert sorted_into_runs(apart) is not None
        apart_in_parts = as_rows([(16, 5), (0, 7), (16, 6), (0, 8)])
        found = sorted_into_runs(apart_in_parts, parts=2)
        assert found is not None
        assert found[:, 0].tolist() == [0, 0, 16, 16]
        assert sorted_into_runs(few_of_many_ids) is None


def test_the_end_of_a_run_is_where_another_id_begins() -> None:
    rows = as_rows([(4, 1), (4, 2), (4, 3), (5, 1)])
    assert [run_both(end_of_run, rows, begin, end) for begin, end in [(0, 4), (1, 4), (0, 2), (3, 4)]] == [3, 3, 2, 4]


def test_runs_follow_the_delta_and_what_is_removed() -> None:
    relation = Relation(2)
    runs = Runs(relation)
    with tier("plain"):
        relation.insert(as_rows([(9, 9)]))
        relation.stage(as_rows([(1, 5), (0, 7), (1, 6), (0, 8)]))
        relation.advance()
        runs.catch_up()
        assert runs.delta().tolist() == [[0, 7], [0, 8], [1, 5], [1, 6]]
        relation.remove(FactSet(as_rows([(0, 8)])))
        assert sorted(runs.delta().tolist()) == [[0, 7], [1, 5], [1, 6]]
        assert runs.between(0, 1).tolist() == [[9, 9]]
