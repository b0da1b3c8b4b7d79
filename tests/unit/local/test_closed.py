"""A closure in compact form is looked up as if its rows were stored."""

from __future__ import annotations

import numpy as np
import pytest

import tidelog
from tidelog.analysis.checked import ClosureGroup, ClosureKind
from tidelog.backends.local import closed as module
from tidelog.backends.local.closed import ClosedIndex, ClosedTable
from tidelog.errors import EvaluationError, UsageError
from tidelog.facts.fact_set import FactSet
from tidelog.maintain.protocol import Maintenance
from tidelog.plan.nodes import ClosedRelation, Version

kinds = pytest.mark.parametrize("kind", list(ClosureKind), ids=lambda kind: kind.value)


def closed_table(kind, arity=2, source=0, target=1, group=()):
    closure = ClosureGroup("p", kind, source, target, group, (1,))
    return ClosedTable(ClosedRelation(closure, "p@edges", is_written_out=False), arity)


def facts(rows, width=2):
    return FactSet(np.array(sorted(rows), np.int32).reshape(len(rows), width))


def as_set(rows):
    found = [tuple(row) for row in rows.tolist()]
    assert len(found) == len(set(found))
    return set(found)


def closed(kind, edges):
    """The closure of pairs, naively."""
    pairs = set(edges) | ({(y, x) for x, y in edges} if kind is ClosureKind.SYMMETRIC else set())
    while more := {(x, z) for x, y in pairs for other, z in pairs if y == other} - pairs:
        pairs |= more
    return pairs


def looked_up(table, key, asked):
    """The rows of `table` that an index by `key` gives for a key."""
    index = table.index(key)
    matches = index.probe(np.array([asked], np.int32), np.arange(len(key)), Version.FULL)
    begin, length = int(matches.begins[0]), int(matches.lengths[0])
    assert matches.total == length
    found = set()
    for payload in matches.payload[begin : begin + length].tolist():
        row = dict(zip(key, asked, strict=True)) | dict(zip(index.payload_columns, payload, strict=True))
        found.add(tuple(row[column] for column in range(table.arity)))
    assert len(found) == length
    return found


EDGES = [(1, 2), (2, 3), (3, 1), (3, 4), (6, 5)]


@kinds
def test_rows_can_be_counted_listed_and_looked_up(kind):
    table, expected = closed_table(kind), closed(kind, EDGES)
    appeared, vanished = table.update(facts(EDGES), facts([]))
    assert as_set(appeared.rows) == as_set(table.rows()) == expected
    assert (len(vanished), table.size) == (0, len(expected))
    asked = np.array([(x, y) for x in range(8) for y in range(8)], np.int32)
    assert as_set(asked[table.contains(asked)]) == expected
    for node in range(8):
        assert looked_up(table, (0,), (node,)) == {row for row in expected if row[0] == node}
        assert looked_up(table, (1,), (node,)) == {row for row in expected if row[1] == node}


@kinds
def test_columns_may_stand_either_way_round_with_groups_between(kind):
    table = closed_table(kind, arity=4, source=3, target=1, group=(0, 2))
    rows = {(7, 2, 8, 1), (7, 3, 8, 2), (7, 3, 9, 2), (6, 1, 8, 1)}
    table.update(facts(rows, 4), facts([], 4))
    expected = set()
    for one, two in {(row[0], row[2]) for row in rows}:
        edges = [(row[3], row[1]) for row in rows if (row[0], row[2]) == (one, two)]
        expected |= {(one, target, two, source) for source, target in closed(kind, edges)}
    assert as_set(table.rows()) == expected
    asked = [(7, 3, 8, 1), (7, 3, 9, 1), (5, 3, 8, 1), (7, 3, 8, 4)]
    assert table.contains(np.array(asked, np.int32)).tolist() == [row in expected for row in asked]
    for key, keys in {
        (0, 2, 3): [(7, 8, 1), (7, 9, 2), (5, 5, 1)],
        (0, 1, 2): [(7, 3, 8), (6, 1, 8), (7, 5, 8)],
        (0,): [(7,), (1,)],
        (3,): [(1,), (9,)],
        (1, 3): [(3, 1), (1, 3)],
    }.items():
        for asked_key in keys:
            agree = {row for row in expected if tuple(row[column] for column in key) == asked_key}
            assert looked_up(table, key, asked_key) == agree, (key, asked_key)


@kinds
def test_one_end_of_a_pair_is_looked_up_without_writing_rows_out(kind):
    table = closed_table(kind, arity=3, group=(2,))
    assert isinstance(table.index((0, 2)), ClosedIndex)
    assert isinstance(table.index((1, 2)), ClosedIndex)
    assert not isinstance(table.index((2,)), ClosedIndex)
    assert not isinstance(table.index((0, 1)), ClosedIndex)


