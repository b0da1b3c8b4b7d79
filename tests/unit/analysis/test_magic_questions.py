"""How a session and the command line answer a question before anything is derived."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.cli.main import main

PROGRAM = """
.decl edge(a: symbol, b: symbol)
.input edge
.decl weight(a: symbol, w: number)
.input weight
.decl path(a: symbol, b: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl share(a: symbol, w: number)
share(x, 10 / w) :- weight(x, w).
"""
EDGES = [("a", "b"), ("b", "c"), ("x", "y")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("".join(f"{one}\t{other}\n" for one, other in EDGES))
    return tmp_path


def test_the_command_reads_only_the_files_it_needs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not (folder / "weight.facts").exists()
    assert main(["query", "p.dl", 'path("a", X)']) == 0
    assert capsys.readouterr().out == "b\nc\n"
    assert main(["query", "p.dl", 'path("a", X)', "--everything"]) == 3
    assert "weight.facts" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_the_command_shows_the_rewriting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "p.dl", 'path("a", X)', "--show-rewriting"]) == 0
    assert "  // p.dl:8:1: path(x, z) :- path(x, y), edge(y, z).\n" in capsys.readouterr().out
    assert main(["query", "p.dl", 'path("a", "c")', "--show-rewriting"]) == 0
    assert "path@forth and path@back meet" in capsys.readouterr().out
    assert main(["query", "p.dl", "path(X, Y)", "--show-rewriting"]) == 0
    assert capsys.readouterr().out == "everything is derived: the question binds no column\n"


def test_a_question_need_not_look_at_facts_that_have_no_value() -> None:
    with tidelog.open(PROGRAM) as db:
        db.insert("weight", [("a", 0), ("b", 5)])
        db.insert("edge", EDGES)
        assert db.query('share("b", W)').rows() == [(2,)]
        assert sorted(db.query('path("a", X)')) == [("b",), ("c",)]
        with pytest.raises(tidelog.EvaluationError, match="division"):
            db.query('share("a", W)')
        with pytest.raises(tidelog.EvaluationError):
            db.materialize()
        assert len(db.query('path("a", "c")')) == 1


def test_a_limit_that_is_reached_leaves_nothing_behind() -> None:
    with tidelog.open(PROGRAM, limits=tidelog.Limits(rounds=3)) as db:
        db.insert("edge", [(str(number), str(number + 1)) for number in range(9)])
        for _ in range(2):
            with pytest.raises(tidelog.LimitError):
                db.query('path("0", X)')
        assert sorted(db.query('path("7", X)')) == [("8",), ("9",)]


def test_a_closure_of_many_nodes_is_searched_from_both_ends() -> None:
    edges = [(number, (number * step + 1) % 5000) for number in range(5000) for step in (2, 3)]
    text = """
    .decl e(a: number, b: number) .decl s(a: number) .decl r(a: number) .decl p(a: number, b: number)
    r(x) :- s(x). r(y) :- r(x), e(x, y).
    p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).
    """
    with tidelog.open(text) as db:
        db.insert("e", [*edges, (9000, 9001)])
        db.insert("s", [(17,)])
        reached = {17}
        while new := {b for a, b in edges if a in reached} - reached:
            reached |= new
        for node in (17, 0, 4321, 9000, 9001, 77777):
            assert len(db.query(f"r({node})")) == (node in reached), node
            assert len(db.query(f"p(17, {node})")) == (node in reached and node < 5000), node
        assert len(db.query("p(9000, 9001)")) == 1
