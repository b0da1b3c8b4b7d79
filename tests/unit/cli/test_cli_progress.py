"""The progress line: late, rare, and gone in the end."""

from __future__ import annotations

import io
from threading import Event

import pytest

from tidelog.cli.progress import ERASE, Progress, show_progress, ticking
from tidelog.maintain.protocol import SILENT
from tidelog.plan.nodes import StratumPlan

STRATUM = StratumPlan(("path",), (), ())


class Clock:
    """A clock that stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_quick_work_shows_nothing() -> None:
    terminal = io.StringIO()
    progress = Progress(terminal, Clock())
    progress.stratum_started(1, STRATUM)
    progress.round_finished(1, 0, {"path": 3}, 5)
    progress.finish()
    assert terminal.getvalue() == ""


def test_long_work_shows_stratum_round_delta_and_rate_and_erases_them() -> None:
    terminal, clock = io.StringIO(), Clock()
    progress = Progress(terminal, clock)
    progress.stratum_started(1, STRATUM)
    clock.now = 2.0
    progress.round_finished(1, 7, {"path": 3000}, 5000)
    assert terminal.getvalue() == f"{ERASE}2.0 s  stratum 1, round 7: +3,000 rows, 1,500 rows/s (path)"
    progress.finish()
    assert terminal.getvalue().endswith(ERASE)


def test_rounds_that_follow_at_once_are_not_all_drawn() -> None:
    terminal, clock = io.StringIO(), Clock()
    progress = Progress(terminal, clock)
    clock.now = 1.0
    for number in range(100):
        progress.round_finished(1, number, {"path": 1}, 1)
    assert terminal.getvalue().count(ERASE) == 1


def test_time_passes_during_a_long_round_and_stops_in_the_end() -> None:
    terminal, clock = io.StringIO(), Clock()
    progress = Progress(terminal, clock)
    progress.stratum_started(1, STRATUM)
    clock.now = 3.0
    progress.tick()
    clock.now = 4.0
    progress.tick()
    assert terminal.getvalue() == f"{ERASE}3.0 s  stratum 1 (path){ERASE}4.0 s  stratum 1 (path)"
    progress.finish()
    clock.now = 5.0
    progress.tick()
    assert terminal.getvalue().endswith(ERASE)


def test_ticks_come_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.cli.progress.BETWEEN_TICKS", 0.01)
    ticked = Event()
    with ticking(ticked.set):
        assert ticked.wait(timeout=10)


def test_what_is_no_terminal_gets_nothing() -> None:
    with show_progress() as observer:
        assert observer is SILENT
