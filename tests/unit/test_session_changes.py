"""Changes of facts: what a session takes, what it gives back, and that a change is whole or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tidelog

REACHABLE = """
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def db() -> Iterator[tidelog.Session]:
    with tidelog.open(REACHABLE) as session:
        session.insert("edge", [(1, 2), (2, 3)])
        yield session


def test_apply_tells_which_rows_appeared_and_vanished(db: tidelog.Session) -> None:
    delta = db.apply(insert={"edge": [(3, 4)]}, retract={"edge": [(1, 2)]})
    assert sorted(delta["path"].appeared) == [(2, 4), (3, 4)]
    assert sorted(delta["path"].vanished) == [(1, 2), (1, 3)]
    assert sorted(delta["edge"].appeared) == [(3, 4)]
    assert list(delta) == ["edge", "path"]
    assert sorted(db["path"]) == [(2, 3), (2, 4), (3, 4)]


def test_a_block_applies_everything_where_it_ends(db: tidelog.Session) -> None:
    with db.change() as change:
        change.insert("edge", [(3, 4)])
        change.insert("edge", pa.table({"a": [4], "b": [5]}))
        change.retract("edge", [(1, 2)])
        assert len(db["edge"]) == 2
    assert sorted(db["edge"]) == [(2, 3), (3, 4), (4, 5)]
    assert len(change.delta["path"].appeared) == 5


def test_a_block_that_raises_applies_nothing(db: tidelog.Session) -> None:
    with pytest.raises(ZeroDivisionError), db.change() as change:  # noqa: PT012
        change.insert("edge", [(3, 4)])
        1 / 0  # noqa: B018
    assert len(db["edge"]) == 2
    with pytest.raises(tidelog.UsageError, match="no delta yet"):
        change.delta  # noqa: B018


def test_a_wrong_row_of_a_change_is_named_and_nothing_is_applied(db: tidelog.Session) -> None:
    rows = [(n, n) for n in range(10, 16)]
    with pytest.raises(tidelog.InputError, match=r"row 7: expected a number for attribute 'b' of edge"):
        db.apply(insert={"edge": [*rows, (1, "two")]}, retract={"edge": [(1, 2)]})
    with db.change() as change, pytest.raises(tidelog.InputError, match=r"row 7: expected 2 fields for edge"):
        change.insert("edge", [*rows, (1, 2, 3)])
    assert sorted(db["edge"]) == [(1, 2), (2, 3)]


def test_an_unknown_relation_in_a_change_is_named(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.UsageError, match="did you mean 'edge'"):
        db.apply(insert={"egde": [(1, 2)]})
    with pytest.raises(tidelog.UsageError, match="did you mean 'path'"):
        db.apply()["pth"]
    with pytest.raises(tidelog.UsageError, match="expected rows by relation"):
        db.apply(insert=[(1, 2)])  # type: ignore[arg-type]


def test_a_block_takes_rows_only_while_it_is_open(db: tidelog.Session) -> None:
    change = db.change()
    with pytest.raises(tidelog.UsageError, match="not open"):
        change.insert("edge", [(1, 2)])
    with change:
        pass
    with pytest.raises(tidelog.UsageError, match="made once"), change:
        pass


def test_what_had_no_effect_is_counted(db: tidelog.Session) -> None:
    delta = db.apply(insert={"edge": [(1, 2), (5, 6), (5, 6)]}, retract={"edge": [(2, 3), (7, 8), (8, 9)]})
    counts = delta.counts
    assert (counts.inserted, counts.already_there, counts.retracted, counts.not_there) == (1, 2, 1, 2)
    assert repr(delta).splitlines()[0] == "1 inserted (2 already there), 1 retracted (2 not there)"
    assert repr(delta).splitlines()[1:] == ["  edge  +1  -1", "  path  +1  -2"]
    assert "<td>path</td><td>1</td><td>2</td>" in delta._repr_html_()


def test_a_change_without_effect_says_so(db: tidelog.Session) -> None:
    delta = db.apply(insert={"edge": [(1, 2)]}, retract={"edge": [(9, 9)]})
    assert not delta
    assert not delta["path"]
    assert delta["path"].appeared.rows() == []
    assert repr(delta) == "0 inserted (1 already there), 0 retracted (1 not there); no relation changed"
    assert repr(delta["path"]) == "path(a: number, b: number): unchanged"


