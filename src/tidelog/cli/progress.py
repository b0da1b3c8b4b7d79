"""One line on the terminal that says how far a long evaluation is, and removes itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import TextIO

from tidelog.maintain.protocol import SILENT, Observer
from tidelog.plan.nodes import RulePlan, StratumPlan

QUIET_SECONDS = 0.5
BETWEEN_DRAWINGS = 0.1
BETWEEN_TICKS = 0.5
WIDTH = 79
ERASE = "\r\x1b[K"


@contextmanager
def show_progress() -> Iterator[Observer]:
    """An observer that draws on stderr when that is a terminal; the line is gone afterwards."""
    if not sys.stderr.isatty():
        yield SILENT
        return
    progress = Progress(sys.stderr, monotonic)
    with ticking(progress.tick):
        try:
            yield progress
        finally:
            progress.finish()


@contextmanager
def ticking(tick: Callable[[], None]) -> Iterator[None]:
    """Calls `tick` from another thread now and then, so that time passes on the screen during a long round."""
    done = Event()

    def keep_time() -> None:
        while not done.wait(BETWEEN_TICKS):
            tick()

    thread = Thread(target=keep_time, name="tidelog-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class Progress:
    """Draws stratum, round, the rows that the last round added and the rate, not more than ten times a second."""

    def __init__(self, terminal: TextIO, clock: Callable[[], float]) -> None:
        self._terminal = terminal
        self._clock = clock
        self._started = clock()
        self._next = self._started + QUIET_SECONDS
        self._drawing = Lock()
        self._drawn = False
        self._text = "reading facts"
        self._names = ""
        self._rows = 0

    def stratum_started(self, number: int, stratum: StratumPlan) -> None:
        self._names = ", ".join(stratum.relations)
        self._show(f"stratum {number} ({self._names})")

    def rule_ordered(self, rule: RulePlan) -> None:
        pass

    def rows_derived(self, number: int, round_number: int, rule: RulePlan, derived: int) -> None:
        place = f"line {rule.span.line} of {rule.span.file}" if rule.span.line else rule.head
        self._show(f"stratum {number}, round {round_number}: {derived:,} rows derived, now by {place} ({self._names})")

    def round_finished(self, number: int, round_number: int, delta: Mapping[str, int], derived: int) -> None:  # noqa: ARG002
        new = sum(delta.values())
        self._rows += new
        rate = self._rows / max(self._clock() - self._started, 1e-6)
        self._show(f"stratum {number}, round {round_number}: +{new:,} rows, {rate:,.0f} rows/s ({self._names})")

    def stratum_finished(self, number: int, rounds: int, rows: int) -> None:
        pass

    def tick(self) -> None:
        """Draws what was drawn last with the time of now."""
        with self._drawing:
            self._draw()

    def finish(self) -> None:
        """Leaves the terminal as it was; nothing is drawn any more."""
        with self._drawing:
            self._next = float("inf")
            if self._drawn:
                self._terminal.write(ERASE)
                self._terminal.flush()
                self._drawn = False

    def _show(self, text: str) -> None:
        with self._drawing:
            self._text = text
            self._draw()

    def _draw(self) -> None:
        now = self._clock()
        if now < self._next:
            return
        line = f"{now - self._started:.1f} s  {self._text}"
        self._terminal.write(ERASE + (line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"))
        self._terminal.flush()
        self._drawn = True
        self._next = now + BETWEEN_DRAWINGS
