"""Every case with changes has its expected rows after each of them: by the oracle and by every variant."""

from __future__ import annotations

import pytest

from case_files import Case, all_cases
from change_strategies import VARIANTS, Variant
from replay import Chapter, History, history_of, replay, rows_of
from tidelog.errors import EvaluationError

CASES = [case for case in all_cases() if (case.folder / "changes").exists()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_oracle_gives_what_is_expected_after_each_change(case: Case) -> None:
    for name, chapter in chapters(case).items():
        expected = case.expected(case.checked(), after=name)
        assert chapter.fails is (case.expected_error_of(name) is not None)
        assert {each: sorted(chapter.rows[each]) for each in expected} == {
            each: sorted(expected[each]) for each in expected
        }


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_engine_gives_the_rows_and_deltas_of_the_oracle(case: Case, variant: Variant) -> None:
    history = told(case)
    with variant.open(history.checked) as session:
        replay(history, session)
        for _ in range(sum(not chapter.fails for chapter in history.chapters)):
            session.undo()
        assert rows_of(session) == history.start


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_change_that_cannot_be_made_says_why(case: Case) -> None:
    history = told(case)
    with VARIANTS[0].open(history.checked) as session:
        session.apply(insert=history.chapters[0].step.insert)
        for name, chapter in chapters(case).items():
            if (expected := case.expected_error_of(name)) is None:
                session.apply(insert=chapter.step.insert, retract=chapter.step.retract)
            else:
                with pytest.raises(EvaluationError) as caught:
                    session.apply(insert=chapter.step.insert, retract=chapter.step.retract)
                place, _, words = expected.partition(" ")
                assert place in ("", f"{caught.value.span.line}:{caught.value.span.column}")
                assert words in caught.value.message


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_says_what_to_expect_after_each_of_its_changes(case: Case) -> None:
    changes = {path.stem for path in (case.folder / "changes").glob("*.changes")}
    expected = {path.name for path in (case.folder / "expected").iterdir() if path.is_dir()}
    assert changes == expected


def told(case: Case) -> History:
    """What the oracle says of the case."""
    checked = case.checked()
    history = history_of(checked, case.facts(checked), case.changes(checked).values())
    assert history is not None
    return history


def chapters(case: Case) -> dict[str, Chapter]:
    """What the oracle says of each change, by the name of its file."""
    return dict(zip(case.changes(case.checked()), told(case).chapters[1:], strict=True))
