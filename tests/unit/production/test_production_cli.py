"""Production programs from the command line: run, traced, asked, and their network shown."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tidelog.cli.main import main
from unit.production.paper_programs import FOUR_RULES

LAMPS = """
.decl wanted(x: number)
.decl lit(x: number)
.output lit
wanted(1). wanted(2). lit(2). lit(3).
+lit(x) :- wanted(x).
-lit(x) :- lit(x), !wanted(x).
"""


@pytest.fixture
def lamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("lamps.production").write_text(LAMPS, encoding="utf-8")
    return "lamps.production"


def test_run_writes_what_the_rules_leave_and_trace_tells_each_firing(
    lamps: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", lamps, "--trace"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "cycle 1: rule 5 (lamps.production:6)",
        "  for x = 1",
        "  for x = 2",
        "  +lit(1)",
        "cycle 2: rule 6 (lamps.production:7)",
        "  for x = 3",
        "  -lit(3)",
    ]
    assert sorted(Path("lit.csv").read_text(encoding="utf-8").split()) == ["1", "2"]


def test_a_question_is_about_what_the_rules_leave(lamps: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", lamps, "lit(3)"]) == 0
    assert main(["query", lamps, "lit(X)"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["1", "2"]


def test_a_change_leads_to_what_running_again_leads_to(lamps: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("first.changes").write_text("+wanted(3). -wanted(1). -lit(2).\n", encoding="utf-8")
    Path("second.changes").write_text("-wanted(2).\n", encoding="utf-8")
    assert main(["apply", lamps, "first.changes", "second.changes"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "// first.changes: 1 inserted (0 already there), 2 retracted (0 not there)",
        "-wanted(1).",
        "+wanted(3).",
        "-lit(1).",
        "+lit(3).",
        "// second.changes: 0 inserted (0 already there), 1 retracted (0 not there)",
        "-wanted(2).",
        "-lit(2).",
    ]
    assert Path("lit.csv").read_text(encoding="utf-8").split() == ["3"]


@pytest.mark.parametrize(
    ("fires", "lines"),
    [
        ("set", ["  production rules (set): alone: one rule fires in a cycle, so there is nothing to share"]),
        (
            "parallel",
            [
                "  production rules (parallel): asynchronous: partitions run ahead, late news revises what they did",
                "    6: +lit(x) :- wanted(x).  (shared by x)",
                "    7: -lit(x) :- lit(x), !wanted(x).  (shared by x)",
                "    lit: by x",
                "    wanted: by x",
            ],
        ),
    ],
)
def test_the_plan_says_how_rules_run_on_spark_and_why(
    lamps: str, fires: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(lamps).write_text(f".production {fires}{LAMPS}", encoding="utf-8")
    assert main(["plan", lamps, "--engine", "spark"]) == 0
    assert capsys.readouterr().out.splitlines()[-len(lines) :] == lines


@pytest.mark.parametrize(
    ("strategy", "line"),
    [
        (
            "cosma",
            '  retains T1 = A(x, "alpha", y), B(y, "beta", z), !F(x, z), E(z, v, "gamma"), with a flag for !C(x, z)',
        ),
        ("rete", "  retains C(x, y), D(y, z, u)"),
        ("treat", "  retains the instances: x, y, z, u"),
        (
            "atreat",
            '  may retain A(x, "alpha", y): retained if it leaves at most half of the rows when the run begins, '
            "else virtual",
        ),
    ],
)
def test_network_shows_what_a_strategy_retains(
    strategy: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "four.dl"
    program.write_text(FOUR_RULES, encoding="utf-8")
    assert main(["network", str(program), "--strategy", strategy]) == 0
    assert line in capsys.readouterr().out.splitlines()


def test_network_of_a_program_without_production_rules_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "plain.dl"
    program.write_text(".decl p(x: number)\np(1).\n", encoding="utf-8")
    assert main(["network", str(program)]) == 2
    assert "no production rules" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["svg", "dot"])
def test_network_draws_rules_with_influences_and_what_is_retained(suffix: str, tmp_path: Path) -> None:
    program, picture = tmp_path / "four.dl", tmp_path / f"four.{suffix}"
    program.write_text(FOUR_RULES, encoding="utf-8")
    assert main(["network", str(program), "-o", str(picture)]) == 0
    drawn = picture.read_text(encoding="utf-8")
    assert "T1(x, y, z, v)" in drawn
    assert "retains no join: it fires at most once" in drawn
    assert "-C adds to +C" in drawn
    if suffix == "svg":
        assert ElementTree.fromstring(drawn).tag.endswith("svg")


def test_rules_that_fire_in_parallel_are_not_said_to_fire_at_most_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "once.dl"
    text = ".decl p(x: number)\n.decl q(x: number)\n.input q\n+p(x) :- q(x).\n"
    for semantics, is_said in (("set", True), ("parallel", False)):
        program.write_text(f".production {semantics}\n{text}", encoding="utf-8")
        assert main(["network", str(program)]) == 0
        assert ("fires at most once" in capsys.readouterr().out) is is_said
