"""A crash between any two file operations leaves the last committed version."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from state_model import Clean, Model, Script, Step, check_equal, compact_early, opened, random_script, run_action

from tidelog.pipeline.state import files

FILE_OPERATIONS = [
    (os, "fsync"),
    (os, "link"),
    (os, "listdir"),
    (Path, "mkdir"),
    (Path, "unlink"),
    (Path, "open"),
    (Path, "read_bytes"),
    (shutil, "rmtree"),
    (files, "_write_parquet"),
]


class Crash(BaseException):
    """The process is gone: nothing it would do afterwards happens."""


class Reaper:
    """Lets the file layer go so many steps and then crashes it, for good."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Crash

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for owner, name in FILE_OPERATIONS:
            monkeypatch.setattr(owner, name, self._mortal(name, getattr(owner, name)))

    def _mortal(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            self.step()
            if name in TORN:
                TORN[name](self, *arguments)
            result = operation(*arguments, **options)
            self.step()
            return result

        return run


def half_a_part(reaper: Reaper, _rows: object, path: str, _system: object) -> None:
    with open(path, "wb") as file:
        file.write(b"PAR1 half a file")
    reaper.step()


def half_a_folder(reaper: Reaper, folder: Path) -> None:
    for name in sorted(os.scandir(folder), key=lambda entry: entry.name)[:1]:
        os.unlink(name.path)
    reaper.step()


TORN: dict[str, Callable[..., None]] = {"_write_parquet": half_a_part, "rmtree": half_a_folder}


def test_a_crash_at_any_step_of_a_script_leaves_what_was_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    compact_early(monkeypatch)
    script = random_script(seed=13, length=6)
    assert any(isinstance(action, Clean) for action in script)
    steps = steps_of(script)
    assert steps > 100
    for crash_at in range(steps):
        run_with_crash(script, crash_at)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 10), st.floats(0, 1), st.floats(0, 1))
def test_states_survive_two_crashes_in_random_scripts(seed: int, length: int, first: float, second: float) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        compact_early(monkeypatch)
        script = random_script(seed, length)
        steps = steps_of(script)
        run_with_crash(script, int(first * steps), int(second * steps))


def steps_of(script: Script) -> int:
    """How many steps the file layer takes for a script."""
    reaper = Reaper(10**9)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        reaper.watch(monkeypatch)
        model, state = Model(), opened(Path(folder) / "state")
        for action in script:
            run_action(state, model, action)
            model.take(action)
        monkeypatch.undo()
        check_equal(state, model)
    return 10**9 - reaper.left


def run_with_crash(script: Script, *crashes_at: int) -> None:
    """Runs a script, crashes, opens the state anew, compares, goes on."""
    with tempfile.TemporaryDirectory() as folder:
        place, model, remaining = Path(folder) / "state", Model(), list(script)
        for crash_at in crashes_at:
            remaining = go_on(place, model, remaining, Reaper(crash_at))
            check_equal(opened(place), model)
        go_on(place, model, remaining, Reaper(10**9))
        check_equal(opened(place), model)
        check_nothing_left_over(place, model)


def go_on(place: Path, model: Model, script: Script, reaper: Reaper) -> list[Step | Clean]:
    """The actions that are left when the crash comes."""
    for done, action in enumerate(script):
        with pytest.MonkeyPatch.context() as monkeypatch:
            try:
                reaper.watch(monkeypatch)
                run_action(opened(place), model, action)
            except Crash:
                monkeypatch.undo()
                return script[done:] if not happened(place, model, action) else script[done + 1 :]  # type: ignore[return-value]
        model.take(action)
    return []


def happened(place: Path, model: Model, action: Step | Clean) -> bool:
    """Whether an action that crashed took place; the model follows it as far as it went."""
    numbers = [info.number for info in opened(place).versions()]
    match action:
        case Step():
            committed = numbers[-1:] == [model.last + 1]
            if committed:
                model.take(action)
            return committed
        case Clean(keep):
            assert len(numbers) >= min(keep, len(model.versions))
            model.take(Clean(len(numbers)))
            return False


def check_nothing_left_over(place: Path, model: Model) -> None:
    """After one more commit and a cleaning, there is nothing but what the versions need."""
    state = opened(place)
    action = Step({"edge": frozenset({(1, "a")}), "path": frozenset()}, frozenset({"edge", "path"}))
    run_action(state, model, action)
    model.take(action)
    run_action(state, model, Clean(1))
    model.take(Clean(1))
    check_equal(opened(place), model)
    assert len(list((place / "versions").iterdir())) == 1
    assert [part.name for part in (place / "parts").rglob("*.parquet")] == ["001-edge.base.parquet"]
