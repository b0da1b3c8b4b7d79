"""Work that may be spent on one way before another is taken."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

LEAST = 0.005
"""Seconds of work that are always worth a try."""


class OverBudget(Exception):
    """Nothing is left to spend."""


class Budget:
    """Seconds of work to spend, some at a time, by a clock of the work."""

    def __init__(self, seconds: float, effort: Callable[[], float]) -> None:
        self.seconds = max(LEAST, seconds)
        self._effort = effort
        self._began = self._started = 0.0

    def __enter__(self) -> Budget:
        """Begins work that is paid for. Raises OverBudget if nothing is left."""
        if self.seconds <= 0:
            raise OverBudget
        self._began, self._started = monotonic(), self._effort()
        return self

    def check(self) -> None:
        """Raises OverBudget once nothing is left, while the work is done."""
        # Asking for the work is a system call, and work takes no less time than it is.
        if monotonic() - self._began > self.seconds and self._effort() - self._started > self.seconds:
            raise OverBudget

    def __exit__(self, *_: object) -> None:
        self.seconds -= self._effort() - self._started
