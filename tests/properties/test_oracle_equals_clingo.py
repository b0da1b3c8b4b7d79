"""The oracle gives the rows of clingo, a solver that shares nothing with us, where clingo can say the program."""

from __future__ import annotations

import pytest
from hypothesis import given

from case_files import Case, all_cases
from clingo_translation import Untranslatable, rows_by_clingo
from closure_strategies import closure_programs
from fragments import CLINGO
from oracle import evaluate
from strategies import Sample, programs
from tidelog.analysis.check import check
from tidelog.language.parser import parse


@given(programs(CLINGO))
def test_the_oracle_gives_the_rows_of_clingo(sample: Sample) -> None:
    checked = check(parse(sample.text))
    assert evaluate(checked, sample.facts) == rows_by_clingo(checked, sample.facts)


@given(closure_programs())
def test_the_oracle_gives_the_closures_of_clingo(sample: Sample) -> None:
    checked = check(parse(sample.text))
    assert evaluate(checked, sample.facts) == rows_by_clingo(checked, sample.facts)


@pytest.mark.parametrize("case", [case for case in all_cases() if case.expected_error is None], ids=str)
def test_clingo_gives_what_a_case_expects(case: Case) -> None:
    checked = case.checked()
    try:
        rows = rows_by_clingo(checked, case.facts(checked))
    except Untranslatable as reason:
        pytest.skip(f"clingo cannot say {reason}")
    assert {name: rows[name] for name in case.expected(checked)} == {
        name: set(expected) for name, expected in case.expected(checked).items()
    }
