"""Fact sets are sets of rows, written out as late as possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.facts import fact_set as fact_set_file
from tidelog.facts.fact_set import FactSet, Gathering, different


def rows_array(rows, width):
    return np.array(sorted(rows), np.int32).reshape(len(rows), width)


def facts_of(rows, width):
    return FactSet(rows_array(rows, width))


def as_set(facts):
    rows = [tuple(row) for row in facts.rows.tolist()]
    assert len(rows) == len(set(rows)) == len(facts)
    return set(rows)


def row_sets(width):
    return st.sets(st.tuples(*[st.integers(0, 3)] * width), max_size=12)


@pytest.mark.parametrize("width", [1, 2, 3])
@given(data=st.data())
def test_union_and_difference_are_those_of_python_sets(width, data):
    one, two = data.draw(row_sets(width)), data.draw(row_sets(width))
    first, second = facts_of(one, width), facts_of(two, width)
    assert as_set(first.union(second)) == one | two
    assert as_set(first.minus(second)) == one - two
    assert as_set(first.none()) == set()
    assert (as_set(first), as_set(second)) == (one, two), "neither has changed"


def test_different_rows_of_several_batches_come_in_order_of_arrival():
    batches = [np.array(rows, np.int32).reshape(-1, 2) for rows in ([(2, 2), (1, 1)], [], [(1, 1), (3, 3), (3, 3)])]
    assert different(batches).rows.tolist() == [[2, 2], [1, 1], [3, 3]]


def test_facts_for_later_are_written_out_once_and_only_for_who_reads_them():
    calls = []

    def expand():
        calls.append("expanded")
        return rows_array([(1, 2), (3, 4)], 2)

    facts = FactSet.later(2, 2, expand)
    assert len(facts) == 2
    assert facts.minus(facts.none()) is facts
    assert facts.union(facts.none()) is facts
    assert len(facts.none()) == 0
    assert calls == []
    assert as_set(facts) == {(1, 2), (3, 4)}
    assert as_set(facts.minus(facts_of([(1, 2)], 2))) == {(3, 4)}
    assert calls == ["expanded"]


def test_a_set_that_is_at_hand_is_used_again():
    facts = facts_of([(1, 2)], 2)
    assert FactSet(facts.rows, facts.membership).membership is facts.membership


def test_gathered_rows_are_kept_once_however_many_come(monkeypatch):
    monkeypatch.setattr(fact_set_file, "_MANY_ROWS", 10)
    gathering, buffer = Gathering(), np.empty((7, 2), np.int32)
    for start in range(0, 210, 7):
        buffer[:, 0] = np.arange(start, start + 7) % 40
        buffer[:, 1] = 3
        gathering.add(buffer)
    assert sorted(gathering.facts().rows.tolist()) == [[number, 3] for number in range(40)]
