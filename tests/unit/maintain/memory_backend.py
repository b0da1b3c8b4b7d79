"""A backend of Python sets that follows the protocol to the letter, for the tests of the round loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic

import pyarrow as pa

from tidelog.backends.protocol import Derived, Watch, unwatched
from tidelog.facts.columns import arrow_schema
from tidelog.plan.nodes import Plan, RulePlan, StratumPlan, Version
from tidelog.schema import Row, Schema
from unit.plan.algebra import rows_of, versions


class MemoryBackend:
    """Old, delta and staged rows of each relation; `derived` keeps the plans of every call of `derive`."""

    def __init__(self, plan: Plan) -> None:
        self._schemas = plan.schemas
        self.old: dict[str, set[Row]] = {name: set() for name in plan.schemas}
        self.delta: dict[str, set[Row]] = {name: set() for name in plan.schemas}
        self.staged: dict[str, set[Row]] = {name: set() for name in plan.schemas}
        self.derived: list[list[RulePlan]] = []

    def declare(self, schemas: Mapping[str, Schema]) -> None:
        for name in schemas:
            for part in (self.old, self.delta, self.staged):
                part.setdefault(name, set())

    def rows(self, relation: str) -> set[Row]:
        return self.old[relation] | self.delta[relation]

    def insert(self, relation: str, rows: pa.Table) -> int:
        found = {tuple(row.values()) for row in rows.to_pylist()} - self.rows(relation)
        self.old[relation] |= found
        return len(found)

    def derive(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Derived:
        self.derived.append(list(rules))
        tables = versions(self.old, self.delta)
        counts: dict[int, int] = {}
        for rule in rules:
            found = rows_of(rule.node, tables)
            self.staged[rule.head] |= found.keys() - self.rows(rule.head)
            counts[rule.id] = counts.get(rule.id, 0) + found.total()
            watch(rule, found.total())
        return Derived(counts)

    def advance(self, relations: Sequence[str]) -> Mapping[str, int]:
        for name in relations:
            self.old[name] |= self.delta[name]
            self.delta[name], self.staged[name] = self.staged[name], set()
        return {name: len(self.delta[name]) for name in relations}

    def run_ahead(self, _stratum: StratumPlan) -> None:
        return None

    def table(self, relation: str) -> pa.Table:
        names = self._schemas[relation].names
        rows = [dict(zip(names, row, strict=True)) for row in sorted(self.rows(relation))]
        return pa.Table.from_pylist(rows, schema=arrow_schema(self._schemas[relation]))

    def clear(self, relation: str) -> None:
        self.old[relation], self.delta[relation], self.staged[relation] = set(), set(), set()

    def effort(self) -> float:
        return monotonic()

    def statistics(self) -> MemoryStatistics:
        return MemoryStatistics(self)


class MemoryStatistics:
    """Counts of what the backend has at the time of the question."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend

    def rows(self, relation: str, version: Version) -> int:
        old, delta = len(self._backend.old[relation]), len(self._backend.delta[relation])
        return {Version.OLD: old, Version.DELTA: delta, Version.FULL: old + delta}[version]

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int:
        found = {tuple(row[column] for column in columns) for row in self._backend.rows(relation)}
        return max(1, len(found))
