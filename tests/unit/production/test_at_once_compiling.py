"""The kernel that runs production rules is used once it is on disk; until then the network runs, and nobody waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import tidelog
from tidelog.kernels import elsewhere, jit
from tidelog.kernels.jit import Kernel
from tidelog.kernels.kept import cache_folder
from tidelog.production import cycle
from tidelog.production.at_once import compiling
from unit.kernels.forms import form

SWAP = """
.production set
.decl left(n: number)
.decl right(n: number)
.decl far(n: number)
-left(n), +right(n) :- left(n), n < 3. [name swap]
-right(n), +far(n) :- right(n), n < 2. [name further]
"""


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that would be run by other processes; nothing is on disk."""
    started: list[str] = []
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(elsewhere, "start_compiler", lambda module: [started.append(module)])
    monkeypatch.setattr(cycle, "compiler", compiling.Compiler())
    monkeypatch.setattr(jit, "is_compiled", lambda: True)
    return started


def far() -> list[tuple[int, ...]]:
    with tidelog.open(SWAP) as db:
        db.insert("left", [(n,) for n in range(5)])
        db.insert("right", [(9,)])
        db.run()
        assert len(db.history("left", (0,))) == 2
        return sorted(db["far"])


def test_the_network_runs_while_another_process_compiles(started: list[str]) -> None:
    with patch.object(cycle, "run_at_once", side_effect=AssertionError("it would be waited for")):
        assert far() == far() == [(0,), (1,)]
    assert started == ["tidelog.production.at_once.compiling"], "it is compiled once"


def test_what_another_process_has_compiled_is_used(started: list[str]) -> None:
    cache_folder().mkdir(parents=True)
    with patch.object(cycle, "Cycle", side_effect=AssertionError("the network is not needed")):
        elsewhere.note_compiled("firing", compiling._forms())
        assert far() == [(0,), (1,)]
    assert not started


def test_nothing_is_compiled_that_cannot_be_kept(
    started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path / "file"))
    assert far() == [(0,), (1,)]
    assert not started


def test_a_note_of_another_machine_is_none(started: list[str]) -> None:
    cache_folder().mkdir(parents=True)
    with patch.object(jit, "machine", lambda: ("0.1", "abacus")):
        elsewhere.note_compiled("firing", compiling._forms())
    assert not cycle.compiler.is_ready()
    assert len(started) == 1


def test_kernels_are_compiled_for_what_a_run_gives_them(started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, set[str]] = {}
    call = Kernel.__call__

    def noting(kernel: Kernel[..., Any], *arguments: Any) -> Any:
        if kernel in compiling.KERNELS:
            given.setdefault(kernel.__name__, set()).add(str([form(argument) for argument in arguments]))
        return call(kernel, *arguments)

    monkeypatch.setattr(Kernel, "__call__", noting)
    monkeypatch.setattr(compiling.Compiler, "is_ready", lambda _: True)
    far()
    for kernel, forms in zip(compiling.KERNELS, compiling._forms(), strict=True):
        assert given[kernel.__name__] == {str(forms)}, kernel.__name__
    assert not started


@pytest.mark.skipif(jit._tier.disabled, reason="nothing is compiled")
def test_the_other_process_leaves_what_it_made_on_disk(started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "KERNELS", (compiling.all_changes,))
    monkeypatch.setattr(elsewhere, "let_others_go_first", lambda: None)
    assert not cycle.compiler.is_ready()
    compiling.all_changes._dispatcher, before = None, compiling.all_changes._dispatcher
    try:
        compiling.main()
    finally:
        compiling.all_changes._dispatcher = before
    assert cycle.compiler.is_ready()
    assert list(cache_folder().rglob("*all_changes*.nbi"))
    assert started == ["tidelog.production.at_once.compiling"]
