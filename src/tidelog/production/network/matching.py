"""Runs plans of production rules: takes plans and rows that are marked, returns what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.backends.protocol import Backend, Facts
from tidelog.maintain.ordering import Ordering
from tidelog.maintain.protocol import SILENT
from tidelog.plan.nodes import RulePlan
from tidelog.schema import Schema


class Matcher:
    """A backend with the joins of plans ordered for what it holds; `schemas` are of all relations that plans read.

    Plans must live as long as it does.
    """

    def __init__(self, backend: Backend, schemas: Mapping[str, Schema]) -> None:
        backend.declare(schemas)
        self.backend = backend
        self.schemas = schemas
        self._ordering = Ordering(backend, SILENT)

    def found(self, plans: Sequence[RulePlan]) -> Mapping[str, Facts]:
        """What the plans derive, by head; nothing for heads without rows."""
        ordered = self._ordering.of_those_with_rows(plans)
        if not ordered:
            return {}
        self.backend.catch_up(ordered)
        return self.backend.collect(ordered)

    def found_from(self, relation: str, facts: Facts, plans: Sequence[RulePlan]) -> Mapping[str, Facts]:
        """What the plans derive from `facts`, the marked rows of `relation`."""
        if not plans or not len(facts):
            return {}
        self.backend.mark(relation, facts)
        return self.found(plans)


def union(some: Sequence[Facts]) -> Facts:
    """The facts of all, of which there is at least one."""
    return some[0].union(*some[1:])
