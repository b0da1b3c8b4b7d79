"""A state that cannot be used says why, where, and what to do."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from state_model import opened, table_of

from tidelog.errors import StateError, UsageError
from tidelog.pipeline.state import Changed, Commit, Replaced, open_state
from tidelog.pipeline.state.manifest import _checksum

ONE_ROW = Commit({"edge": Replaced(table_of(frozenset({(1, "a")})))}, "program")


class NoDelta:
    """As much of a Spark session as opening a state asks for."""

    class conf:  # noqa: N801
        @staticmethod
        def get(_name: str, default: str) -> str:
            return default


def manifest_of(folder: Path) -> Path:
    return folder / "versions" / "000000000001.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    opened(tmp_path / "state").commit(ONE_ROW, None)
    return tmp_path / "state"


def test_reading_before_the_first_commit(tmp_path: Path) -> None:
    state = open_state(str(tmp_path / "missing"), NoDelta(), format="auto")  # type: ignore[arg-type]
    assert list(state.versions()) == []
    with pytest.raises(StateError, match=r"there is no state at file:.*missing yet.*run the pipeline first"):
        state.read_arrow("edge")
    assert not (tmp_path / "missing").exists()


def test_an_unknown_table_names_the_known_ones(folder: Path) -> None:
    with pytest.raises(UsageError, match="version 1 has no table 'egde'; its tables: edge"):
        opened(folder).read_arrow("egde")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"tidelog_state": "x"}'])
def test_a_manifest_that_is_none(folder: Path, content: bytes) -> None:
    manifest_of(folder).write_bytes(content)
    with pytest.raises(StateError, match=r"000000000001.json is damaged.*restore the file from a backup"):
        opened(folder).read_arrow("edge")


def test_a_manifest_of_which_a_letter_was_changed(folder: Path) -> None:
    text = manifest_of(folder).read_text()
    manifest_of(folder).write_text(text.replace('"edge"', '"egde"'))
    with pytest.raises(StateError, match="its checksum does not fit"):
        opened(folder).versions()


def test_a_manifest_without_a_field(folder: Path) -> None:
    record = json.loads(manifest_of(folder).read_text())
    del record["checksum"], record["tables"]
    manifest_of(folder).write_text(json.dumps({"checksum": _checksum(record), **record}))
    with pytest.raises(StateError, match="a field is missing"):
        opened(folder).versions()


def test_a_state_of_a_newer_tidelog(folder: Path) -> None:
    record = json.loads(manifest_of(folder).read_text())
    manifest_of(folder).write_text(json.dumps({**record, "tidelog_state": 2}))
    with pytest.raises(StateError, match=r"was written by a newer Tidelog \(format 2"):
        opened(folder).versions()


def test_a_part_that_is_missing(folder: Path) -> None:
    next((folder / "parts").rglob("*.parquet")).unlink()
    with pytest.raises(StateError, match="lacks a file that its versions name"):
        opened(folder).read_arrow("edge")


def test_a_part_that_is_damaged(folder: Path) -> None:
    next((folder / "parts").rglob("*.parquet")).write_bytes(b"PAR1 and no more")
    with pytest.raises(StateError, match="is damaged"):
        opened(folder).read_arrow("edge")


def test_a_folder_with_other_things_in_it(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(StateError, match=r"is not empty and has no Tidelog state in it \(it has holiday\.jpg"):
        open_state(str(tmp_path), NoDelta())  # type: ignore[arg-type]


def test_a_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(StateError, match="cannot be read or written"):
        open_state(str(tmp_path / "state"), NoDelta())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "told"), [(errno.EACCES, "may not be written"), (errno.EROFS, "is read-only"), (errno.ENOSPC, "No space")]
)
def test_a_place_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, told: str) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(StateError, match=told):
        opened(folder).commit(ONE_ROW, 1)
    monkeypatch.undo()
    assert len(opened(folder).versions()) == 1


def test_a_scheme_that_nothing_knows() -> None:
    with pytest.raises(UsageError, match=r"a state cannot be kept at ftp://x/y.*use a local path, or a URI"):
        open_state("ftp://x/y", NoDelta())  # type: ignore[arg-type]


def test_another_format_than_the_state_has(folder: Path) -> None:
    with pytest.raises(UsageError, match="is kept as parquet, not as delta"):
        open_state(str(folder), NoDelta(), format="delta")  # type: ignore[arg-type]


def test_delta_in_a_session_without_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"this Spark session does not have.*spark\.jars\.packages"):
        open_state(str(tmp_path), NoDelta(), format="delta")  # type: ignore[arg-type]


def test_columns_of_a_type_that_no_relation_has(tmp_path: Path) -> None:
    rows = pa.table({"day": pa.array([1], pa.int32())})
    with pytest.raises(UsageError, match="column 'day' of table 'edge' is of type int32"):
        opened(tmp_path).commit(Commit({"edge": Replaced(rows)}, "program"), None)


def test_a_change_with_other_columns(folder: Path) -> None:
    rows = pa.table({"x": pa.array([1], pa.int64())})
    with pytest.raises(UsageError, match=r"has the columns \(x: number, y: symbol\), the change has \(x: number\)"):
        opened(folder).commit(Commit({"edge": Changed(added=rows)}, "program"), 1)
    assert len(opened(folder).versions()) == 1
