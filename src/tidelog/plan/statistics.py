"""What an optimiser may know about stored relations, gathered while a program runs."""

from __future__ import annotations

from typing import Protocol

from tidelog.plan.nodes import Version


class Statistics(Protocol):
    """Counts of a backend's stored rows. They may be estimates; answers never depend on them."""

    def rows(self, relation: str, version: Version) -> int:
        """How many rows a scan of that version reads. 0 is never an estimate: it says that there are none."""
        ...

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int:
        """How many different values these columns have together, at least 1."""
        ...
