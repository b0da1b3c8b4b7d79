"""Rules come and go while facts stay."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidelog

REACHABLE = """
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).  // one step more
.decl near(a: number, b: float)
near(x, 1) :- edge(x, _), x < 0x10.
"""


@pytest.fixture
def db() -> Iterator[tidelog.Session]:
    with tidelog.open(REACHABLE) as session:
        session.insert("edge", [(1, 2), (2, 3)])
        session.insert("path", [(7, 8)])
        yield session


def test_a_rule_can_be_added(db: tidelog.Session) -> None:
    delta = db.add_rules("path(x, y) :- path(y, x).")
    assert (2, 1) in delta["path"].appeared
    assert (8, 7) in db["path"]
    assert sorted(db["edge"]) == [(1, 2), (2, 3)]


def test_declarations_and_facts_can_be_added_with_rules(db: tidelog.Session) -> None:
    delta = db.add_rules(".decl start(x: number)\nstart(1).\n.decl from(x: number)\nfrom(y) :- start(x), path(x, y).")
    assert sorted(delta["from"].appeared) == [(2,), (3,)]
    assert delta.counts.inserted == 1
    assert db.insert("start", [(1,), (2,)]) == 1
    assert sorted(db["from"]) == [(2,), (3,)]
    assert db.retract("start", [(1,), (2,)]) == 2
    assert len(db["from"]) == 0


def test_a_rule_can_be_removed_as_it_is_spelled_or_nearly_so(db: tidelog.Session) -> None:
    delta = db.remove_rules("path( x,z ) :- path(x,y),edge(y,z).")
    assert delta["path"].vanished.rows() == [(1, 3)]
    db.remove_rules("near(x, 1.0) :- edge(x, _), x < 16.")
    assert len(db["near"]) == 0
    assert sorted(db["path"]) == [(1, 2), (2, 3), (7, 8)]
    db.insert("edge", [(3, 4)])
    assert len(db["path"]) == 4


def test_a_rule_that_is_not_there_gets_the_nearest(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.UsageError) as raised:
        db.remove_rules("path(x, y) :- edge(y, x).")
    assert str(raised.value).startswith(
        "there is no rule path(x, y) :- edge(y, x).\n  there is: path(x, y) :- edge(x, y)."
    )
    with pytest.raises(tidelog.UsageError, match=r"edge\(1, 2\)\. is a fact: take it back with retract\('edge', …\)"):
        db.remove_rules("edge(1, 2).")
    with pytest.raises(tidelog.UsageError, match="only rules can be removed"):
        db.remove_rules(".decl other(x: number)")
    with pytest.raises(tidelog.ProgramError, match="did you mean 'path'"):
        db.remove_rules("pth(x, y) :- edge(x, y).")
    assert len(db["path"]) == 4


def test_wrong_rules_are_refused_with_their_place_and_nothing_changes(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.ProgramError, match=r"<rules 1>:2:5: error\[D401\]"):
        db.add_rules(".decl far(x: number)\nfar(z) :- edge(x, _).")
    with pytest.raises(tidelog.ProgramError, match="declared"):
        db.add_rules(".decl edge(x: number)")
    with pytest.raises(tidelog.UsageError, match="expected rules or their text, found int"):
        db.add_rules(3)  # type: ignore[arg-type]
    assert list(db) == ["edge", "path", "near"]


def test_rules_that_cannot_be_computed_are_refused_whole(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.EvaluationError) as raised:
        db.add_rules(".decl q(x: number)\nq(5).\nq(1 / (x - 1)) :- edge(x, _).")
    assert any("q(1 / (x - 1))" in note for note in raised.value.__notes__)
    assert "q" not in db
    assert sorted(db["path"]) == [(1, 2), (1, 3), (2, 3), (7, 8)]


def test_changes_of_rules_can_be_undone_and_redone(db: tidelog.Session) -> None:
    db.add_rules(".decl start(x: number)\nstart(1).\npath(x, x) :- start(x).")
    db.insert("start", [(9,)])
    db.remove_rules("path(x, y) :- edge(x, y).")
    assert sorted(db["path"]) == [(1, 1), (1, 2), (1, 3), (7, 8), (9, 9)]
    db.undo()
    db.undo()
    delta = db.undo()
    assert sorted(delta["start"].vanished) == [(1,)]
    assert "start" not in db
    assert sorted(db["path"]) == [(1, 2), (1, 3), (2, 3), (7, 8)]
    db.redo()
    db.redo()
    assert (9, 9) in db["path"]


def test_a_view_of_a_relation_that_went_with_its_rules_says_so(db: tidelog.Session) -> None:
    db.add_rules(".decl start(x: number)")
    view = db["start"]
    db.undo()
    with pytest.raises(tidelog.UsageError, match="no relation 'start'"):
        view.rows()


def test_subscribers_hear_of_rules_and_a_whatif_may_change_them(db: tidelog.Session) -> None:
    heard: list[int] = []
    db.subscribe("path", lambda delta: heard.append(delta.vanished_count))
    with db.whatif() as hypothetical:
        hypothetical.remove_rules("path(x, y) :- edge(x, y).")
        assert hypothetical["path"].rows() == [(7, 8)]
    assert heard == []
    assert len(db["path"]) == 4
    db.remove_rules("path(x, y) :- edge(x, y).")
    assert heard == [3]


def test_rules_may_come_parsed(db: tidelog.Session) -> None:
    rule = tidelog.parse("path(x, y) :- path(y, x).")
    db.add_rules(rule)
    assert (8, 7) in db["path"]
    db.remove_rules(rule)
    assert (8, 7) not in db["path"]


def test_rules_that_go_over_a_limit_are_refused_and_everything_stays() -> None:
    text = """
    .decl edge(x: number, y: number)
    .decl path(x: number, y: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), path(y, z).
    """
    edges = [(number, number + 1) for number in range(20)]
    with tidelog.open(text, limits=tidelog.Limits(rows=2000)) as db:
        db.insert("edge", edges)
        assert len(db["path"]) == 210
        with pytest.raises(tidelog.LimitError):
            db.add_rules(
                ".decl all(a: number, b: number, c: number) all(a, b, c) :- path(a, _), path(b, _), path(c, _)."
            )
        assert "all" not in db
        assert len(db["path"]) == 210
        assert db.apply(retract={"edge": [(19, 20)]})["path"].vanished_count == 20
        assert len(db.add_rules(".decl far(x: number) far(x) :- path(0, x), x > 15.")["far"].appeared) == 4


def test_a_relation_may_come_back_with_other_columns(db: tidelog.Session) -> None:
    db.add_rules(".decl other(x: number) other(1).")
    db.undo()
    assert "other" not in db
    db.add_rules('.decl other(x: symbol, y: symbol) other("a", "b").')
    assert db["other"].rows() == [("a", "b")]


def test_production_rules_go_with_their_names_and_priorities() -> None:
    text = """.production set
.decl p(x: number) .decl q(x: number)
p(1).
+q(x) :- p(x). [name copy, priority 2]
-p(x) :- q(x). [name cut, after copy]
+q(7).
"""
    with tidelog.open(text) as db:
        with pytest.raises(tidelog.UsageError, match=r"there is: \+q\(x\) :- p\(x\)\. \[name copy, priority 2\]"):
            db.remove_rules("+q(x) :- p(x).")
        with pytest.raises(tidelog.ProgramError, match="no rule is called 'copy'"):
            db.remove_rules("+q(x) :- p(x). [name copy, priority 2]")
        db.remove_rules("-p(x) :- q(x). [name cut, after copy]\n+q(x) :- p(x). [name copy, priority 2]\n+q(7).")
        db.run()
        assert (list(db["p"]), list(db["q"])) == ([(1,)], [])
        db.undo()
        db.undo()
        db.run()
        assert (list(db["p"]), sorted(db["q"])) == ([], [(1,), (7,)])
