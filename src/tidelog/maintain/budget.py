"""Work that may be spent on one way before another is taken."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

Result = TypeVar("Result")

LEAST = 0.005
"""Seconds of work that are always worth a try."""


class OverBudget(Exception):
    """Nothing is left to spend."""


class Budget:
    """Seconds of work to spend, some at a time, by a clock of the work."""

    def __init__(self, seconds: float, effort: Callable[[], float]) -> None:
        self.seconds = max(LEAST, seconds)
        self._effort = effort

    def spend(self, work: Callable[[Callable[[], None]], Result]) -> Result:
        """What `work` gives, which is paid for. It gets a function that raises OverBudget once nothing is left."""
        if self.seconds <= 0:
            raise OverBudget
        began, started = monotonic(), self._effort()

        def check() -> None:
            # Asking for the work is a system call, and work takes no less time than it is.
            if monotonic() - began > self.seconds and self._effort() - started > self.seconds:
                raise OverBudget

        try:
            return work(check)
        finally:
            self.seconds -= self._effort() - started
