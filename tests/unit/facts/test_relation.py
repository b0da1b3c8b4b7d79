"""A relation's rows are old, delta or staged by where they lie."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.facts import relation as relation_file
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import PairSet, membership_for
from tidelog.facts.relation import Clock, Relation
from unit.kernels.forms import TIERS, tier


def rows_array(rows, width=2):
    return np.array(rows, np.int32).reshape(len(rows), width)


def parts(relation):
    """The rows of a relation: old, delta, staged."""
    rows = [tuple(row) for row in relation.rows[: relation.count].tolist()]
    return rows[: relation.delta_start], rows[relation.delta_start : relation.stored], rows[relation.stored :]


def living(relation):
    return [tuple(row) for row in relation.living(0, relation.stored).tolist()]


def ages(relation, rows):
    """The age of each of `rows`, which are stored."""
    numbers = relation.numbering.find(rows_array(rows, relation.width), np.arange(relation.width))
    assert (numbers >= 0).all()
    return relation.ages_of(numbers).tolist()


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

    monkeypatch.setattr(relation_file, "membership_for", lambda _width: Interrupted())
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


widths = pytest.mark.parametrize("width", [1, 2, 3])


def wide(numbers, width):
    """One row for each number."""
    return [(number, *([number % 5] * (width - 1))) for number in numbers]


@widths
def test_a_removed_row_is_not_there_and_the_others_are(width):
    relation = Relation(width)
    relation.insert(rows_array(wide(range(10), width), width))
    relation.remove(FactSet(rows_array(wide([3, 7], width), width)))
    assert relation.size == 8
    assert living(relation) == wide([0, 1, 2, 4, 5, 6, 8, 9], width)
    found = relation.membership.contains(rows_array(wide(range(10), width), width))
    assert np.flatnonzero(~found).tolist() == [3, 7]


@widths
def test_a_removed_row_that_comes_again_is_the_youngest(width):
    relation = Relation(width)
    relation.insert(rows_array(wide([1, 2, 3], width), width))
    relation.remove(FactSet(rows_array(wide([1], width), width)))
    assert relation.insert(rows_array(wide([2, 1], width), width)) == 1
    assert living(relation) == wide([2, 3, 1], width)
    assert ages(relation, wide([2, 3, 1], width)) == sorted(ages(relation, wide([2, 3, 1], width)))
    relation.remove(FactSet(rows_array(wide([1], width), width)))
    assert living(relation) == wide([2, 3], width)


def test_the_row_of_a_relation_without_columns_can_go_and_come():
    relation, row = Relation(0), np.zeros((1, 1), np.int32)
    relation.insert(row)
    relation.remove(FactSet(row))
    assert relation.size == 0
    assert relation.insert(row) == 1
    assert relation.size == 1


def test_removing_nothing_leaves_no_trace():
    relation = Relation(2)
    relation.insert(rows_array([(1, 1)]))
    relation.remove(FactSet(rows_array([])))
    assert (relation.size, relation.removed) == (1, 0)
    assert relation.dead(0, 1) is None


def test_a_removed_row_of_the_delta_is_no_longer_in_it():
    relation = Relation(2)
    relation.insert(rows_array([(1, 1)]))
    relation.stage(rows_array([(2, 2), (3, 3)]))
    relation.advance()
    relation.remove(FactSet(rows_array([(2, 2)])))
    assert relation.living(relation.delta_start, relation.stored).tolist() == [[3, 3]]


@widths
def test_compaction_keeps_rows_and_ages(width, monkeypatch):
    monkeypatch.setattr(relation_file, "_MANY_DEAD", 4)
    clock = Clock()
    relation, other = Relation(width, clock), Relation(width, clock)
    relation.insert(rows_array(wide(range(5), width), width))
    other.insert(rows_array(wide(range(3), width), width))
    relation.insert(rows_array(wide(range(5, 10), width), width))
    relation.remove(FactSet(rows_array(wide([0, 1, 4, 5, 7], width), width)))
    kept, generation = wide([2, 3, 6, 8, 9], width), relation.generation
    before = ages(relation, kept)
    relation.compact()
    assert relation.generation > generation
    assert (relation.stored, relation.removed) == (5, 0)
    assert living(relation) == kept
    assert ages(relation, kept) == before
    relation.insert(rows_array(wide([0], width), width))
    assert ages(relation, wide([0], width))[0] > max(before)


def test_a_relation_with_few_removed_rows_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(relation_file, "_MANY_DEAD", 4)
    relation = Relation(2)
    relation.insert(rows_array([(number, 0) for number in range(20)]))
    relation.remove(FactSet(rows_array([(number, 0) for number in range(9)])))
    generation = relation.generation
    relation.compact()
    assert relation.generation == generation
    assert relation.stored == 20


def test_a_relation_that_lost_all_rows_can_be_filled_again(monkeypatch):
    monkeypatch.setattr(relation_file, "_MANY_DEAD", 1)
    relation = Relation(2)
    relation.insert(rows_array([(1, 1), (2, 2)]))
    relation.remove(FactSet(rows_array([(1, 1), (2, 2)])))
    relation.compact()
    assert relation.stored == 0
    assert relation.insert(rows_array([(2, 2), (1, 1)])) == 2
    assert ages(relation, [(2, 2), (1, 1)]) == sorted(ages(relation, [(2, 2), (1, 1)]))


def test_rows_of_relations_that_share_a_clock_are_as_old_as_they_came():
    clock = Clock()
    one, two = Relation(2, clock), Relation(1, clock)
    one.insert(rows_array([(1, 1), (2, 2)]))
    two.insert(rows_array([(7,)], 1))
    one.insert(rows_array([(3, 3)]))
    two.insert(rows_array([(8,), (9,)], 1))
    order = [*ages(one, [(1, 1), (2, 2)]), *ages(two, [(7,)]), *ages(one, [(3, 3)]), *ages(two, [(8,), (9,)])]
    assert order == sorted(order)
    assert len(set(order)) == 6


def test_an_era_begins_only_when_rows_have_come():
    clock = Clock()
    relation = Relation(1, clock)
    clock.begin_era()
    relation.insert(rows_array([(1,), (2,)], 1))
    clock.begin_era()
    clock.begin_era()
    first, second = clock.eras
    assert [first <= age < second for age in ages(relation, [(1,), (2,)])] == [True, True]


changes = st.lists(st.tuples(st.sampled_from(["insert", "remove"]), st.sets(st.integers(0, 30))), max_size=12)


@widths
@settings(max_examples=30)
@given(script=changes)
def test_rows_that_come_and_go_are_those_of_a_dict_in_order_of_arrival(width, script):
    relation, model = Relation(width), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation_file, "_MANY_DEAD", 8)
        for move, numbers in script:
            if move == "insert":
                relation.insert(rows_array(wide(sorted(numbers), width), width))
                model.update(dict.fromkeys(sorted(numbers)))
            else:
                gone = sorted(numbers & model.keys())
                relation.remove(FactSet(rows_array(wide(gone, width), width)))
                relation.compact()
                for number in gone:
                    del model[number]
            assert living(relation) == wide(model, width)
            assert relation.size == len(model)
            held = ages(relation, wide(model, width))
            assert held == sorted(held)
            asked = rows_array(wide(range(31), width), width)
            assert np.flatnonzero(relation.membership.contains(asked)).tolist() == sorted(model)


@widths
@pytest.mark.parametrize("count", [1, 40, 200])
def test_rows_are_found_by_reading_all_at_first_and_by_their_numbers_later(width, count):
    relation = Relation(width)
    relation.insert(rows_array(wide(range(300), width), width))
    gone = FactSet(rows_array(wide(range(5), width), width))
    relation.remove(gone)
    relation.insert(rows_array(wide([3], width), width))
    asked = rows_array(wide(range(count + 2), width), width)
    expected = sorted([300, *range(5, count + 2)] if count > 2 else [])
    for _ in range(4):
        assert sorted(relation.numbers_of(FactSet(asked)).tolist()) == expected


@widths
def test_many_rows_that_go_at_once_leave_the_others_to_be_found(width):
    relation = Relation(width)
    relation.insert(rows_array(wide(range(1000), width), width))
    for _ in range(3):
        relation.numbers_of(FactSet(rows_array(wide([7], width), width)))
    relation.remove(FactSet(rows_array(wide(range(0, 1000, 2), width), width)))
    relation.insert(rows_array(wide([0], width), width))
    assert ages(relation, wide([999, 0], width)) == [1000, 1001]
    assert relation.membership.contains(rows_array(wide([0, 1, 2], width), width)).tolist() == [True, True, False]
    relation.remove(FactSet(rows_array(wide([0, 1], width), width)))
    assert living(relation) == wide(range(3, 1000, 2), width)


def test_a_relation_that_is_filled_again_has_the_room_it_had():
    relation = Relation(2)
    relation.stage(rows_array(wide(range(5000), 2)))
    relation.advance()
    room = relation.membership.room
    relation.clear()
    assert relation.membership.room == room
