"""`tidelog apply`: what it reads, prints, writes and ends with."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidelog.cli.main import main

REACHABLE = """\
.decl edge(a: symbol, b: number)
.input edge
.decl path(a: symbol, b: number)
path(x, y) :- edge(x, y).
path(x, y + 1) :- path(x, y), y < 3.
.decl small(x: number) inline
small(x) :- edge(_, x), x < 3.
.decl flag()
.output path, flag
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the program `reach.dl` and two facts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reach.dl").write_text(REACHABLE)
    (tmp_path / "edge.facts").write_text("a\t2\nb\t3\n")
    return tmp_path


def apply(*arguments: str) -> int:
    return main(["apply", "reach.dl", *arguments, "-D", "out"])


def test_it_prints_what_appears_and_vanishes_and_writes_the_outputs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "one.changes").write_text(
        '// from now on\n+edge("c", 2). +edge("b", 3).\n-edge(\n  "a", 2).\n-edge("z", 1).'
    )
    (folder / "two.changes").write_text('-edge("c", 0x2). /* again */ +edge("\\"q\\"", 1 + 2). +flag().\n')
    assert apply("one.changes", "two.changes") == 0
    assert capsys.readouterr().out.splitlines() == [
        "// one.changes: 1 inserted (1 already there), 1 retracted (1 not there)",
        '-edge("a", 2).',
        '+edge("c", 2).',
        '-path("a", 2).',
        '-path("a", 3).',
        '+path("c", 2).',
        '+path("c", 3).',
        "// two.changes: 2 inserted (0 already there), 1 retracted (0 not there)",
        '-edge("c", 2).',
        '+edge("\\"q\\"", 3).',
        '-path("c", 2).',
        '-path("c", 3).',
        '+path("\\"q\\"", 3).',
        "+flag().",
    ]
    assert (folder / "out" / "path.csv").read_text().splitlines() == ['"q"\t3', "b\t3"]


def test_what_it_prints_is_a_change_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.changes").write_text('+edge("back\\\\ \\"x\\"", -7).\n')
    assert apply("one.changes") == 0
    (folder / "echo.changes").write_text(capsys.readouterr().out)
    assert apply("one.changes", "echo.changes", "--counts") == 0
    assert "// echo.changes: 11 inserted (1 already there)" in capsys.readouterr().out


def test_counts_instead_of_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.changes").write_text('-edge("a", 2). +edge("c", 1).')
    assert apply("one.changes", "--counts") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["edge\t+1\t-1", "path\t+3\t-2"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edge.csv", 'op,a,b\n+,"c, d",2\ndelete,a,2\n'),
        ("edge.csv", 'b,a,op\n2,"c, d",Insert\n2,a,-\n'),
        ("edge.2024-05-01.csv", '+,"c, d",2\n-,a,2\n'),
        ("edge.tsv", "I\tc, d\t2\nD\ta\t2\n"),
        ("edge.jsonl", '{"op": "+", "b": 2, "a": "c, d"}\n["-", "a", 2]\n'),
        ("edge.facts", "a\tb\top\nc, d\t2\t+\na\t2\tretract\n"),
    ],
)
def test_rows_with_an_operation_column(folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str) -> None:
    (folder / "in").mkdir()
    (folder / "in" / name).write_text(text)
    assert apply(f"in/{name}") == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"// in/{name}: 1 inserted (0 already there), 1 retracted (0 not there)",
        '-edge("a", 2).',
        '+edge("c, d", 2).',
    ]


def test_a_parquet_file_with_names_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"a": ["c", "a"], "b": [2, 2], "what": ["+", "-"]}), folder / "news.parquet")
    assert apply("news.parquet", "--relation", "edge", "--operation-column", "what") == 0
    assert capsys.readouterr().out.splitlines()[1:3] == ['-edge("a", 2).', '+edge("c", 2).']


