"""Chains in columns: steps, records, and the facts they are about, found by binary search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels import jit
from tidelog.kernels.chains import records_of_steps, sum_by_fact
from tidelog.production.late.chain_columns import OPEN, Chains, Records, Steps, moves, status_before
from tidelog.production.late.sorted_rows import SortedRows, order_of

steps_of_facts = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-2, 2), st.integers(-2, 2)), max_size=12
)


@settings(max_examples=100)
@given(steps_of_facts)
def test_records_have_the_sums_of_all_steps_up_to_an_iteration(steps: list[tuple[int, int, int, int]]) -> None:
    records = Records.of(made(steps))
    for fact in range(4):
        for iteration in range(7):
            expected = tuple(
                sum(step[side] for step in steps if step[0] == fact and step[1] <= iteration) for side in (2, 3)
            )
            holding = [
                (int(added), int(deleted))
                for number, first, last, added, deleted in rows_of(records)
                if number == fact and first <= iteration < last
            ]
            assert holding == ([expected] if expected != (0, 0) else [])
    assert rows_of(Records.of(records.steps())) == rows_of(records)


@settings(max_examples=100)
@given(
    st.integers(1, 4).flatmap(lambda width: st.sets(st.tuples(*[st.integers(0, 6)] * width), max_size=40)),
    st.booleans(),
)
def test_sorted_rows_find_the_place_of_each_row(rows: set[tuple[int, ...]], is_far: bool) -> None:
    width = len(next(iter(rows), (0,)))
    given_rows = np.array(sorted(rows, key=hash), np.int32).reshape(-1, width) + (2**31 - 8 if is_far else 0)
    held = SortedRows(given_rows, order_of(given_rows))
    places = held.find(given_rows)
    assert sorted(places.tolist()) == list(range(len(rows)))
    assert held.rows(places).tolist() == given_rows.tolist()
    others = given_rows.copy()
    others[:, 0] = 7
    assert (held.find(others) == -1).all()


def test_rows_that_came_together_take_next_to_nothing() -> None:
    rows = np.stack([np.arange(1000), np.full(1000, 3)], axis=1).astype(np.int32)
    assert SortedRows(rows, order_of(rows)).bytes_held == 12


def test_columns_take_the_bytes_that_their_numbers_need() -> None:
    facts = np.arange(1000)
    rows = facts.astype(np.int32).reshape(-1, 1)
    steps = Steps(facts, facts % 100, np.ones(1000, np.int64), np.zeros(1000, np.int64))
    chains = Chains.of(rows, np.zeros(1000, np.bool_), Records.of(steps))
    assert chains.record_count == 1000
    assert 1000 < chains.bytes_held < 1100


def test_a_fact_comes_and_goes_where_operations_of_one_sign_settle_it() -> None:
    records = Records.of(made([(0, 0, 1, 1), (0, 2, 0, -1), (0, 3, -1, 0), (1, 1, 0, 1)]))
    is_first = np.array([False, True])
    assert [each.tolist() for each in moves(is_first, records)] == [[0, 1], [2, 1], [True, False]]
    assert status_before(2, is_first, records).tolist() == [False, False]
    assert status_before(3, is_first, records).tolist() == [True, False]
    assert rows_of(records)[0] == (0, 0, 2, 1, 1)
    assert rows_of(records)[-1] == (1, 1, OPEN, 0, 1)


def test_chains_that_were_revised_stand_before_the_others() -> None:
    rows = np.arange(2000, dtype=np.int32).reshape(-1, 1)
    chains = Chains.of(rows, np.zeros(2000, np.bool_), Records.of(made([(fact, 0, 1, 0) for fact in range(2000)])))
    for fact in range(900):
        one = np.array([[fact]], np.int32)
        chains = chains.revised(one, np.array([True]), Records.of(made([(0, fact % 7, 0, 2)])))
    has_chain, is_first, records = chains.look_up(np.array([[899], [1000], [5000]], np.int32))
    assert has_chain.tolist() == [True, True, False]
    assert is_first.tolist() == [True, False, False]
    assert rows_of(records) == [(0, 3, OPEN, 0, 2), (1, 0, OPEN, 1, 0)]
    all_rows, _, all_records = chains.everything()
    assert sorted(all_rows.reshape(-1).tolist()) == list(range(2000))
    assert all_records.facts.size == 2000


@pytest.mark.parametrize("kernel", [records_of_steps, sum_by_fact])
def test_kernels_say_the_same_compiled_as_in_plain_python(kernel: jit.Kernel[..., int]) -> None:
    random = np.random.default_rng(1)
    facts, iterations = random.integers(0, 9, 200), random.integers(0, 5, 200)
    added, deleted = random.integers(-1, 2, 200), random.integers(-1, 2, 200)
    answers = []
    for run in (kernel.python, kernel.dispatcher):
        out = [np.zeros(200, np.int64) for _ in range(3)]
        if kernel is sum_by_fact:
            count = run(facts, added, deleted, np.full(9, -1, np.int64), *out)
        else:
            order = np.lexsort((iterations, facts))
            counts = np.zeros((200, 2), np.int64)
            count = run(order, facts, iterations, added, deleted, OPEN, *out, counts)
            out.append(counts.sum(axis=1))
        answers.append([each[:count].tolist() for each in out])
    assert answers[0] == answers[1]
    assert answers[0][0]


def made(steps: list[tuple[int, int, int, int]]) -> Steps:
    columns = np.array(steps, np.int64).reshape(-1, 4)
    return Steps(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3])


def rows_of(records: Records) -> list[tuple[int, ...]]:
    columns = (records.facts, records.first, records.last, records.added, records.deleted)
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]
