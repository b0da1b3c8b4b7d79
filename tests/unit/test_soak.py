"""What `make soak` saves is a case with the same program, facts and changes, and its expected rows are right."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

import soak
from case_files import Case
from change_strategies import RISKY_PROGRAMS, Story, stories
from replay import expected_history, history_of


@settings(max_examples=20)
@given(story=stories(RISKY_PROGRAMS))
def test_a_saved_story_reads_back_as_it_was_told(story: Story) -> None:
    told = expected_history(story)
    if told is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        case = Case(soak.save(story, Path(folder), ValueError("found")))
        checked = case.checked()
        read = history_of(checked, case.facts(checked), case.changes(checked).values())
        assert read is not None
        assert [chapter.rows for chapter in read.chapters] == [chapter.rows for chapter in told.chapters]
        for number, chapter in enumerate(told.chapters):
            after = f"{number:02}" if number else "."
            assert (case.expected_error_of(after) is not None) is chapter.fails
            if not chapter.fails:
                expected = case.expected(checked, after)
                assert {name: set(rows) for name, rows in expected.items()} == chapter.rows


def test_a_soak_saves_what_fails_and_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the engine differs")

    monkeypatch.setattr(soak, "replay", fail)
    assert soak.main(["--minutes", "0", "--seed", "1", "--failures", str(tmp_path)]) == 1
    cases = list(tmp_path.iterdir())
    assert cases
    assert all("the engine differs" in (case / "found.txt").read_text() for case in cases)
    said = capfd.readouterr().out
    assert all(str(case) in said for case in cases)


def test_a_story_that_ends_the_process_is_saved_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "replay", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    assert soak.main(["--minutes", "0", "--seed", "1", "--failures", str(tmp_path)]) == 1
    (case,) = tmp_path.iterdir()
    assert (case / "program.dl").exists()
    assert (case / "expected").exists()
