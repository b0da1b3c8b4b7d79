"""The steps that can be taken back, and those that can be taken again."""

from __future__ import annotations

from collections import deque

from tidelog.errors import UsageError
from tidelog.world.model import Step

ROWS_KEPT = 10_000_000
"""Facts that the steps of a history may hold together; the oldest are forgotten first."""


class History:
    """The last steps of a session, as many as `limit`, in memory that `ROWS_KEPT` bounds."""

    def __init__(self, limit: int) -> None:
        if not isinstance(limit, int) or limit < 0:
            raise UsageError(f"history must be a whole number of changes, at least 0, not {limit!r}")
        self._limit = limit
        self._done: deque[Step] = deque()
        self._undone: list[Step] = []
        self._rows = 0
        self._has_forgotten = False

    def add(self, step: Step) -> None:
        """Remembers a new step; what was undone can no longer be redone."""
        self._rows += step.rows - sum(undone.rows for undone in self._undone)
        self._undone.clear()
        self._done.append(step)
        while self._done and (len(self._done) > self._limit or self._rows > ROWS_KEPT):
            self._rows -= self._done.popleft().rows
            self._has_forgotten = True

    def to_undo(self) -> Step:
        """The last step; UsageError when there is none."""
        if not self._done:
            raise UsageError(f"there is nothing to undo: {self._why_empty()}")
        return self._done[-1]

    def to_redo(self) -> Step:
        """The step undone last; UsageError when there is none."""
        if not self._undone:
            raise UsageError("there is nothing to redo: no undo came before, or something was changed since")
        return self._undone[-1]

    def undone(self) -> None:
        """The last step was taken back."""
        self._undone.append(self._done.pop())

    def redone(self) -> None:
        """The step undone last was taken again."""
        self._done.append(self._undone.pop())

    def _why_empty(self) -> str:
        if self._has_forgotten:
            return f"older changes are forgotten (at most {self._limit} are kept, with {ROWS_KEPT:,} facts)"
        return "nothing was changed since the answers were first computed"
