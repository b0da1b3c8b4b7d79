"""Production programs from the command line: run, traced, asked, and their network shown."""

from pathlib import Path

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


def test_apply_says_that_it_is_not_for_production_rules(lamps: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.changes").write_text("+wanted(5).\n", encoding="utf-8")
    assert main(["apply", lamps, "more.changes"]) == 2
    assert "production rules" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("strategy", "line"),
    [
        (
            "cosma",
            '  retains T1 = A(x, "alpha", y), B(y, "beta", z), !F(x, z), E(z, v, "gamma"), with a flag for !C(x, z)',
        ),
        ("rete", "  retains C(x, y), D(y, z, u)"),
        ("treat", "  retains the instances: x, y, z, u"),
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
