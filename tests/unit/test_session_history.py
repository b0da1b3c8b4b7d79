"""Undo, redo, what-if and subscribers: every way back leads exactly to what was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tidelog
from tidelog.world import history

REACHABLE = """
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl loop(a: number)
loop(x) :- path(x, x).
"""

State = dict[str, list[tuple[object, ...]]]


@pytest.fixture
def db() -> Iterator[tidelog.Session]:
    with tidelog.open(REACHABLE) as session:
        session.insert("edge", [(1, 2), (2, 3)])
        session.materialize()
        yield session


def state(db: tidelog.Session | tidelog.Hypothetical) -> State:
    return {relation: sorted(db[relation]) for relation in db}


def test_undo_and_redo_step_over_changes(db: tidelog.Session) -> None:
    states = [state(db)]
    db.insert("edge", [(3, 1), (1, 2)])
    states.append(state(db))
    db.retract("edge", [(1, 2)])
    states.append(state(db))
    db.apply(insert={"edge": [(1, 2)], "path": [(7, 7)]}, retract={"edge": [(2, 3)]})
    states.append(state(db))
    for before in reversed(states[:-1]):
        db.undo()
        assert state(db) == before
    for after in states[1:]:
        db.redo()
        assert state(db) == after


def test_undo_returns_what_it_did(db: tidelog.Session) -> None:
    db.insert("edge", [(3, 4), (2, 3)])
    delta = db.undo()
    assert sorted(delta["path"].vanished) == [(1, 4), (2, 4), (3, 4)]
    assert delta.counts.retracted == 1
    assert len(db.redo()["path"].appeared) == 3


def test_undoing_a_change_without_effect_takes_nothing_away(db: tidelog.Session) -> None:
    db.insert("edge", [(1, 2)])
    assert not db.undo()
    assert (1, 2) in db["edge"]


def test_the_history_starts_at_the_first_read(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.UsageError, match="nothing to undo: nothing was changed since the answers were first"):
        db.undo()
    with pytest.raises(tidelog.UsageError, match="nothing to redo"):
        db.redo()


def test_a_new_change_ends_what_can_be_redone(db: tidelog.Session) -> None:
    db.insert("edge", [(3, 4)])
    db.undo()
    db.insert("edge", [(5, 6)])
    with pytest.raises(tidelog.UsageError, match="nothing to redo"):
        db.redo()


def test_the_history_keeps_as_many_changes_as_it_was_told() -> None:
    with tidelog.open(REACHABLE, history=2) as db:
        db.materialize()
        for number in range(4):
            db.insert("edge", [(number, number + 1)])
        db.undo()
        db.undo()
        with pytest.raises(tidelog.UsageError, match="older changes are forgotten \\(at most 2 are kept"):
            db.undo()
        assert sorted(db["edge"]) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("length", [-1, 1.5, "2", None])
def test_a_history_of_no_whole_length_is_refused(length: Any) -> None:
    with pytest.raises(tidelog.UsageError, match=f"history must be a whole number of changes, .*, not {length!r}"):
        tidelog.open(REACHABLE, history=length)


def test_the_history_keeps_only_so_many_facts(db: tidelog.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "ROWS_KEPT", 3)
    db.insert("edge", [(5, 6), (6, 7)])
    db.insert("edge", [(7, 8), (8, 9)])
    db.undo()
    with pytest.raises(tidelog.UsageError, match="forgotten"):
        db.undo()


def test_a_whatif_sees_consequences_and_leaves_no_trace(db: tidelog.Session) -> None:
    before = state(db)
    with db.whatif(insert={"edge": [(3, 1)]}, retract={"edge": [(1, 2)]}) as hypothetical:
        assert sorted(hypothetical["path"]) == [(2, 1), (2, 3), (3, 1)]
        assert sorted(hypothetical.delta["path"].vanished) == [(1, 2), (1, 3)]
        assert hypothetical.query("path(2, X)").rows()
        assert "edge" in hypothetical
    assert state(db) == before
    with pytest.raises(tidelog.UsageError, match="nothing to undo"):
        db.undo()
    with pytest.raises(tidelog.UsageError, match="what-if is over"):
        hypothetical["path"]
    assert len(hypothetical.delta["path"].appeared) == 2


def test_a_whatif_lives_in_its_block(db: tidelog.Session) -> None:
    hypothetical = db.whatif(insert={"edge": [(3, 4)]})
    with pytest.raises(tidelog.UsageError, match="what-if has not begun"):
        hypothetical.insert("edge", [(4, 5)])
    assert len(db["edge"]) == 2
    with hypothetical:
        assert len(db["edge"]) == 3
    with pytest.raises(tidelog.UsageError, match="a what-if has one block"), hypothetical:
        pass


def test_a_whatif_takes_further_changes_and_its_delta_is_that_of_all(db: tidelog.Session) -> None:
    before = state(db)
    with db.whatif(insert={"edge": [(3, 4)]}) as hypothetical:
        hypothetical.insert("edge", [(4, 5)])
        hypothetical.apply(retract={"edge": [(3, 4), (1, 2)]})
        with hypothetical.change() as change:
            change.insert("path", [(9, 9)])
        assert sorted(hypothetical.delta["edge"].appeared) == [(4, 5)]
        assert sorted(hypothetical.delta["edge"].vanished) == [(1, 2)]
        assert sorted(hypothetical.delta["loop"].appeared) == [(9,)]
        assert hypothetical.delta.counts.inserted == 3
    assert state(db) == before


def test_a_whatif_inside_another(db: tidelog.Session) -> None:
    before = state(db)
    with db.whatif(insert={"edge": [(3, 4)]}) as outer:
        middle = state(outer)
        with outer.whatif(retract={"edge": [(1, 2)]}) as inner:
            assert len(inner["path"]) == 3
            assert sorted(inner.delta) == ["edge", "path"]
            with pytest.raises(tidelog.UsageError, match="changes go to its own object"):
                outer.insert("edge", [(8, 9)])
        assert state(outer) == middle
    assert state(db) == before


def test_a_whatif_ends_when_its_block_raises(db: tidelog.Session) -> None:
    before = state(db)
    with pytest.raises(ZeroDivisionError), db.whatif(insert={"edge": [(3, 4)]}):
        1 / 0  # noqa: B018
    assert state(db) == before
    assert db.insert("edge", [(3, 4)]) == 1


def test_the_session_itself_cannot_be_changed_inside_a_whatif(db: tidelog.Session) -> None:
    with db.whatif(insert={"edge": [(3, 4)]}):
        for change in (db.undo, db.redo, db.change, lambda: db.insert("edge", [(8, 9)]), db.load_inputs):
            with pytest.raises(tidelog.UsageError, match="inside a what-if block"):
                change()


def test_a_session_may_be_closed_inside_a_whatif(db: tidelog.Session) -> None:
    with db.whatif(insert={"edge": [(3, 4)]}) as hypothetical:
        db.close()
        with pytest.raises(tidelog.UsageError, match="closed"):
            hypothetical["path"].rows()


def test_a_subscriber_hears_of_each_change_of_its_relation_and_of_no_other(db: tidelog.Session) -> None:
    heard: list[tuple[list[object], list[object]]] = []
    db.subscribe("loop", lambda delta: heard.append((sorted(delta.appeared), sorted(delta.vanished))))
    db.insert("edge", [(3, 4)])
    assert heard == []
    db.insert("edge", [(3, 1)])
    db.retract("edge", [(3, 1)])
    db.undo()
    assert heard == [([(1,), (2,), (3,)], []), ([], [(1,), (2,), (3,)]), ([(1,), (2,), (3,)], [])]
    with db.whatif(retract={"edge": [(3, 1)]}):
        pass
    assert len(heard) == 3


def test_a_subscriber_of_a_new_session_hears_of_the_first_insert() -> None:
    with tidelog.open(REACHABLE) as db:
        heard: list[int] = []
        db.subscribe("path", lambda delta: heard.append(delta.appeared_count))
        db.insert("edge", [(1, 2), (2, 3)])
        assert heard == [3]


def test_subscribers_are_told_in_order_until_they_cancel(db: tidelog.Session) -> None:
    heard: list[str] = []
    first = db.subscribe("edge", lambda _: heard.append("first"))
    with db.subscribe("path", lambda _: heard.append("second")):
        db.insert("edge", [(3, 4)])
    first.cancel()
    first.cancel()
    db.insert("edge", [(4, 5)])
    assert heard == ["first", "second"]


def test_a_subscriber_that_raises_undoes_the_change(db: tidelog.Session) -> None:
    before = state(db)
    mirror = set(db["path"])

    def follow(delta: tidelog.RelationDelta) -> None:
        mirror.difference_update(delta.vanished)
        mirror.update(delta.appeared)

    def refuse(delta: tidelog.RelationDelta) -> None:
        raise ValueError(f"{len(delta.appeared)} too many")

    db.subscribe("path", follow)
    refusing = db.subscribe("path", refuse)
    with pytest.raises(ValueError, match="3 too many"):
        db.insert("edge", [(3, 4)])
    assert state(db) == before
    assert mirror == set(db["path"])
    with pytest.raises(tidelog.UsageError, match="nothing to undo"):
        db.undo()
    refusing.cancel()
    assert db.insert("edge", [(3, 4)]) == 1


def test_an_undo_that_a_subscriber_refuses_can_be_tried_again(db: tidelog.Session) -> None:
    db.insert("edge", [(3, 4)])
    after = state(db)

    def refuse(_: tidelog.RelationDelta) -> None:
        raise ValueError

    with db.subscribe("edge", refuse), pytest.raises(ValueError):
        db.undo()
    assert state(db) == after
    assert db.undo().counts.retracted == 1


def test_a_subscriber_may_read_but_not_change(db: tidelog.Session) -> None:
    seen: list[int] = []

    def look(_: tidelog.RelationDelta) -> None:
        seen.append(len(db["path"]))
        db.insert("edge", [(8, 9)])

    db.subscribe("edge", look)
    with pytest.raises(tidelog.UsageError, match="may read but not change"):
        db.insert("edge", [(3, 4)])
    assert seen == [6]
    assert len(db["edge"]) == 2


def test_what_cannot_be_subscribed_is_refused(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.UsageError, match="did you mean 'path'"):
        db.subscribe("pth", print)
    with pytest.raises(tidelog.UsageError, match="expected a function"):
        db.subscribe("path", "print")  # type: ignore[arg-type]


STEP_BY_STEP = """
.decl edge(a: number, b: number)
.decl start(a: number)
.decl seen(a: number)
seen(x) :- start(x).
seen(y) :- seen(x), edge(x, y).
"""


@pytest.fixture
def limited() -> tidelog.Session:
    """A session whose answers took more rounds, change by change, than one change may take."""
    session = tidelog.open(STEP_BY_STEP, limits=tidelog.Limits(rounds=10))
    session.apply(insert={"start": [(0,)]})
    for node in range(30):
        session.apply(insert={"edge": [(node, node + 1)]})
    return session


def test_a_whatif_ends_where_it_began_whatever_the_limits(limited: tidelog.Session) -> None:
    with limited.whatif(retract={"edge": [(0, 1)]}) as hypothetical:
        assert len(hypothetical["seen"]) == 1
        hypothetical.remove_rules("seen(y) :- seen(x), edge(x, y).")
    assert len(limited["seen"]) == 31


def test_a_change_that_a_subscriber_refuses_is_taken_back_whatever_the_limits(limited: tidelog.Session) -> None:
    def refuse(_: tidelog.RelationDelta) -> None:
        raise ValueError("no")

    with limited.subscribe("seen", refuse), pytest.raises(ValueError, match="no"):
        limited.retract("edge", [(0, 1)])
    assert len(limited["seen"]) == 31


def test_other_rules_that_reach_a_limit_leave_everything_as_it_was(limited: tidelog.Session) -> None:
    more = ".decl n(x: number) seen(x) :- n(x).\nn(0). n(y) :- n(x), y = x + 1, y < 20."
    with pytest.raises(tidelog.LimitError):
        limited.add_rules(more)
    with pytest.raises(tidelog.LimitError):
        limited.add_rules("start(100).\n" + "".join(f"edge({at}, {at + 1})." for at in range(100, 120)))
    assert len(limited["seen"]) == 31
    limited.retract("edge", [(0, 1)])
    with pytest.raises(tidelog.LimitError):
        limited.undo()
    assert len(limited["seen"]) == 1
