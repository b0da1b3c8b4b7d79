"""Another process is handed its jobs without anybody waiting for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.kernels.elsewhere import start_compiler

READER = """
import json, sys, time
from pathlib import Path

folder = Path(sys.argv[0]).parent
deadline = time.monotonic() + 20
while not (folder / "go_on").exists():
    if time.monotonic() > deadline:
        sys.exit("whoever started this waits until it reads")
    time.sleep(0.01)
said = sys.stdin.read()
(folder / "was_read").write_text(str(len(json.loads(said))) if said else "nothing")
"""


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a module `reader` that goes on once there is a file `go_on`, and says what it has read."""
    (tmp_path / "reader.py").write_text(READER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def what_is_read(reader: Path, jobs: object) -> str:
    process = start_compiler("reader", jobs)
    (reader / "go_on").touch()
    assert process.wait(60) == 0
    return (reader / "was_read").read_text()


def test_who_starts_a_process_need_not_wait_until_it_reads(
    reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path / "kept"))
    more_than_a_pipe_takes = ["x" * 1_000] * 1_000
    assert what_is_read(reader, more_than_a_pipe_takes) == "1000"
    assert not list(tmp_path.rglob("kept/*/*")), "what was written down is gone"


def test_there_is_nothing_to_read_where_nothing_can_be_kept(
    reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in_the_way").touch()
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path / "in_the_way"))
    assert what_is_read(reader, [1, 2]) == "nothing"