def test_a_fact_inserted_and_retracted_in_one_change_is_there(db: tidelog.Session) -> None:
    delta = db.apply(insert={"edge": [(1, 2), (8, 9)]}, retract={"edge": [(1, 2), (8, 9)]})
    assert (1, 2) in db["edge"]
    assert (8, 9) in db["edge"]
    assert delta.counts == type(delta.counts)(inserted=1, already_there=1)
    with db.change() as change:
        change.insert("edge", [(5, 5)])
        change.retract("edge", [(5, 5)])
    assert (5, 5) in db["path"]


def test_a_given_fact_survives_its_derivation_and_a_derived_one_its_retraction(db: tidelog.Session) -> None:
    assert db.insert("path", [(1, 2), (7, 8)]) == 2
    assert db.retract("edge", [(1, 2)]) == 1
    assert sorted(db["path"]) == [(1, 2), (1, 3), (2, 3), (7, 8)]
    delta = db.apply(retract={"path": [(1, 2), (2, 3)]})
    assert delta.counts.retracted == 1
    assert sorted(db["path"]) == [(2, 3), (7, 8)]


def test_retract_counts_what_was_there_before_and_after_the_first_read(db: tidelog.Session) -> None:
    assert db.retract("edge", [(2, 3), (9, 9)]) == 1
    assert db["path"].rows() == [(1, 2)]
    assert db.retract("edge", [(1, 2), (9, 9)]) == 1
    assert db["path"].rows() == []


def test_facts_of_the_text_can_be_retracted() -> None:
    with tidelog.open(f"{REACHABLE} edge(1, 2). edge(2, 3).") as db:
        assert db.retract("edge", [(1, 2)]) == 1
        assert db["path"].rows() == [(2, 3)]
        assert db.insert("edge", [(2, 3)]) == 0


def test_a_delta_stays_as_it_is(db: tidelog.Session) -> None:
    delta = db.apply(insert={"edge": [(3, 4)]})
    db.apply(retract={"edge": [(2, 3), (3, 4)]})
    assert sorted(delta["path"].appeared) == [(1, 4), (2, 4), (3, 4)]
    assert delta["path"].appeared.to_arrow().num_rows == 3


def test_a_relation_without_columns_appears_and_vanishes() -> None:
    program = ".decl p(x: number)\n.decl any()\nany() :- p(_).\n.decl given()"
    with tidelog.open(program) as db:
        delta = db.apply(insert={"p": [(1,)], "given": [()]})
        assert delta["any"].appeared.rows() == [()]
        assert delta["given"].appeared.rows() == [()]
        delta = db.apply(retract={"p": [(1,)], "given": [()]})
        assert delta["any"].vanished.rows() == [()]
        assert delta["given"].vanished.rows() == [()]
        assert len(db["given"]) == 0


def test_a_change_that_a_rule_cannot_compute_is_refused_whole() -> None:
    program = ".decl p(x: number)\n.decl q(x: number)\nq(10 / x) :- p(x).\n"
    with tidelog.open(program) as db:
        db.insert("p", [(5,)])
        assert db["q"].rows() == [(2,)]
        with pytest.raises(tidelog.EvaluationError) as raised:
            db.apply(insert={"p": [(1,), (0,)]}, retract={"p": [(5,)]})
        assert any("q(10 / x) :- p(x)." in note for note in raised.value.__notes__)
        assert db["p"].rows() == [(5,)]
        assert db["q"].rows() == [(2,)]


def test_a_bad_fact_given_before_the_first_read_can_be_taken_away() -> None:
    program = ".decl p(x: number)\n.decl q(x: number)\nq(10 / x) :- p(x).\n"
    with tidelog.open(program) as db:
        db.insert("p", [(0,), (5,)])
        with pytest.raises(tidelog.EvaluationError):
            db["q"].rows()
        assert db.retract("p", [(0,)]) == 1
        assert db["q"].rows() == [(2,)]


