"""Each folder has a program and the plan that `tidelog plan` shows for it; TIDELOG_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidelog.analysis.check import check
from tidelog.language.parser import parse
from tidelog.plan.lower import lower
from tidelog.plan.optimize import optimize
from tidelog.plan.printer import print_plan

FOLDERS = sorted(program.parent for program in Path(__file__).parent.glob("*/program.dl"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_plan_of_a_program_is_as_expected(folder: Path) -> None:
    text = (folder / "program.dl").read_text(encoding="utf-8")
    shown = print_plan(optimize(lower(check(parse(text, "program.dl"))))) + "\n"
    expected = folder / "expected.txt"
    if os.environ.get("TIDELOG_UPDATE_GOLDEN") == "1":
        expected.write_text(shown, encoding="utf-8")
    assert shown == expected.read_text(encoding="utf-8")