def test_what_an_update_changed_can_be_read_after_the_next_one():
    table = closed_table(ClosureKind.TRANSITIVE)
    appeared, _ = table.update(facts([(1, 2), (2, 3)]), facts([]))
    _, vanished = table.update(facts([]), facts([(2, 3)]))
    table.update(facts([(4, 5)]), facts([(1, 2)]))
    assert as_set(appeared.rows) == {(1, 2), (2, 3), (1, 3)}
    assert as_set(vanished.rows) == {(2, 3), (1, 3)}
    assert as_set(table.rows()) == {(4, 5)}


@kinds
@pytest.mark.parametrize("came", [[(1, 2), (3, 4)], [(2, 3), (7, 8)], [(3, 1)]], ids=str)
def test_ends_of_what_an_update_changed_are_known_without_the_pairs(kind, came):
    table = closed_table(kind)
    table.update(facts([(1, 2), (3, 4), (4, 5)]), facts([]))
    for change in table.update(facts(came), facts([(4, 5)])):
        sources, targets = change.project((0,)), change.project((1,))
        assert change.project((0, 1)) is None
        pairs = as_set(change.rows)
        assert as_set(sources) == {(x,) for x, _ in pairs}
        assert targets is None or as_set(targets) == {(y,) for _, y in pairs}
        assert change.project((0,)) is None, "the rows are there now"


def test_ends_come_with_their_groups():
    table = closed_table(ClosureKind.SYMMETRIC, arity=3, source=0, target=2, group=(1,))
    appeared, _ = table.update(facts([(1, 7, 2), (2, 8, 3)], 3), facts([], 3))
    assert as_set(appeared.project((1, 0))) == {(7, 1), (7, 2), (8, 2), (8, 3)}
    assert as_set(appeared.project((2, 1))) == {(1, 7), (2, 7), (2, 8), (3, 8)}


def test_too_many_pairs_are_not_kept_for_who_did_not_read_them(monkeypatch):
    monkeypatch.setattr(module, "MOST_KEPT", 3)
    table = closed_table(ClosureKind.TRANSITIVE)
    many, _ = table.update(facts([(1, 2), (2, 3), (3, 4)]), facts([]))
    few, _ = table.update(facts([(8, 9)]), facts([]))
    table.update(facts([(9, 10)]), facts([]))
    assert as_set(few.rows) == {(8, 9)}
    with pytest.raises(UsageError, match="changed since"):
        _ = many.rows


def test_rows_written_out_are_those_of_now():
    table = closed_table(ClosureKind.TRANSITIVE)
    table.update(facts([(1, 2)]), facts([]))
    assert table.picture is table.picture
    assert as_set(table.picture.living(0, table.picture.stored)) == {(1, 2)}
    table.update(facts([(2, 3)]), facts([]))
    assert as_set(table.picture.living(0, table.picture.stored)) == {(1, 2), (2, 3), (1, 3)}


RULES = """
.decl e(x: number, y: number)
.decl v(x: number)
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), p(y, z).
.decl q(x: number, y: number)
"""
READERS = {
    "whole": "q(x, y) :- p(x, y).",
    "by source": "q(x, y) :- v(x), p(x, y).",
    "by target": "q(x, y) :- v(y), p(x, y).",
    "by a constant": "q(x, 1) :- p(1, x). q(x, 2) :- p(x, 4).",
    "whole row": "q(x, y) :- e(y, x), p(x, y).",
    "same twice": "q(x, x) :- p(x, x).",
    "presence": "q(x, x) :- v(x), p(x, _).",
    "negated": "q(x, y) :- v(x), v(y), !p(x, y).",
    "negated by one end": "q(x, x) :- v(x), !p(_, x).",
    "compared": "q(x, y) :- v(x), p(x, y), y > x.",
    "counted": "q(x, n) :- v(x), n = count : { p(x, _) }.",
    "counted as a whole": "q(n, m) :- n = count : { p(_, _) }, m = sum y : { p(_, y) }.",
    "counted by target": "q(x, n) :- v(x), n = count : { p(_, x) }.",
    "counted from a constant": "q(n, m) :- n = count : { p(3, _) }, m = count : { p(_, 4) }.",
    "least and greatest": "q(x, m) :- v(x), m = min y : { p(x, y) }. q(x, m) :- v(x), m = max y : { p(y, x) }.",
    "summed": "q(x, m) :- v(x), m = sum y : { p(x, y) }.",
    "averaged": "q(x, n) :- v(x), m = mean y : { p(x, y) }, n = ftoi(m * 100).",
    "counted if allowed": "q(x, n) :- v(x), n = count : { p(x, _), e(_, x) }.",
    "summed if allowed": "q(x, m) :- e(x, _), m = sum y : { v(x), p(x, y) }.",
    "of the same value": "q(x, n) :- v(x), n = count : { p(x, x) }.",
    "of both ends": "q(x, n) :- v(x), v(y), n = count : { p(x, y) }.",
    "of an expression": "q(x, m) :- v(x), m = sum y * 2 : { p(x, y) }.",
    "greatest": "q(x, m) :- v(x), m = max y : { p(x, y), y < 5 }.",
    "recursive": "q(x, y) :- v(x), p(x, y). q(y, x) :- q(x, y), p(y, x).",
    "joined with itself": "q(x, z) :- p(x, y), p(z, y), x < z.",
    "beside its negation": "q(x, y) :- p(x, y), !p(y, x).",
    "beside its count": "q(x, n) :- p(x, x), n = count : { p(x, _) }.",
}


