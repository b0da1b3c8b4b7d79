"""Time that may be spent on one way before another is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

LEAST = 0.005
"""Seconds that are always worth a try."""


class OverBudget(Exception):
    """The time is spent."""


class Budget:
    """Seconds to spend, some at a time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(LEAST, seconds)

    @contextmanager
    def spending(self) -> Iterator[Callable[[], None]]:
        """What runs inside is paid for. It gets a function that raises OverBudget once nothing is left."""
        started = monotonic()

        def check() -> None:
            if monotonic() - started > self.seconds:
                raise OverBudget

        check()
        try:
            yield check
        finally:
            self.seconds -= monotonic() - started
