"""Work that may be spent on one way before another is taken."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

LEAST = 0.005
"""Seconds of work that are always worth a try."""


LOST_ON_TRIES = 0.1
"""What tries in vain may cost in the long run, as a share of the work that is done because nothing was tried."""


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


LIKE_BEFORE = 0.125
"""The share of what was too much before that is like it: how much a fact takes along with it is a matter of luck."""


class InVain:
    """A try that went over its budget, after so many facts `changed` and others were put in doubt, until what it cost
    has been made up for.

    The next one with as much to decide may well end better: it is the tries that must not become many.
    """

    def __init__(self, changed: int, doubted: int, seconds: float) -> None:
        self._changed = changed
        self._doubted = doubted
        self._owed = seconds

    def rules_out_change(self, changed: int, otherwise: float) -> bool:
        """As `rules_out`, where it is not known yet how many facts are in doubt."""
        return changed >= self._changed and self._is_for_later(otherwise)

    def rules_out(self, doubted: int, otherwise: float) -> bool:
        """Whether so many facts are not worth another try now, and so work of `otherwise` seconds is to be done."""
        return doubted >= LIKE_BEFORE * self._doubted and self._is_for_later(otherwise)

    def _is_for_later(self, otherwise: float) -> bool:
        if self._owed <= 0:
            return False
        self._owed -= LOST_ON_TRIES * otherwise
        return True
