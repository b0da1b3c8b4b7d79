"""What a user of a session can rely on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tidelog

REACHABLE = """
.decl edge(a: symbol, b: symbol)
.decl path(a: symbol, b: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl node(a: symbol)
node(x) :- edge(x, _).
node(x) :- edge(_, x).
.decl far(a: symbol, b: symbol)
far(x, y) :- node(x), node(y), !path(x, y).
"""

CHAIN = [("a", "b"), ("b", "c")]


@pytest.fixture
def db() -> tidelog.Session:
    return tidelog.open(REACHABLE)


def test_rules_follow_from_inserted_rows(db: tidelog.Session) -> None:
    assert db.insert("edge", CHAIN) == 2
    assert sorted(db["path"].rows()) == [("a", "b"), ("a", "c"), ("b", "c")]


def test_inserting_a_known_row_adds_nothing(db: tidelog.Session) -> None:
    db.insert("edge", CHAIN)
    assert db.insert("edge", [("a", "b"), ("c", "d"), ("c", "d")]) == 1


def test_answers_follow_rows_added_after_a_read_under_negation_too(db: tidelog.Session) -> None:
    db.insert("edge", CHAIN)
    assert ("c", "a") in db["far"]
    db.insert("edge", [("c", "a")])
    assert len(db["far"]) == 0
    assert len(db["path"]) == 9


def test_a_view_is_live(db: tidelog.Session) -> None:
    path = db["path"]
    assert len(path) == 0
    db.insert("edge", CHAIN)
    assert len(path) == 3


def test_rows_may_be_given_to_a_relation_that_rules_derive(db: tidelog.Session) -> None:
    db.insert("edge", CHAIN)
    assert db.insert("path", [("z", "a"), ("a", "b")]) == 2
    assert sorted(db.query('path("z", X)')) == [("a",), ("b",), ("c",)]
    db.insert("edge", [("c", "d")])
    assert ("z", "d") in db["path"]
    assert db.insert("path", [("z", "a")]) == 0


def test_facts_of_the_text_count_as_known() -> None:
    with tidelog.open('.decl edge(a: symbol, b: symbol)\nedge("a", "b").') as db:
        assert db.insert("edge", CHAIN) == 1
        assert sorted(db["edge"]) == CHAIN


def test_a_wrong_row_is_named_and_none_is_inserted(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.InputError, match="row 2"):
        db.insert("edge", [("a", "b"), ("a", 1)])
    with pytest.raises(tidelog.InputError, match="row 1"):
        db.insert("edge", [("a", "b", "c")])
    assert db["edge"].rows() == []


def test_an_unknown_relation_gets_the_nearest_name(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.UsageError, match="no relation 'egde'; did you mean 'edge'"):
        db.insert("egde", CHAIN)
    with pytest.raises(tidelog.UsageError, match="did you mean 'path'"):
        db.query("paths(X, Y)")


def test_a_closed_session_says_so() -> None:
    with tidelog.open(REACHABLE) as db:
        path = db["path"]
    with pytest.raises(tidelog.UsageError, match="closed"):
        path.rows()
    with pytest.raises(tidelog.UsageError, match="closed"):
        db.insert("edge", CHAIN)
    assert "closed" in repr(path)


def test_a_relation_without_columns_holds_or_not() -> None:
    program = ".decl edge(a: number)\n.decl any()\nany() :- edge(_).\n.decl given()"
    with tidelog.open(program) as db:
        assert len(db["any"]) == 0
        db.insert("edge", [(1,), (2,)])
        assert db["any"].rows() == [()]
        assert () in db["any"]
        assert db.insert("given", [()]) == 1
        assert len(db.query("given()")) == 1
        assert repr(db["any"]) == "any(): 1 row"


def test_an_error_of_a_rule_shows_its_line_and_leaves_the_session_usable() -> None:
    program = ".decl p(x: number)\n.decl q(x: number)\nq(10 / x) :- p(x).\n"
    with tidelog.open(program) as db:
        db.insert("p", [(0,)])
        with pytest.raises(tidelog.EvaluationError) as raised:
            db["q"].rows()
        assert any("q(10 / x) :- p(x)." in note for note in raised.value.__notes__)
        assert db.insert("p", [(5,)]) == 1
        with pytest.raises(tidelog.EvaluationError):
            db["q"].rows()


def test_a_runaway_recursion_meets_a_limit() -> None:
    program = ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x)."
    with tidelog.open(program, limits=tidelog.Limits(rounds=10)) as db, pytest.raises(tidelog.LimitError, match="n"):
        db["n"].rows()


def test_an_inline_relation_has_no_rows_to_read_or_give() -> None:
    program = ".decl p(x: number)\n.decl q(x: number)\nq(x) :- small(x).\n"
    program += ".decl small(x: number) inline\nsmall(x) :- p(x), x < 9."
    with tidelog.open(program) as db:
        db.insert("p", [(1,), (10,)])
        assert db["q"].rows() == [(1,)]
        with pytest.raises(tidelog.UsageError, match="'small' is inline"):
            db["small"]
        with pytest.raises(tidelog.UsageError, match="'small' is inline"):
            db.insert("small", [(1,)])


def test_something_that_is_no_program_is_refused() -> None:
    with pytest.raises(tidelog.UsageError, match="expected a program or its text, found int"):
        tidelog.open(3)  # type: ignore[arg-type]


def test_wrong_parameters_of_a_directive_are_found_before_anything_runs() -> None:
    with pytest.raises(tidelog.ProgramError, match="D280") as raised:
        tidelog.open('.decl p(x: number)\n.output p(filname="a.csv")\np(x) :- q(x).')
    assert [finding.code for finding in raised.value.diagnostics] == ["D280", "D201"]


@pytest.mark.parametrize(
    ("query", "columns", "answers"),
    [
        ("path(X, Y)", ("X", "Y"), [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]),
        ('path("a", X)', ("X",), [("a",), ("b",)]),
        ("path(X, X)", ("X",), [("a",), ("b",)]),
        ("path(X, _)", ("X",), [("a",), ("b",)]),
        ('path("a", "b")', (), [()]),
        ('path("a", "z")', (), []),
        ("path(_, _)", (), [()]),
    ],
)
def test_a_query_answers_with_its_variables(
    db: tidelog.Session, query: str, columns: tuple[str, ...], answers: list[tuple[str, ...]]
) -> None:
    db.insert("edge", [("a", "b"), ("b", "a")])
    found = db.query(query)
    assert found.schema.names == columns
    assert sorted(found) == answers


def test_a_query_about_facts_that_no_rule_derives_derives_nothing() -> None:
    text = """
    .decl edge(x: number, y: number)
    .decl wrong(x: number)
    wrong(x / 0) :- edge(x, _).
    """
    with tidelog.open(tidelog.parse(text)) as db:
        db.insert("edge", [(1, 2), (2, 3)])
        assert list(db.query("edge(1, Y)")) == [(2,)]
        assert sorted(db.query("edge(X, Y)")) == [(1, 2), (2, 3)]
        with pytest.raises(tidelog.errors.EvaluationError):
            db.query("wrong(X)")


def test_a_query_takes_numbers_in_the_kind_of_their_column() -> None:
    program = ".decl p(n: number, u: unsigned, f: float)\np(-1, 2, 3)."
    with tidelog.open(program) as db:
        assert db.query("p(X, 2, 3)").rows() == [(-1,)]
        assert db.query("p(-1, X, 3.0)").rows() == [(2,)]
        with pytest.raises(tidelog.UsageError, match="column 'n' holds a number"):
            db.query('p("a", _, _)')
        with pytest.raises(tidelog.UsageError, match="-1 is no unsigned"):
            db.query("p(_, -1, _)")
        with pytest.raises(tidelog.UsageError, match="use two variables"):
            db.query("p(X, X, _)")
        with pytest.raises(tidelog.UsageError, match="has 3 columns, the query gives 1"):
            db.query("p(X)")


def test_a_malformed_query_is_a_program_error(db: tidelog.Session) -> None:
    with pytest.raises(tidelog.ProgramError):
        db.query("path(X,")


def test_rows_come_as_frames_and_tables(db: tidelog.Session) -> None:
    db.insert("edge", CHAIN[:1])
    assert db["edge"].to_pandas().to_dict("list") == {"a": ["a"], "b": ["b"]}
    assert db["edge"].to_polars().rows() == CHAIN[:1]
    assert db["edge"].to_arrow().to_pydict() == {"a": ["a"], "b": ["b"]}
    assert pa.table(db["edge"]).num_rows == 1


def test_frames_and_views_can_be_inserted(db: tidelog.Session) -> None:
    db.insert("edge", CHAIN)
    with tidelog.open(REACHABLE) as other:
        assert other.insert("edge", db["edge"]) == 2
        assert other.insert("edge", db["path"].to_pandas()) == 1
        assert other.insert("edge", db["path"].to_polars()) == 0


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.parquet", "p.sqlite"])
def test_a_written_relation_can_be_loaded(db: tidelog.Session, tmp_path: Path, name: str) -> None:
    db.insert("edge", CHAIN)
    db["edge"].write(tmp_path / name)
    with tidelog.open(REACHABLE) as other:
        assert other.load("edge", tmp_path / name) == 2
        assert sorted(other["edge"]) == CHAIN


def test_a_view_shows_its_first_rows(db: tidelog.Session) -> None:
    db.insert("edge", [("a", f"<{number:02}>") for number in range(12)])
    shown = repr(db["edge"]).splitlines()
    assert shown[:2] == ["edge(a: symbol, b: symbol): 12 rows", "a  b"]
    assert shown[-1] == "… and 2 more"
    assert "&lt;00&gt;" in db["edge"]._repr_html_()


def test_running_out_of_memory_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    with tidelog.open(".decl p(x: number)\np(1).") as db:
        monkeypatch.setattr("tidelog.world.model.Materialization.materialize", no_memory)
        with pytest.raises(tidelog.LimitError, match="no memory left to compute what follows"):
            db["p"].rows()


def test_a_builder_is_not_yet_a_program() -> None:
    with pytest.raises(tidelog.UsageError, match=r"call \.program\(\)"):
        tidelog.open(tidelog.rules())  # type: ignore[arg-type]


def test_a_relation_without_columns_shows_as_many_rows_as_it_has() -> None:
    with tidelog.open(".decl found()") as db:
        assert db["found"]._repr_html_().count("<tr>") == 1  # the head
        db.insert("found", [()])
        assert db["found"]._repr_html_().count("<tr>") == 2


def test_membership_of_something_that_cannot_be_a_row_is_false(db: tidelog.Session) -> None:
    db.insert("edge", CHAIN)
    assert ("a", "b") in db["edge"]
    assert ("a", 1) not in db["edge"]
    assert ("a",) not in db["edge"]
    assert "a" not in db["edge"]


def test_counting_rows_makes_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    with tidelog.open(".decl a(x: number)\na(1). a(2).\n.printsize a\n") as db:
        monkeypatch.setattr("tidelog.backends.local.backend.LocalBackend.table", None)
        assert len(db["a"]) == 2
        db.write_outputs()


def test_a_question_with_a_constant_of_another_kind_says_it_as_it_was_written() -> None:
    with tidelog.open(".decl n(x: number)") as db, pytest.raises(tidelog.UsageError, match="the query gives 1u"):
        db.query("n(1u)")
