"""An index finds, for each version, the rows of a key in the order they came."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.backends.local import indexes as indexes_file
from tidelog.backends.local.indexes import ROW_NUMBER, Index
from tidelog.backends.local.ordered import OrderedIndex
from tidelog.facts import relation as relation_file
from tidelog.facts.fact_set import FactSet
from tidelog.facts.relation import Relation
from tidelog.facts.values import Values
from tidelog.kernels.blocks import bisect_blocks
from tidelog.plan.nodes import Version
from tidelog.schema import Kind
from unit.kernels.forms import TIERS, tier

WIDTH = 3
ids = st.integers(0, 3) | st.integers(0, 70)
row_lists = st.lists(st.tuples(ids, ids, st.integers(0, 3)), max_size=30)
keys = pytest.mark.parametrize("key", [(), (0,), (1,), (0, 2), (2, 1), (0, 1, 2)], ids=str)
scripts = st.lists(
    st.tuples(st.sampled_from(["insert", "stage", "advance", "look"]), row_lists), min_size=1, max_size=8
)


def rows_array(rows):
    return np.array(rows, np.int32).reshape(len(rows), WIDTH)


def stored(relation, version):
    """The rows of that version, as tuples."""
    low = relation.delta_start if version is Version.DELTA else 0
    high = relation.delta_start if version is Version.OLD else relation.stored
    return [tuple(row) for row in relation.living(low, high).tolist()]


def looked_up(matches):
    """The rows found for each question; checks the total on the way."""
    assert matches.total == matches.lengths.sum()
    if not matches.payload.shape[1]:  # rows without columns are counted, not stored
        return [[()] * length for length in matches.lengths.tolist()]
    return [
        [tuple(row) for row in matches.payload[begin : begin + length].tolist()]
        for begin, length in zip(matches.begins.tolist(), matches.lengths.tolist(), strict=True)
    ]


def expected(rows, key, questions):
    """The columns that are not part of the key, of the rows that agree with each question on it."""
    rest = [column for column in range(WIDTH) if column not in key]
    return [
        [tuple(row[column] for column in rest) for row in rows if all(row[column] == asked[column] for column in key)]
        for asked in questions
    ]


def check(index, relation, key, questions):
    for version in Version:
        matches = index.probe(rows_array(questions), np.array(key, np.int64), version)
        assert looked_up(matches) == expected(stored(relation, version), key, questions), version


@keys
@settings(max_examples=20)
@given(script=scripts, questions=row_lists)
def test_probes_find_each_version_after_any_sequence_of_moves(key, script, questions):
    relation = Relation(WIDTH)
    index = Index(relation, key)
    staged = False
    for move, rows in script:
        if move == "insert" and not staged:
            relation.insert(rows_array(rows))
        elif move == "stage":
            relation.stage(rows_array(rows))
            staged = True
        elif move == "advance":
            relation.advance()
            staged = False
        elif move == "look":
            check(index, relation, key, rows[:3])
    check(index, relation, key, [*questions, *stored(relation, Version.FULL), (500, 500, 500)])
    different = {tuple(row[column] for column in key) for row in stored(relation, Version.FULL)}
    assert index.distinct() == len(different)
    sizes = Counter(tuple(row[column] for column in key) for row in stored(relation, Version.FULL))
    longest = max(sizes.values(), default=0)
    assert index.has_no_longer_block(longest)
    assert not index.has_no_longer_block(longest - 1)


@keys
@settings(max_examples=20)
@given(rows=row_lists, more=row_lists, questions=row_lists)
def test_an_index_knows_whole_rows(key, rows, more, questions):
    relation = Relation(WIDTH)
    relation.insert(rows_array(rows))
    index = Index(relation, key)
    for known in (rows, rows + more):
        found = index.has_rows(rows_array([*questions, *known]))
        assert found.tolist() == [row in known for row in [*questions, *known]]
        relation.stage(rows_array(more))
        relation.advance()


@keys
@pytest.mark.parametrize("form", TIERS)
def test_blocks_grow_over_many_rounds(key, form):
    with tier(form):
        relation = Relation(WIDTH)
        index = Index(relation, key)
        for turn in range(12):
            relation.stage(rows_array([(number % 5, turn, number) for number in range(1 + turn * turn)]))
            relation.advance()
            index.catch_up()
        check(index, relation, key, [(0, 0, 0), (1, 11, 21), (4, 3, 4), (9, 9, 9)])


@keys
@pytest.mark.parametrize("form", TIERS)
@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("are_old", [True, False])
def test_the_first_rows_are_laid_out_in_parts(key, form, parts, are_old):
    with tier(form):
        relation = Relation(WIDTH)
        index = Index(relation, key)
        (relation.insert if are_old else relation.stage)(rows_array([(n % 5, n % 3, n) for n in range(41)]))
        if are_old:
            relation.stage(rows_array([(1, 2, n) for n in range(90, 95)]))
        relation.advance()
        tasks = index.shares(parts)
        assert len(tasks) == parts
        for task in reversed(tasks):
            task()
        index.end()
        asked = [(0, 0, 0), (1, 2, 11), (4, 0, 9), (1, 2, 93), (9, 9, 9)]
        check(index, relation, key, asked)
        relation.stage(rows_array([(1, 2, n) for n in range(100, 130)]))
        relation.advance()
        (task,) = index.shares(parts)  # rows that come to others are taken in by one thread
        task()
        index.end()
        check(index, relation, key, asked)


def test_a_block_of_most_rows_finds_room_when_it_moves():
    relation = Relation(2)
    relation.insert(np.array([(7, number) for number in range(5_000)], np.int32))
    index = Index(relation, (0,))
    index.catch_up()
    relation.insert(np.array([(7, 5_000)], np.int32))
    matches = index.probe(np.array([(7,)], np.int32), np.array([0]), Version.FULL)
    assert matches.payload[int(matches.begins[0]) :][: matches.total, 0].tolist() == list(range(5_001))


def test_an_index_made_late_knows_all_versions():
    relation = Relation(WIDTH)
    relation.insert(rows_array([(1, 1, 1), (1, 2, 2)]))
    relation.stage(rows_array([(1, 3, 3)]))
    relation.advance()
    check(Index(relation, (0,)), relation, (0,), [(1, 0, 0)])


def test_staged_rows_are_not_found():
    relation = Relation(WIDTH)
    relation.stage(rows_array([(1, 1, 1)]))
    relation.settle()
    check(Index(relation, (0,)), relation, (0,), [(1, 0, 0)])


def test_a_probe_may_ask_through_other_columns():
    relation = Relation(WIDTH)
    relation.insert(rows_array([(1, 2, 3), (2, 1, 4)]))
    matches = Index(relation, (0, 1)).probe(rows_array([(0, 2, 1)]), np.array([1, 2]), Version.FULL)
    assert looked_up(matches) == [[(4,)]]


NUMBERS = {
    Kind.NUMBER: [5, -(2**63), 2**63 - 1, 0, -1, 5, 5],
    Kind.UNSIGNED: [5, 2**64 - 1, 0, 2**63, 1, 5, 5],
    Kind.FLOAT: [5.0, float("-inf"), float("inf"), 0.0, -0.5, 5.0, 5.0],
}


@pytest.mark.parametrize("kind", list(NUMBERS), ids=lambda kind: kind.value)
@pytest.mark.parametrize("key", [(), (1,), (0, 1)], ids=str)
def test_an_ordered_index_keeps_the_rows_of_a_key_in_ascending_order(kind, key):
    values = Values()
    column = values.identify_all(kind, NUMBERS[kind])
    rows = rows_array([(7, number % 2, identity) for number, identity in enumerate(column.tolist())])
    index = OrderedIndex(rows, (0, len(rows)), key, 2, kind, values)
    questions = [(7, 0, 0), (7, 1, 0), (8, 2, 0)]
    matches = index.probe(rows_array(questions), np.array(key, np.int64))
    agree = [[row for row in rows.tolist() if all(row[c] == asked[c] for c in key)] for asked in questions]
    in_order = [sorted(NUMBERS[kind][rows.tolist().index(row)] for row in group) for group in agree]
    assert [
        index.values[begin : begin + length].tolist()
        for begin, length in zip(matches.begins, matches.lengths, strict=True)
    ] == in_order
    assert [sorted(group) for group in looked_up(matches)] == [sorted(map(tuple, group)) for group in agree]


def test_an_ordered_index_is_a_picture_of_the_rows_it_was_made_from():
    values = Values()
    identities = values.identify_all(Kind.NUMBER, [30, 10, 20, 5]).tolist()
    rows = rows_array([(1, 1, identity) for identity in identities])
    index = OrderedIndex(rows[1:3], (1, 3), (0,), 2, Kind.NUMBER, values)
    assert index.state == (1, 3)
    matches = index.probe(rows_array([(1, 0, 0)]), np.array([0]))
    assert index.values.tolist() == [10, 20]
    bisect_blocks(index.values, matches.begins, matches.lengths, np.array([15], np.int64), 0, 0)
    assert index.payload[matches.begins[0], 2] == identities[2]
    assert matches.lengths.tolist() == [1]


def test_an_ordered_index_of_nothing_finds_nothing():
    empty = rows_array([])
    for key in ((), (0,)):
        index = OrderedIndex(empty, (0, 0), key, 2, Kind.NUMBER, Values())
        assert index.probe(rows_array([(1, 1, 1)]), np.array(key, np.int64)).total == 0


removals = st.lists(
    st.tuples(st.sampled_from(["insert", "stage", "advance", "look", "remove", "remove all", "clear"]), row_lists),
    min_size=1,
    max_size=10,
)


@keys
@pytest.mark.parametrize("worth", [0, 4], ids=["indexed again", "taken out"])
@settings(max_examples=20)
@given(script=removals, questions=row_lists)
def test_probes_find_each_version_when_rows_come_and_go(key, worth, script, questions):
    relation = Relation(WIDTH)
    index = Index(relation, key)
    staged = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexes_file, "_REMOVAL_WORTH", worth)
        patch.setattr(relation_file, "_MANY_DEAD", 10)
        for move, rows in script:
            match move:
                case "insert" if not staged:
                    relation.insert(rows_array(rows))
                case "stage":
                    relation.stage(rows_array(rows))
                    staged = True
                case "advance":
                    relation.advance()
                    staged = False
                case "look":
                    check(index, relation, key, rows[:3])
                case "clear":
                    relation.clear()
                    staged = False
                case "remove" | "remove all" if not staged:
                    held = stored(relation, Version.FULL)
                    gone = held if move == "remove all" else [row for row in held if row in rows or row[0] == 1]
                    relation.remove(FactSet(rows_array(gone)))
                    if relation.delta_start == relation.stored:
                        relation.compact()
        check(index, relation, key, [*questions, *stored(relation, Version.FULL), (500, 500, 500)])


def test_removal_keeps_old_and_delta_apart():
    relation = Relation(WIDTH)
    index = Index(relation, (0,))
    relation.insert(rows_array([(1, 1, 1), (1, 2, 2), (1, 3, 3)]))
    relation.stage(rows_array([(1, 4, 4), (1, 5, 5)]))
    relation.advance()
    index.catch_up()
    relation.remove(FactSet(rows_array([(1, 2, 2), (1, 4, 4)])))

    def found(version):
        return looked_up(index.probe(rows_array([(1, 0, 0)]), np.array([0]), version))[0]

    assert found(Version.OLD) == [(1, 1), (3, 3)]
    assert found(Version.DELTA) == [(5, 5)]
    assert found(Version.FULL) == [(1, 1), (3, 3), (5, 5)]


def test_rows_that_were_removed_before_the_index_saw_them_are_left_out():
    relation = Relation(WIDTH)
    relation.insert(rows_array([(1, 1, 1), (1, 2, 2)]))
    index = Index(relation, (0,))
    index.catch_up()
    relation.insert(rows_array([(1, 3, 3), (1, 4, 4)]))
    relation.remove(FactSet(rows_array([(1, 3, 3)])))
    check(index, relation, (0,), [(1, 0, 0)])
    check(Index(relation, (0,)), relation, (0,), [(1, 0, 0)])


def test_an_index_of_a_relation_that_was_cleared_starts_again():
    relation = Relation(WIDTH)
    relation.insert(rows_array([(1, 1, 1)]))
    index = Index(relation, (0,))
    index.catch_up()
    relation.clear()
    relation.insert(rows_array([(2, 2, 2)]))
    check(index, relation, (0,), [(1, 0, 0), (2, 0, 0)])


@pytest.mark.parametrize("key", [(0,), (0, 2), (0, 1, 2)], ids=str)
def test_a_numbered_index_gives_the_number_of_each_row(key):
    relation = Relation(WIDTH)
    index = Index(relation, key, is_numbered=True)
    assert index.payload_columns[-1] == ROW_NUMBER
    relation.insert(rows_array([(1, 1, 1), (2, 2, 2), (1, 3, 1)]))
    index.catch_up()
    relation.remove(FactSet(rows_array([(1, 1, 1)])))
    relation.insert(rows_array([(1, 1, 1)]))
    living = [(2, 2, 2, 1), (1, 3, 1, 2), (1, 1, 1, 3)]
    rest = [column for column in range(WIDTH) if column not in key]
    for asked in [(1, 1, 1), (2, 2, 2), (3, 3, 3)]:
        matches = index.probe(rows_array([asked]), np.array(key, np.int64), Version.FULL)
        agree = [row for row in living if all(row[column] == asked[column] for column in key)]
        assert looked_up(matches) == [[(*(row[column] for column in rest), row[3]) for row in agree]]


def test_an_index_is_made_anew_where_taking_rows_out_would_read_too_much(monkeypatch):
    monkeypatch.setattr(indexes_file, "_TAIL", 1)
    relation = Relation(WIDTH)
    relation.insert(rows_array([(1, number, 0) for number in range(40)] + [(2, 0, 0)]))
    index = Index(relation, (0,))
    index.catch_up()
    forgotten = []
    monkeypatch.setattr(Index, "forget", lambda self, forget=Index.forget: (forgotten.append(self), forget(self)))
    relation.remove(FactSet(rows_array([(2, 0, 0)])))
    index.catch_up()
    assert not forgotten, "one row of a short block is taken out of it"
    relation.remove(FactSet(rows_array([(1, number, 0) for number in range(10)])))
    many = index.probe(rows_array([(1, 0, 0)]), np.array([0]), Version.FULL)
    assert forgotten == [index]
    assert looked_up(many) == [[(number, 0) for number in range(10, 40)]]