def test_inserting_before_the_first_read_computes_nothing() -> None:
    with tidelog.open(".decl n(x: number)\nn(x + 1) :- n(x).", limits=tidelog.Limits(rounds=10)) as db:
        assert db.insert("n", [(1,)]) == 1
        assert db.insert("n", [(2,)]) == 1
        with pytest.raises(tidelog.LimitError):
            db.apply(insert={"n": [(3,)]})
        assert db.retract("n", [(1,), (2,), (3,)]) == 2
        assert db["n"].rows() == []


def test_a_limit_reached_by_a_change_leaves_everything_as_it_was() -> None:
    program = ".decl stop(x: number)\n.decl n(x: number)\nn(x + 1) :- n(x), !stop(x).\n"
    with tidelog.open(program, limits=tidelog.Limits(rounds=50)) as db:
        db.insert("n", [(1,)])
        db.insert("stop", [(5,)])
        assert len(db["n"]) == 5
        with pytest.raises(tidelog.LimitError):
            db.retract("stop", [(5,)])
        assert db["stop"].rows() == [(5,)]
        assert len(db["n"]) == 5


def test_files_loaded_after_a_read_are_one_change(tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    (tmp_path / "more.facts").write_text("3\t4\n2\t3\n")
    inputs = '.input edge\n.input edge(filename="more.facts")'
    with tidelog.open(REACHABLE + inputs) as db:
        db.materialize()
        assert db.load_inputs(tmp_path) == 3
        assert len(db["path"]) == 6
        db.undo()
        assert len(db["edge"]) == 0


def test_a_relation_with_a_size_limit_is_what_it_would_be_from_the_start() -> None:
    text = ".decl s(x: number)\n.decl n(x: number)\n.limitsize n(n = 5)\nn(x) :- s(x).\nn(x + 1) :- n(x).\n"
    with tidelog.open(text) as changed, tidelog.open(text) as fresh:
        changed.insert("s", [(1,)])
        assert len(changed["n"]) == 5
        changed.apply(insert={"s": [(100,)]})
        fresh.insert("s", [(1,), (100,)])
        assert sorted(changed["n"].rows()) == sorted(fresh["n"].rows())


@pytest.mark.parametrize("wrong", ["dred", None, tidelog.Strategy.DRED])
def test_what_is_no_maintenance_is_named(wrong: object) -> None:
    with pytest.raises(tidelog.UsageError, match=r"maintenance must be a tidelog\.Maintenance, not"):
        tidelog.open(".decl s(x: number)", maintenance=wrong)  # type: ignore[arg-type]


def test_what_is_no_strategy_is_named() -> None:
    with pytest.raises(tidelog.UsageError, match=r"Strategy\.DRED or Strategy\.BACKWARD_FORWARD, not 'dred'"):
        tidelog.Maintenance(strategy="dred")  # type: ignore[arg-type]


def test_rows_without_a_name_say_what_to_name() -> None:
    with tidelog.open(".decl p(x: number)") as db, pytest.raises(tidelog.UsageError, match=r"name it, as in db\.apply"):
        db.apply({"p": [(1,)]})


def test_a_watch_wants_the_text_of_a_rule() -> None:
    with (
        tidelog.open(".decl p(x: number)") as db,
        pytest.raises(tidelog.UsageError, match="text of a rule to watch, found int"),
    ):
        db.watch(5, on_match=print)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body",
    [
        ", ".join(f"edge(x{at}, x{at + 1})" for at in range(24)),
        "edge(x0, x24), " + ", ".join(f"x0 != {at}" for at in range(100, 200)),
    ],
    ids=["joins", "conditions"],
)
def test_a_rule_too_long_for_code_of_its_own_is_followed_all_the_same(body: str) -> None:
    text = f".decl edge(a: number, b: number) .decl path(a: number, b: number)\npath(x0, x24) :- {body}."
    with tidelog.open(text, tier=tidelog.Tier.PUSH, profile=True) as db:
        db.insert("edge", [(1, 2), (2, 1)])
        there = sorted(db["path"])
        db.apply(retract={"edge": [(2, 1)]})
        db.apply(insert={"edge": [(2, 1)]})
        assert sorted(db["path"]) == there
        assert there
        assert "one inside the other" in str(db.profile()[0].why_not_pushed)