def test_a_relation_without_columns_in_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "flag.csv").write_text("+\n")
    assert apply("flag.csv") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["+flag()."]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [([], '+edge("c", 9).'), (["--format", "csv", "--relation", "edge"], "op,a,b\n+,c,9\n")],
)
def test_changes_come_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert apply("-", *arguments) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ['+edge("c", 9).', '+path("c", 9).']


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (
            '+edge("a", 1).\n+edge("b" 2).\n',
            """\
error: one.changes:2:11: expected ',' or ')', found the number 2
 2 | +edge("b" 2).
   |           ^
  hint: put ',' between them, or close with ')'
""",
        ),
        (
            '+edge("a", 1)\nedge("b", 2).\n',
            """\
error: one.changes:2:1: expected '.', found 'edge'
 2 | edge("b", 2).
   | ^^^^
  hint: a change file has facts only: end each with '.'
""",
        ),
        (
            'edge("b", 2).',
            """\
error: one.changes:1:1: expected '+' or '-' and a fact, found 'edge'
 1 | edge("b", 2).
   | ^^^^
  hint: write +edge(1, 2). to insert it, -edge(1, 2). to retract it
""",
        ),
        (
            '+edge("b", 2)\n+edge("c", 2)',
            """\
error: one.changes:1:14: missing '.' at the end of this fact
 1 | +edge("b", 2)
   |              ^
  hint: end each fact with '.'
one.changes:2:14: missing '.' at the end of this fact
 2 | +edge("c", 2)
   |              ^
  hint: end each fact with '.'
""",
        ),
        (
            "+egde(1).",
            """\
error: one.changes:1:2: relation 'egde' is not declared
 1 | +egde(1).
   |  ^^^^^^^
  hint: did you mean 'edge'?
""",
        ),
        (
            "+small(1).",
            """\
error: one.changes:1:2: 'small' is inline and has no rows of its own
 1 | +small(1).
   |  ^^^^^^^^
  hint: remove the qualifier to store it
""",
        ),
        (
            "+flag().\n# note\n",
            """\
error: one.changes:2:1: a change file has no lines that begin with '#'
 2 | # note
   | ^^^^^^
  hint: comments begin with //
""",
        ),
    ],
)
def test_a_wrong_change_file_is_reported_with_its_place_and_nothing_is_done(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, report: str
) -> None:
    (folder / "one.changes").write_text(text)
    assert apply("one.changes") == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == report
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("+edge(1, 2).", 3, "one.changes:1:7: "),
        ('+edge("a").', 3, "one.changes:1:2: "),
        ('+edge("a", x).', 3, "one.changes:1:12: "),
        ('+edge("a", 1/0).', 3, "one.changes:1:2: this fact has no value"),
        ('+edge("a, 1).', 3, "one.changes:1:7: this string is never closed"),
        ('.decl x(a: number)\n+edge("a", 1).', 3, "one.changes:1:1: expected '+' or '-' and a fact"),
        ("+edge", 3, "one.changes:1:2: 'edge' alone is not an atom"),
        ("+", 3, "one.changes:1:2: the text ends where the name of a relation is expected"),
    ],
)
def test_other_mistakes_have_a_place_too(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, says: str
) -> None:
    (folder / "one.changes").write_text(text)
    assert apply("one.changes") == code
    assert f"error: {says}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "code", "says"),
    [
        ("edge.csv", "op,a,b\n+,c,1\n*,c,2\n", 3, "edge.csv: row 2: expected an operation (+, insert, i, -, retract"),
        (
            "edge.csv",
            "op,a,b\n+,c,one\n",
            3,
            "edge.csv:2:5: expected a number for attribute 'b' of edge(op: operation,",
        ),
        ("edge.csv", "a,b\nc,1\n", 3, "edge.csv:1: expected a header with a column 'op', or rows that begin with"),
        ("egde.csv", "+,c,1\n", 2, "egde.csv: no relation 'egde'; did you mean 'edge'?"),
        ("edge.jsonl", '{"a": "c", "b": 1}\n', 3, "edge.jsonl:1: 'op' is missing"),
    ],
)
def test_mistakes_in_rows_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, code: int, says: str
) -> None:
    (folder / name).write_text(text)
    assert apply(name) == code
    assert f"error: {says}" in capsys.readouterr().err


def test_a_missing_file_and_a_clash_of_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert apply("nowhere.changes") == 3
    assert "nowhere.changes: cannot be read" in capsys.readouterr().err
    (folder / "edge.csv").write_text("+,c,1\n")
    assert apply("edge.csv", "--operation-column", "a") == 2
    assert "--operation-column" in capsys.readouterr().err
    assert apply("-", "-") == 2
    assert "only one thing can be read from standard input" in capsys.readouterr().err


def test_a_later_change_that_cannot_be_computed_leaves_no_outputs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "half.dl").write_text(".decl p(x: number)\n.decl q(x: number)\nq(6 / x) :- p(x).\n.output q\n")
    (folder / "one.changes").write_text("+p(2).")
    (folder / "two.changes").write_text("+p(0).")
    assert main(["apply", "half.dl", "one.changes", "two.changes", "-D", "out"]) == 4
    assert "division by zero" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_what_is_given_by_changes_is_no_reason_to_warn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bare.dl").write_text(".decl a(x: float)\n.decl b(x: float)\nb(x) :- a(x).\n.output b\n")
    (folder / "one.changes").write_text("+a(inf). +a(-inf). +a(1).\n")
    assert main(["apply", "bare.dl", "one.changes"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    (folder / "echo.changes").write_text(printed.out)
    assert main(["apply", "bare.dl", "echo.changes"]) == 0
    assert capsys.readouterr().out.splitlines()[1:4] == ["+a(-inf).", "+a(1.0).", "+a(inf)."]
