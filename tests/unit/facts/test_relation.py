"""A relation's rows are old, delta or staged by where they lie."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.facts import relation as relation_file
from tidelog.facts.membership import PairSet, membership_for
from tidelog.facts.relation import Relation
from unit.kernels.forms import TIERS, tier


def rows_array(rows, width=2):
    return np.array(rows, np.int32).reshape(len(rows), width)


def parts(relation):
    """The rows of a relation: old, delta, staged."""
    rows = [tuple(row) for row in relation.rows[: relation.count].tolist()]
    return rows[: relation.delta_start], rows[relation.delta_start : relation.stored], rows[relation.stored :]


def test_rows_pass_from_staged_to_delta_to_old():
    relation = Relation(2)
    relation.stage(rows_array([(1, 2), (3, 4), (1, 2)]))
    relation.settle()
    assert parts(relation) == ([], [], [(1, 2), (3, 4)])
    assert relation.advance() == 2
    assert parts(relation) == ([], [(1, 2), (3, 4)], [])
    relation.stage(rows_array([(3, 4), (5, 6)]))
    assert relation.advance() == 1
    assert parts(relation) == ([(1, 2), (3, 4)], [(5, 6)], [])
    assert relation.advance() == 0
    assert parts(relation) == ([(1, 2), (3, 4), (5, 6)], [], [])


def test_inserted_rows_are_old_and_counted_when_new():
    relation = Relation(2)
    assert relation.insert(rows_array([(1, 1), (2, 2), (1, 1)])) == 2
    assert relation.insert(rows_array([(2, 2), (3, 3)])) == 1
    assert relation.insert(rows_array([])) == 0
    assert parts(relation) == ([(1, 1), (2, 2), (3, 3)], [], [])


def test_unknown_rows_are_neither_stored_nor_staged():
    relation = Relation(2)
    relation.insert(rows_array([(1, 1)]))
    relation.stage(rows_array([(2, 2)]))
    relation.settle()
    unknown = relation.membership.unknown
    assert unknown(rows_array([(1, 1), (2, 2), (3, 3), (3, 3)])).tolist() == [[3, 3], [3, 3]]
    assert unknown(rows_array([])).shape == (0, 2)


def test_rows_known_to_be_different_are_taken_as_they_are():
    relation = Relation(2)
    batches = [rows_array([(number, turn) for number in range(100)]) for turn in range(3)]
    assert relation.insert_different(iter(batches)) == 300
    assert not relation.has_membership
    assert parts(relation)[0] == [tuple(row) for batch in batches for row in batch.tolist()]
    assert relation.insert(rows_array([(99, 2), (99, 3)])) == 1
    assert relation.has_membership
    assert relation.membership.contains(rows_array([(0, 0), (99, 3), (99, 4)])).tolist() == [True, True, False]


def test_a_relation_without_columns_has_one_row_at_most():
    relation = Relation(0)
    assert relation.insert(np.zeros((3, 1), np.int32)) == 1
    relation.stage(np.zeros((1, 1), np.int32))
    assert relation.advance() == 0
    assert relation.stored == 1


def test_clear_forgets_everything():
    relation = Relation(2)
    relation.insert(rows_array([(1, 1)]))
    relation.stage(rows_array([(2, 2)]))
    relation.clear()
    assert relation.advance() == 0
    assert parts(relation) == ([], [], [])
    assert relation.insert(rows_array([(1, 1), (2, 2)])) == 2


def test_many_waiting_rows_settle_by_themselves(monkeypatch):
    monkeypatch.setattr(relation_file, "_GATHER", 10)
    relation = Relation(2)
    for number in range(9):
        relation.stage(rows_array([(number, 0)]))
    assert relation.count == 0
    relation.stage(rows_array([(9, 0)]))
    assert relation.count == 10


def test_rows_staged_from_the_relation_itself_are_known():
    relation = Relation(2)
    relation.insert(rows_array([(number, number) for number in range(100)]))
    relation.stage(relation.rows[: relation.count])
    relation.stage(relation.rows[10:20, ::-1])
    assert relation.advance() == 0
    assert relation.stored == 100


def test_a_thread_that_asks_while_the_set_is_being_made_gets_the_right_answer(monkeypatch):
    relation = Relation(2)
    relation.insert(rows_array([(1, 1), (2, 2)]))
    answers = []

    def ask():
        answers.append(relation.membership.unknown(rows_array([(1, 1), (3, 3)])).tolist())

    class Interrupted(PairSet):
        def add(self, rows, out, found):
            monkeypatch.setattr(relation_file, "membership_for", membership_for)
            other = Thread(target=ask)
            other.start()
            other.join()
            return super().add(rows, out, found)

    monkeypatch.setattr(relation_file, "membership_for", lambda _: Interrupted())
    ask()
    assert answers == [[[3, 3]]] * 2


moves = st.one_of(
    st.tuples(st.sampled_from(["insert", "stage"]), st.lists(st.integers(0, 300), max_size=70)),
    st.tuples(st.sampled_from(["advance", "settle"]), st.just([])),
)


@pytest.mark.parametrize("arity", [1, 2, 3])
@settings(max_examples=30)
@given(script=st.lists(moves, max_size=10))
def test_any_sequence_of_moves_keeps_versions_as_lists_would(arity, script):
    relation = Relation(arity)
    old, delta, staged = [], [], []
    for move, numbers in script:
        rows = [tuple(number // (column + 1) for column in range(arity)) for number in numbers]
        if move == "insert" and not staged:
            old, delta = [*old, *delta], []
            new = [row for row in dict.fromkeys(rows) if row not in old]
            assert relation.insert(rows_array(rows, arity)) == len(new)
            old += new
        elif move == "stage":
            relation.stage(rows_array(rows, arity))
            staged += [row for row in dict.fromkeys(rows) if row not in (*old, *delta, *staged)]
        elif move == "settle":
            relation.settle()
        elif move == "advance":
            assert relation.advance() == len(staged)
            old, delta, staged = [*old, *delta], staged, []
    relation.settle()
    assert parts(relation) == (old, delta, staged)
    assert relation.membership.contains(rows_array([*old, *delta, *staged], arity)).all()


@pytest.mark.parametrize("form", TIERS)
def test_batches_past_every_growth_limit_keep_their_order(form):
    with tier(form):
        relation = Relation(2)
        rows = [(number % 97, number % 89) for number in range(700)]
        for start in range(0, 700, 65):
            relation.stage(rows_array(rows[start : start + 130]))
            relation.settle()
        relation.advance()
        assert parts(relation)[1] == list(dict.fromkeys(rows))


def test_an_array_may_be_used_again_after_its_rows_were_staged():
    relation = Relation(2)
    rows = np.array([[1, 2]], np.int32)
    relation.stage(rows)
    rows[:] = 7
    relation.settle()
    assert relation.rows[: relation.count].tolist() == [[1, 2]]
