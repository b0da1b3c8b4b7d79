"""What finds the number of a row, in either form, is a dict of the rows that are alive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import RowSet
from tidelog.facts.numbering import PairNumbers, numbering_of
from tidelog.facts.relation import Relation
from unit.kernels.forms import TIERS, tier

BOTH = np.arange(2)
DENSE = [(x, y) for x in range(6) for y in range(6)]


def rows_array(rows):
    return np.array(rows, np.int32).reshape(len(rows), 2)


def test_pairs_are_numbered_in_one_array_where_most_that_could_be_are_there():
    assert isinstance(numbering_of(rows_array(DENSE), None), PairNumbers)
    assert isinstance(numbering_of(rows_array([(0, 0), (50, 50)]), None), RowSet)
    assert isinstance(numbering_of(rows_array([]), None), RowSet)


@pytest.mark.parametrize("form", TIERS)
def test_a_row_that_came_again_has_its_last_number(form):
    rows, dead = rows_array([*DENSE, DENSE[3]]), np.zeros(len(DENSE) + 1, np.bool_)
    dead[[3, 5]] = True
    with tier(form):
        numbering = numbering_of(rows, dead)
        asked = rows_array([DENSE[3], DENSE[4], DENSE[5], (6, 0), (0, 7), (2**31 - 1, 0)])
        assert numbering.find(asked, BOTH).tolist() == [len(DENSE), 4, -1, -1, -1, -1]
        assert numbering.withdraw(asked).tolist() == [len(DENSE), 4, -1, -1, -1, -1]
        assert numbering.find(asked, BOTH).tolist() == [-1] * 6


moves = st.lists(st.tuples(st.booleans(), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=6)))


@settings(max_examples=40)
@given(moves)
def test_a_relation_finds_its_rows_whatever_comes_and_goes(script):
    relation = Relation(2)
    relation.insert(rows_array(DENSE))
    known = {row: number for number, row in enumerate(DENSE)}
    assert isinstance(relation.numbering, PairNumbers)
    for comes, rows in script:
        if comes:
            relation.insert(rows_array(rows))
            known |= {
                row: number
                for number, row in enumerate(map(tuple, relation.rows[: relation.count].tolist()))
                if row in rows and row not in known
            }
        elif gone := sorted({row for row in rows if row in known}):
            relation.remove(FactSet(rows_array(gone)))
            known = {row: number for row, number in known.items() if row not in gone}
    asked = [(x, y) for x in range(9) for y in range(9)]
    found = relation.numbering.find(rows_array(asked), BOTH)
    living = {row for row, number in zip(asked, found.tolist(), strict=True) if number >= 0}
    assert living == set(known)
    assert [tuple(relation.rows[number].tolist()) for number in found if number >= 0] == sorted(living)
