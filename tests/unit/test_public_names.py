"""`import tidelog` is quick and offers what it says."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tidelog

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", tidelog.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tidelog, name) is not None
    assert name in dir(tidelog)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'prase'"):
        tidelog.prase  # noqa: B018


def test_importing_loads_no_heavy_library() -> None:
    heavy = {"numba", "numpy", "pyarrow", "pandas", "polars", "sqlite3"}
    assert not heavy & loaded_after("import tidelog, tidelog.language.parser")


def test_a_session_does_not_load_frames_and_formats_it_was_not_asked_for() -> None:
    heavy = {"polars", "sqlite3", "pyarrow.parquet"}
    assert not heavy & loaded_after("import tidelog; tidelog.open('.decl p(x: number)').insert('p', [(1,)])")


def loaded_after(statement: str) -> set[str]:
    """The modules a fresh interpreter has loaded after `statement`."""
    code = f"{statement}; import sys; print(*sys.modules, sep='\\n')"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert tidelog.__version__ == project["version"]
