"""Work that may be spent on one way before another is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

LEAST = 0.005
"""Seconds of work that are always worth a try."""


class OverBudget(Exception):
    """Nothing is left to spend."""


class Budget:
    """Seconds of work to spend, some at a time, by a clock of the work."""

    def __init__(self, seconds: float, effort: Callable[[], float]) -> None:
        self.seconds = max(LEAST, seconds)
        self._effort = effort

    @contextmanager
    def spending(self) -> Iterator[Callable[[], None]]:
        """What runs inside is paid for. It gets a function that raises OverBudget once nothing is left."""
        started = self._effort()

        def check() -> None:
            if self._effort() - started > self.seconds:
                raise OverBudget

        check()
        try:
            yield check
        finally:
            self.seconds -= self._effort() - started
