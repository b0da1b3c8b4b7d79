"""Each folder here has a program and the report that its user must get: errors, or warnings where it has none.

TIDELOG_UPDATE_GOLDEN=1 writes the reports anew; read them before you commit them.
"""

import os
from pathlib import Path

import pytest

from tidelog.analysis.check import check
from tidelog.errors import ProgramError, render_all
from tidelog.language.parser import parse

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/program.dl"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_gets_the_expected_report(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)  # places in the report are relative to the folder of the case
    report = report_on((case / "program.dl").read_text(encoding="utf-8"))
    expected = case / "expected.txt"
    if os.environ.get("TIDELOG_UPDATE_GOLDEN"):
        expected.write_text(report, encoding="utf-8")
    assert report == expected.read_text(encoding="utf-8")


def report_on(text: str) -> str:
    """Every error of a program, or every warning of one without errors."""
    try:
        checked = check(parse(text, "program.dl"))
    except ProgramError as error:
        return render_all(error.diagnostics, error.texts) + "\n"
    return render_all(checked.warnings, checked.texts) + "\n"


def test_every_case_has_a_report() -> None:
    assert [case.name for case in CASES if not (case / "expected.txt").exists()] == []
