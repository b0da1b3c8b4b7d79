"""The archive of classes: written by one Java under another name, read by the next, given up when it is bad."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidelog.backends.spark import session
from tidelog.backends.spark.class_archive import HEADER, QUIET, archive_name, give_up, writing_options
from tidelog.backends.spark.java import Java, shimmed
from tidelog.backends.spark.session import SessionSettings
from tidelog.errors import UsageError

LONG_AGO = 1_000_000_000


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_the_first_java_writes_it_under_another_name(tmp_path: Path) -> None:
    options = writing_options(tmp_path, "-Dsome=thing")
    assert f'"-XX:ArchiveClassesAtExit={tmp_path / archive_name()}.' in options
    assert QUIET in options


def test_what_is_whole_gets_its_name_and_the_rest_goes(tmp_path: Path) -> None:
    for end in "ab":
        (tmp_path / f"{archive_name()}.{end}").write_bytes(HEADER + b"classes")
    assert writing_options(tmp_path, "") == ""
    assert names(tmp_path) == [archive_name()]


def test_what_is_still_written_is_left_alone_until_it_is_old(tmp_path: Path) -> None:
    unfinished = tmp_path / f"{archive_name()}.a"
    unfinished.write_bytes(bytes(100))
    assert writing_options(tmp_path, "")
    assert unfinished.exists()
    os.utime(unfinished, (LONG_AGO, LONG_AGO))
    assert writing_options(tmp_path, "")
    assert not unfinished.exists()


@pytest.mark.parametrize("asked", ["-Xshare:off", "-XX:SharedArchiveFile=mine.jsa", "-Da=b -XX:ArchiveClassesAtExit=x"])
def test_who_has_options_of_that_kind_keeps_them(asked: str, tmp_path: Path) -> None:
    assert writing_options(tmp_path, asked) == ""


def test_java_reads_it_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path))
    says = tmp_path / "says"
    says.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    says.chmod(0o755)
    home = shimmed(Java(says, 17))
    assert os.popen(f"{home}/bin/java one two").read().split() == ["one", "two"]
    (home / archive_name()).touch()
    reading = [*QUIET.split(), f"-XX:SharedArchiveFile={home / archive_name()}"]
    assert os.popen(f"{home}/bin/java one two").read().split() == [*reading, "one", "two"]


def test_spark_is_started_again_without_an_archive_that_java_dies_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[bool] = []

    def start(_: SessionSettings, home: Path) -> None:
        starts.append((home / archive_name()).exists())
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")

    monkeypatch.setattr(session, "java_home", lambda: tmp_path)
    monkeypatch.setattr(session, "_started", start)
    (tmp_path / archive_name()).touch()
    with pytest.raises(UsageError, match="does not start"):
        session._launch(SessionSettings())
    assert starts == [True, False]
    assert not give_up(tmp_path)
