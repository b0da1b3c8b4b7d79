"""What each command prints, writes and ends with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog
from tidelog.cli.main import main

REACHABLE = """\
.decl edge(a: symbol, b: symbol)
.input edge
.decl path(a: symbol, b: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.output path
.printsize edge
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the program `reach.dl` and facts of a chain of three."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reach.dl").write_text(REACHABLE)
    (tmp_path / "edge.facts").write_text("a\tb\nb\tc\n")
    return tmp_path


def test_run_writes_outputs_and_prints_sizes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "reach.dl", "-F", ".", "-D", "out"]) == 0
    assert sorted((folder / "out" / "path.csv").read_text().splitlines()) == ["a\tb", "a\tc", "b\tc"]
    assert capsys.readouterr().out == "edge\t2\n"


def test_run_reads_and_writes_here_unless_told_otherwise(folder: Path) -> None:
    assert main(["run", "reach.dl"]) == 0
    assert (folder / "path.csv").exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_run_writes_rows_in_order_whatever_the_number_of_threads(folder: Path, jobs: str) -> None:
    (folder / "edge.facts").write_text("".join(f"{n}\t{n * 7 % 40}\n" for n in range(39, 0, -1)))
    assert main(["run", "reach.dl", "--jobs", jobs]) == 0
    lines = (folder / "path.csv").read_text().splitlines()
    assert lines == sorted(lines, key=lambda line: line.split("\t"))


