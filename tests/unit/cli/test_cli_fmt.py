"""`tidelog fmt`: on stdout, in place, or only compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli.main import main

UNTIDY = ".decl p(x:number)\np(1).p(2).\n"


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    path = tmp_path / "untidy.dl"
    path.write_text(UNTIDY)
    return path


def test_fmt_prints_and_leaves_the_file(untidy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", str(untidy)]) == 0
    assert "p(x: number)" in capsys.readouterr().out
    assert untidy.read_text() == UNTIDY


def test_fmt_write_makes_check_content(untidy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", str(untidy)]) == 1
    assert "untidy.dl" in capsys.readouterr().out
    assert main(["fmt", "--write", str(untidy)]) == 0
    assert untidy.read_text() != UNTIDY
    assert main(["fmt", "--check", str(untidy)]) == 0
    assert [path.name for path in untidy.parent.iterdir()] == ["untidy.dl"]


def test_fmt_changes_nothing_when_one_file_is_wrong(untidy: Path) -> None:
    wrong = untidy.with_name("wrong.dl")
    wrong.write_text("p(1")
    assert main(["fmt", "--write", str(untidy), str(wrong)]) == 1
    assert untidy.read_text() == UNTIDY


def test_fmt_of_a_missing_file_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", str(tmp_path / "absent.dl")]) == 3
    assert "absent.dl" in capsys.readouterr().err
