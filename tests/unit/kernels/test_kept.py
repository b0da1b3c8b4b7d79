"""Compiled code is kept where it can be written, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidelog.kernels import jit, kept
from tidelog.kernels.kept import cache_folder, can_be_kept, users_cache


def test_the_folder_that_was_chosen_has_a_folder_for_each_way_to_compile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path))
    plain = cache_folder()
    assert plain.parent == tmp_path
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1" if os.environ.get("NUMBA_BOUNDSCHECK") != "1" else "0")
    assert cache_folder() != plain, "code with and without bounds checks is kept apart"


def test_it_is_beside_the_kernels_unless_these_belong_to_somebody_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TIDELOG_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().parent == Path(jit.__file__).parent / "__pycache__"
    monkeypatch.setattr(kept.os, "access", lambda *_: False)
    assert cache_folder().parent == tmp_path / "tidelog"


def test_a_user_whom_nobody_knows_has_a_cache_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("TIDELOG_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert users_cache().is_relative_to(tmp_path)
    monkeypatch.setattr(kept.Path, "home", unknown)
    assert users_cache().name == "tidelog"


def test_nothing_can_be_kept_where_a_file_is_in_the_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path))
    assert can_be_kept()
    assert cache_folder().is_dir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path / "file"))
    assert not can_be_kept()