def test_a_small_run_loads_no_library_that_it_does_not_need() -> None:
    heavy = ("pandas", "polars", "numba", "duckdb", "pyarrow.parquet")
    code = f"""
import sys
from tidelog.cli.main import main
assert main(["run", "reach.dl", "-D", "out"]) == 0
assert main(["query", "reach.dl", "path(X, Y)"]) == 0
print("loaded:", *sorted({set(heavy)} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split() == ["loaded:"]


def test_query_prints_rows_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "reach.dl", "path(X, Y)", "--header"]) == 0
    assert capsys.readouterr().out == "X\tY\na\tb\na\tc\nb\tc\n"


@pytest.mark.parametrize(("query", "printed"), [('path("a", "c")', "true\n"), ('path("c", _)', "false\n")])
def test_a_query_without_variables_is_true_or_false(
    capsys: pytest.CaptureFixture[str], query: str, printed: str
) -> None:
    assert main(["query", "reach.dl", query]) == 0
    assert capsys.readouterr().out == printed


def test_check_counts_what_it_saw(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "reach.dl"]) == 0
    assert capsys.readouterr().out.startswith("reach.dl: no errors (2 relations, 2 rules")


def test_plan_names_the_rules_by_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "reach.dl"]) == 0
    assert "reach.dl:5" in capsys.readouterr().out


def test_plan_with_facts_shows_the_join_orders_of_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "join.dl").write_text(
        ".decl many(x: number)\n.decl few(x: number)\n.decl both(x: number)\n.input many\n.input few\n"
        "both(x) :- many(x), few(x).\n.output both\n"
    )
    (folder / "many.facts").write_text("".join(f"{number}\n" for number in range(500)))
    (folder / "few.facts").write_text("7\n")
    assert main(["plan", "join.dl"]) == 0
    assert "many(x) ⋈ few(x) → both(x)" in capsys.readouterr().out
    assert main(["plan", "join.dl", "-F", "."]) == 0
    assert "few(x) ⋈ many(x) → both(x)" in capsys.readouterr().out
    assert not (folder / "both.csv").exists()


def test_plan_follows_the_order_that_a_rule_asks_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "hint.dl").write_text(
        ".decl a(x: number)\n.decl b(x: number)\n.decl c(x: number)\n.input a\n.input b\n"
        "c(x) :- a(x), b(x).\n.plan 0:(2,1)\n.output c\n"
    )
    assert main(["plan", "hint.dl"]) == 0
    assert "b(x) ⋈ a(x) → c(x)" in capsys.readouterr().out


def test_a_limit_on_time_stops_an_aggregate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "e.facts").write_text("".join(f"{number}\n" for number in range(1000)))
    (folder / "long.dl").write_text(
        ".decl e(x: number)\n.decl n(x: number)\n.input e\n"
        "n(c) :- c = count : { e(x), e(y), e(z), x + y > z }.\n.output n\n"
    )
    assert main(["run", "long.dl", "--limit-seconds", "0.5"]) == 5
    assert "long.dl:4: n(c)" in capsys.readouterr().err
    assert not (folder / "n.csv").exists()


def test_a_program_may_come_on_standard_input(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", (folder / "reach.dl").open())
    assert main(["query", "-", 'path("b", X)']) == 0
    assert capsys.readouterr().out == "c\n"


def test_a_program_on_standard_input_leaves_none_for_facts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "piped.dl").write_text(".decl e(a: symbol)\n.input e(IO=stdin)\n.output e\n")
    monkeypatch.setattr("sys.stdin", (folder / "piped.dl").open())
    assert main(["run", "-"]) == 2
    assert "give the program as a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["query", "reach.dl", "pth(X, Y)", "-F", "nowhere"], 2, "did you mean 'path'?"),
        (["query", "reach.dl", "path(X)", "-F", "nowhere"], 2, "has 2 columns"),
        (["run", "reach.dl", "-D", "edge.facts", "-F", "nowhere"], 3, "edge.facts is not a folder"),
    ],
)
def test_what_can_be_known_is_said_before_facts_are_read(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    assert main(words) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rules", "facts", "words", "code", "said"),
    [
        ("q(x) :- r(x).", "1\n", [], 1, "program.dl:5:9: error[D2"),
        ("q(x) :- p(y).", "1\n", [], 1, "error[D4"),
        ("q(x) :- p(x).", "1\none\n", [], 3, "p.facts:2:1: expected a number"),
        ("q(10 / x) :- p(x).", "0\n", [], 4, "q(10 / x) :- p(x)."),
        ("q(x) :- p(x).\nq(x + 1) :- q(x).", "1\n", ["--limit-rounds", "20"], 5, "q"),
        ("q(x) :- p(x).", "1\n", ["--limit-rows", "many"], 2, "not a whole number"),
        ("q(x) :- p(x).", "1\n", ["-F", "nowhere"], 3, "nowhere"),
    ],
)
def test_bad_input_says_where_writes_nothing_and_shows_no_traceback(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rules: str,
    facts: str,
    words: list[str],
    code: int,
    said: str,
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("program.dl").write_text(f".decl p(x: number)\n.input p\n.decl q(x: number)\n.output q\n{rules}\n")
    Path("p.facts").write_text(facts)
    assert main(["run", "program.dl", *words]) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert "Traceback" not in printed.err
    assert not printed.out
    assert sorted(os.listdir()) == ["p.facts", "program.dl"]


def test_every_error_of_a_program_is_reported_with_their_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.dl"
    wrong.write_text(".decl p(x: number)\np(x) :- q(x).\np(x) :- r(x).\n")
    assert main(["check", str(wrong)]) == 1
    printed = capsys.readouterr().err
    assert "wrong.dl:2:9" in printed
    assert "wrong.dl:3:9" in printed
    assert printed.endswith("2 errors\n")


@pytest.mark.parametrize("words", [["--debug", "check", "absent.dl"], ["check", "absent.dl", "--debug"]])
def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(words) == 3
    assert "Traceback" in capsys.readouterr().err


def test_a_missing_program_is_an_error_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "absent.dl"]) == 3
    assert capsys.readouterr().err.startswith("error: absent.dl")


def test_an_unknown_relation_in_a_query_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "reach.dl", "paht(X, Y)"]) == 2
    assert "did you mean 'path'?" in capsys.readouterr().err


def test_a_fault_of_our_own_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise ZeroDivisionError(arguments.__class__.__name__)

    monkeypatch.setattr("tidelog.cli.check.run", fail)
    assert main(["check", "reach.dl"]) == 70
    assert "--debug" in capsys.readouterr().err


def test_ctrl_c_ends_with_130(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidelog.cli.check.run", interrupt)
    assert main(["check", "reach.dl"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    program = tmp_path / "many.dl"
    program.write_text(".decl n(x: number)\nn(x) :- x = range(0, 100000).\n")
    command = [sys.executable, "-m", "tidelog", "query", str(program), "n(X)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tidelog {tidelog.__version__}\n"
    assert main(["run", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "--limit-memory" in printed
    assert "exit codes" in printed
    assert main([]) == 2


def test_no_option_is_missing_from_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    for command in ("run", "check", "plan", "query", "fmt"):
        main([command, "--help"])
        words = capsys.readouterr().out.replace(",", " ").replace("[", " ").replace("]", " ").split()
        options = {word for word in words if word.startswith("--") and word != "--help"}
        assert {option for option in options if option not in page} == set()


def test_the_plan_says_which_rules_have_no_code_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "counted.dl"
    program.write_text(
        ".decl p(x: number)\n.decl n(x: number)\n.decl q(x: number)\n"
        "n(c) :- c = count : { p(_) }.\nq(x) :- p(x), n(x).\np(1).\n",
        encoding="utf-8",
    )
    assert main(["plan", str(program)]) == 0
    ending = capsys.readouterr().out.split("as batches in every tier\n")[1]
    assert ending.startswith("  4: n(c)")
    assert "q(x)" not in ending


def test_compile_shows_rules_and_no_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "facts.dl"
    program.write_text(".decl a(x: number)\na(1).\n.decl b(x: number)\nb(x + 1) :- a(x).\n")
    assert main(["compile", str(program)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("def push(")
    assert "a(1)" not in printed
