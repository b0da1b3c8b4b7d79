"""Every case under `cases/` gives its expected rows: by the oracle, by the engine, and through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from case_files import Case, all_cases, read_rows
from oracle import evaluate
from tidelog.cli.main import main
from tidelog.errors import EvaluationError

CASES = all_cases()
WITH_FILES = [case for case in CASES if case.facts_folder.exists()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_oracle_gives_what_is_expected(case: Case) -> None:
    checked = case.checked()
    if case.expected_error is None:
        rows = evaluate(checked, case.facts(checked))
        expected = case.expected(checked)
        assert {name: sorted(rows[name]) for name in expected} == {name: sorted(expected[name]) for name in expected}
    else:
        with pytest.raises(EvaluationError) as caught:
            evaluate(checked, case.facts(checked))
        assert is_expected(caught.value, case.expected_error)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_engine_gives_what_is_expected(case: Case) -> None:
    checked = case.checked()
    expected = case.expected(checked)
    with tidelog.open(checked) as db:
        for relation, rows in case.facts(checked).items():
            db.insert(relation, rows)
        if case.expected_error is None:
            found = {name: sorted(db[name].rows()) for name in expected}
            assert found == {name: sorted(expected[name]) for name in expected}
        else:
            with pytest.raises(EvaluationError) as caught:
                db.materialize()
            assert is_expected(caught.value, case.expected_error)


@pytest.mark.parametrize("case", WITH_FILES, ids=str)
def test_the_command_line_writes_what_is_expected(case: Case, tmp_path: Path) -> None:
    arguments = ["run", str(case.program_path), "-F", str(case.facts_folder), "-D", str(tmp_path)]
    status = main(arguments)
    if case.expected_error is None:
        checked = case.checked()
        assert status == 0
        for relation, rows in case.expected(checked).items():
            written = read_rows(tmp_path / f"{relation}.csv", checked.schemas[relation], "\t")
            assert sorted(written) == sorted(rows)
    else:
        assert status == EvaluationError.exit_code
        assert list(tmp_path.iterdir()) == []


def is_expected(error: EvaluationError, expected: str) -> bool:
    """Whether the error has the place and the words that are `expected`."""
    place, _, words = expected.partition(" ")
    return f"{error.span.line}:{error.span.column}" == place and words in error.message


def test_expected_files_are_sorted() -> None:
    for case in CASES:
        for path in (case.folder / "expected").rglob("*.csv"):
            lines = path.read_text(encoding="utf-8").splitlines()
            assert lines == sorted(set(lines)), path