@pytest.mark.parametrize("symmetric", ["", "p(x, y) :- p(y, x).\n"], ids=["transitive", "symmetric"])
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_rules_read_a_compact_closure_as_they_read_stored_rows(reader, symmetric):
    start = {"e": [(1, 2), (2, 3), (3, 1), (3, 4), (6, 5)], "v": [(x,) for x in range(1, 8)]}
    changes = [
        ({"e": [(4, 5)]}, {"e": [(3, 1)]}),
        ({"e": [(5, 6), (5, 1)]}, {"v": [(2,), (4,)]}),
        ({"v": [(2,)]}, {"e": [(1, 2), (2, 3)]}),
        ({"e": [(1, 2), (2, 3), (7, 7)]}, {"e": [(5, 1), (6, 5)]}),
    ]
    histories = []
    for modules in (True, False):
        db = tidelog.open(tidelog.parse(RULES + symmetric + reader), maintenance=Maintenance(modules=modules))
        for relation, rows in start.items():
            db.insert(relation, rows)
        history = [sorted(db["q"])]
        for insert, retract in changes:
            delta = db.apply(insert=insert, retract=retract)
            history += [sorted(db["q"]), sorted(delta["q"].appeared), sorted(delta["q"].vanished), len(db["p"])]
        histories.append(history)
    assert histories[0] == histories[1]
    assert any(histories[0])


NAMED = """
.decl e(x: symbol, y: symbol)
.decl same(x: symbol, y: symbol)
same(x, y) :- e(x, y).
same(x, y) :- same(y, x).
same(x, z) :- same(x, y), same(y, z).
.decl first(x: symbol, y: symbol)
first(x, y) :- e(x, _), y = min z : { same(x, z) }.
"""


def test_the_least_text_of_a_component_is_found():
    db = tidelog.open(tidelog.parse(NAMED))
    db.insert("e", [("b", "c"), ("c", "a"), ("z", "y"), ("é", "e")])
    assert sorted(db["first"]) == [("b", "a"), ("c", "a"), ("z", "y"), ("é", "e")]
    db.insert("e", [("y", "b")])
    assert sorted(db["first"]) == [("b", "a"), ("c", "a"), ("y", "a"), ("z", "a"), ("é", "e")]


def test_a_sum_out_of_range_matters_only_where_it_is_asked_for():
    db = tidelog.open(tidelog.parse(RULES + "q(x, m) :- v(x), m = sum y : { p(x, y) }."))
    db.insert("e", [(1, 2**63 - 1), (1, 5), (2, 3)])
    db.insert("v", [(2,), (3,)])
    assert sorted(db["q"]) == [(2, 3), (3, 0)]
    with pytest.raises(EvaluationError, match="range of number for x = 1"):
        db.insert("v", [(1,)])
    assert sorted(db["q"]) == [(2, 3), (3, 0)]


def test_aggregates_of_a_large_component_take_no_pairs():
    db = tidelog.open(
        tidelog.parse(
            RULES
            + "p(x, y) :- p(y, x). q(x, m) :- v(x), m = min y : { p(x, y) }. q(x, n) :- v(x), n = count : { p(x, _) }."
        )
    )
    size = 20_000
    db.insert("e", [(n, n + 1) for n in range(size - 1)])
    db.insert("v", [(5,), (7,)])
    assert sorted(db["q"]) == [(5, 0), (5, size), (7, 0), (7, size)]
    assert len(db["p"]) == size * size
