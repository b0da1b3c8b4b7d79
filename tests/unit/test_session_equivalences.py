"""Equivalence relations of a session: classes merge and split as pairs come and go."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import tidelog
from change_strategies import VARIANTS, Variant
from tidelog.analysis.check import check
from tidelog.cli.main import main
from tidelog.language.parser import parse

SAME = """
.decl same(a: number, b: number) eqrel
.decl link(a: number, b: number)
same(x, y) :- link(x, y).
"""


@pytest.fixture(params=VARIANTS, ids=str)
def db(request: pytest.FixtureRequest) -> Iterator[tidelog.Session]:
    variant: Variant = request.param
    with variant.open(check(parse(SAME))) as session:
        yield session


def classes(db: tidelog.Session) -> list[list[int]]:
    """The classes of `same`, which must be an equivalence relation."""
    rows = set(db["same"])
    found = {frozenset(other for one, other in rows if one == value) for value, _ in rows}
    assert rows == {pair for members in found for pair in product(members, repeat=2)}
    assert len(db["same"]) == len(rows)
    return sorted(map(sorted, found))


def test_a_given_pair_merges_classes_and_splits_them_when_it_goes(db: tidelog.Session) -> None:
    db.insert("same", [(1, 2), (3, 4)])
    assert classes(db) == [[1, 2], [3, 4]]
    delta = db.apply(insert={"same": [(4, 1)]})
    assert classes(db) == [[1, 2, 3, 4]]
    assert len(delta["same"].appeared) == 8
    delta = db.apply(retract={"same": [(4, 1)]})
    assert classes(db) == [[1, 2], [3, 4]]
    assert len(delta["same"].vanished) == 8


def test_a_class_that_other_pairs_hold_together_stays(db: tidelog.Session) -> None:
    db.insert("same", [(1, 2), (2, 3), (3, 1)])
    assert classes(db) == [[1, 2, 3]]
    delta = db.apply(retract={"same": [(2, 3)]})
    assert "same" not in delta
    assert classes(db) == [[1, 2, 3]]


def test_a_value_goes_with_its_last_pair(db: tidelog.Session) -> None:
    db.insert("same", [(1, 2), (5, 5)])
    assert classes(db) == [[1, 2], [5]]
    db.apply(retract={"same": [(5, 5), (1, 2)]})
    assert classes(db) == []


def test_a_pair_that_only_follows_cannot_be_retracted(db: tidelog.Session) -> None:
    db.insert("same", [(1, 2)])
    delta = db.apply(retract={"same": [(2, 1), (1, 1)]})
    assert delta.counts.retracted == 0
    assert classes(db) == [[1, 2]]


def test_a_given_pair_outlives_the_rule_that_derives_it(db: tidelog.Session) -> None:
    db.insert("link", [(1, 2), (2, 3)])
    db.insert("same", [(2, 1)])
    assert classes(db) == [[1, 2, 3]]
    db.apply(retract={"link": [(1, 2), (2, 3)]})
    assert classes(db) == [[1, 2]]
    db.undo()
    assert classes(db) == [[1, 2, 3]]


def test_an_equivalence_relation_can_be_added_while_facts_stay(db: tidelog.Session) -> None:
    db.insert("link", [(1, 2)])
    assert classes(db) == [[1, 2]]
    db.add_rules(".decl twins(a: number, b: number) eqrel\ntwins(x, y + 10) :- same(x, y), x < y.")
    assert sorted(db["twins"]) == [(1, 1), (1, 12), (12, 1), (12, 12)]
    db.undo()
    assert "twins" not in db
    assert classes(db) == [[1, 2]]


def test_rules_built_in_python_may_declare_it() -> None:
    rules = tidelog.rules()
    same = rules.relation("same", "eqrel", a=int, b=int)
    rules.fact(same(1, 2))
    with tidelog.open(rules.program()) as session:
        assert classes(session) == [[1, 2]]


def test_a_change_file_may_name_it(tmp_path: Path) -> None:
    (tmp_path / "same.dl").write_text(f"{SAME}\n.input same\n.output same\n")
    (tmp_path / "same.facts").write_text("1\t2\n2\t3\n")
    (tmp_path / "today.changes").write_text("+same(7, 7).\n-same(2, 3).\n")
    folder = str(tmp_path)
    status = main(["apply", f"{folder}/same.dl", f"{folder}/today.changes", "-F", folder, "-D", folder])
    assert status == 0
    assert (tmp_path / "same.csv").read_text() == "1\t1\n1\t2\n2\t1\n2\t2\n7\t7\n"
