"""What listens to a session until it is cancelled."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self


class Listener:
    """Something that hears of changes until `cancel` or the end of its `with` block."""

    def __init__(self, forget: Callable[[Any], None]) -> None:
        self._forget = forget

    def cancel(self) -> None:
        """Ends it; a second time does nothing."""
        self._forget(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()
