"""The seam between what is to be computed and where: a store of tables that can run rule plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import pyarrow as pa

from tidelog.plan.nodes import RulePlan
from tidelog.plan.statistics import Statistics

Watch: TypeAlias = Callable[[RulePlan, int], None]
"""Called now and then while a rule runs, with the rows derived since the last call. It may raise to stop the run."""


def unwatched(_rule: RulePlan, _rows: int) -> None:
    """A watch that does nothing."""


class Backend(Protocol):
    """Tables for a program's relations. Columns of a table have the kinds of the schema (see `facts.columns`).

    A round: `derive` stages the rows that are neither stored nor staged yet; `advance` makes what is staged the delta.
    """

    def insert(self, relation: str, rows: pa.Table) -> int:
        """Adds `rows` to the stored table and returns how many were new. They count as old, not as delta."""
        ...

    def derive(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Mapping[int, int]:
        """Runs each plan against what is stored and stages its new rows. Returns rows derived, by rule id."""
        ...

    def advance(self, relations: Sequence[str]) -> Mapping[str, int]:
        """Stores what is staged as the new delta of each relation (the former delta becomes old); its sizes."""
        ...

    def table(self, relation: str) -> pa.Table:
        """All stored rows."""
        ...

    def count(self, relation: str) -> int:
        """How many rows are stored."""
        ...

    def clear(self, relation: str) -> None:
        """Forgets every row of `relation`."""
        ...

    def statistics(self) -> Statistics:
        """What `order_joins` asks."""
        ...
