"""The Spark backend: relations as DataFrames, rules as plans for Catalyst. The slow and certain road."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Derived, Watch, unwatched
from tidelog.backends.spark.derive import answers
from tidelog.backends.spark.facts import SparkFacts, near_facts, settled
from tidelog.backends.spark.job_names import described, of_rules, of_stratum
from tidelog.backends.spark.jobs import Jobs, SparkSettings
from tidelog.backends.spark.layout import public_table, spark_schema_of, stored_table
from tidelog.backends.spark.reduction_protocol import own_errors
from tidelog.backends.spark.store import Store, StoredRelation
from tidelog.plan.nodes import ClosedRelation, Plan, RulePlan, StratumPlan, Version
from tidelog.plan.statistics import Statistics
from tidelog.plan.walk import relations_read
from tidelog.schema import Schema

Frames: TypeAlias = Mapping[str, DataFrame]

RunAhead: TypeAlias = Callable[[StratumPlan, Plan, Mapping[str, DataFrame], Mapping[str, int]], Frames | None]
"""All rows, each once, of a stratum, derived from the tables that it reads and their sizes; None where there is no way.

The plan has the stratum alone, and the schemas of all relations.
"""


class SparkBackend:
    """`Backend` in a Spark session, which is the caller's. Tables are DataFrames; rows given may be Arrow too.

    `ahead` takes over strata that it knows how to derive; the others are run in rounds of jobs.
    """

    def __init__(
        self,
        spark: SparkSession,
        schemas: Mapping[str, Schema],
        settings: SparkSettings = SparkSettings(),  # noqa: B008  frozen
        ahead: RunAhead | None = None,
    ) -> None:
        self._ahead = ahead
        self._jobs = Jobs(spark, settings)
        self._schemas = dict(schemas)
        self._store = Store(self._jobs, schemas)
        self._closures: dict[str, LocalBackend] = {}

    @property
    def jobs(self) -> int:
        """How many Spark jobs were asked for so far."""
        return self._jobs.count

    def fresh(self, schemas: Mapping[str, Schema]) -> SparkBackend:
        return SparkBackend(self._jobs.spark, schemas, self._jobs.settings, self._ahead)

    def declare(self, schemas: Mapping[str, Schema]) -> None:
        for name, schema in schemas.items():
            if name not in self._schemas:
                self._schemas[name] = schema
                self._store.declare(schema)

    def insert(self, relation: str, rows: pa.Table | DataFrame) -> int:
        stored = self._relation(relation)
        new = stored.unknown(self.facts(relation, rows))
        stored.settle()
        stored.add(new, self._store.next_age())
        return len(new)

    def facts(self, relation: str, rows: pa.Table | DataFrame | None = None) -> SparkFacts:
        stored = self._relation(relation)
        if rows is None:
            return stored.facts()
        if isinstance(rows, pa.Table):
            return near_facts(self._jobs, stored.kinds, stored_table(rows, stored.schema))
        return settled(self._jobs, stored.kinds, stored.conformed(rows).distinct())

    def stored(self, relation: str, facts: SparkFacts) -> SparkFacts:
        return self._relation(relation).stored(facts)

    def unknown(self, relation: str, facts: SparkFacts) -> SparkFacts:
        return self._relation(relation).unknown(facts)

    def lacking(self, relation: str, facts: SparkFacts) -> SparkFacts:
        return self._relation(relation).unknown(facts)

    def exchange(self, relation: str, came: SparkFacts, went: SparkFacts) -> None:
        stored = self._relation(relation)
        stored.settle()
        stored.add(came, self._store.next_age())
        stored.remove(went)

    def table(self, relation: str, facts: SparkFacts | None = None) -> DataFrame:
        stored = self._relation(relation)
        held = stored.facts() if facts is None else facts
        schema = stored.schema
        if not schema.arity:
            return held.frame.select()
        types = spark_schema_of(schema.kinds, schema.names)
        return held.frame.toDF(*types.names)

    def clear(self, relation: str) -> SparkFacts:
        stored = self._relation(relation)
        held = stored.facts()
        stored.clear()
        self._closures.pop(relation, None)
        return held

    def derive(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Derived:
        derived: dict[int, int] = {}
        for head, some in _by_head(rules).items():
            stored = self._relation(head)
            with described(self._jobs.spark, of_rules(some)):
                for answer in answers(some, self._store, stored):
                    stored.staged = stored.staged.union(answer.facts)
                    for rule, count in answer.counts:
                        derived[rule.id] = derived.get(rule.id, 0) + count
                        watch(rule, count)
        return Derived(derived)

    def advance(self, relations: Sequence[str]) -> Mapping[str, int]:
        age = self._store.next_age()
        return {name: self._relation(name).advance(age) for name in relations}

    def delta(self, relation: str) -> SparkFacts:
        return self._relation(relation).delta

    def run_ahead(self, stratum: StratumPlan) -> int | None:
        if self._ahead is None:
            return None
        with described(self._jobs.spark, of_stratum(stratum)):
            return self._run_ahead(self._ahead, stratum)

    def _run_ahead(self, ahead: RunAhead, stratum: StratumPlan) -> int | None:
        rules = (*stratum.given, *stratum.once, *stratum.first)
        read = {name for rule in rules for name in relations_read(rule.node)} - set(stratum.relations)
        if stratum.closed is not None:
            read.add(stratum.closed.edges)
        tables = {name: self._relation(name).facts().frame for name in sorted(read)}
        sizes = {name: self._store.rows(name, Version.FULL) for name in tables}
        found = ahead(stratum, Plan(self._schemas, (stratum,), {}), tables, sizes)
        if found is None:
            return None
        age = self._store.next_age()
        total = 0
        for name, frame in found.items():
            stored = self._relation(name)
            with own_errors():
                facts = settled(self._jobs, stored.kinds, stored.conformed(frame))
            stored.add(facts, age)
            total += len(facts)
        return total

    def effort(self) -> float:
        return monotonic()

    def statistics(self) -> Statistics:
        return self._store

    def mark(self, relation: str, facts: SparkFacts) -> None:
        self._store.marked[relation] = facts

    def oldest(self, facts: Mapping[str, SparkFacts]) -> tuple[Mapping[str, SparkFacts], Mapping[str, SparkFacts]]:
        # Each part costs jobs of its own, so that to ask about all at once is quicker.
        return dict(facts), {}

    def catch_up(self, rules: Sequence[RulePlan]) -> None:
        """There is nothing that could be made ready: Spark keeps no indexes."""

    def unsupported(self, relation: str, rules: Sequence[RulePlan], watch: Watch = unwatched) -> SparkFacts:
        facts = self._store.marked[relation]
        found = self.collect(rules, watch).get(relation)
        return facts if found is None else facts.minus(found)

    def collect(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Mapping[str, SparkFacts]:
        found: dict[str, SparkFacts] = {}
        for head, some in _by_head(rules).items():
            with described(self._jobs.spark, of_rules(some)):
                for answer in answers(some, self._store, None):
                    for rule, count in answer.counts:
                        watch(rule, count)
                    found[head] = found[head].union(answer.facts) if head in found else answer.facts
        return found

    def close(self, closed: ClosedRelation, came: SparkFacts, went: SparkFacts) -> tuple[SparkFacts, SparkFacts]:
        """The closure is kept in the driver by the local engine; its rows are stored as those of others are."""
        relation, edges = closed.closure.relation, closed.edges
        local = self._closures.get(relation)
        if local is None:
            local = self._closures[relation] = LocalBackend({name: self._schemas[name] for name in (relation, edges)})
            # It may have been computed in a stage, from the edges that there were before this change of them.
            before = local.facts(edges, self._fetched(edges, self.facts(edges).minus(came).union(went)))
            local.close(closed, before, before.none())
        # The edges may have got a relation of their own since.
        local.declare({edges: self._schemas[edges]})
        appeared, vanished = local.close(
            closed, local.facts(edges, self._fetched(edges, came)), local.facts(edges, self._fetched(edges, went))
        )
        both = (
            self.facts(relation, local.table(relation, appeared)),
            self.facts(relation, local.table(relation, vanished)),
        )
        if closed.taking is None:
            self.exchange(relation, *both)
        return both

    def _fetched(self, relation: str, facts: SparkFacts) -> pa.Table:
        rows = facts.rows
        if rows is None:
            rows = self._jobs.fetch(facts.frame, facts.kinds)
        return public_table(rows, self._schemas[relation])

    def _relation(self, name: str) -> StoredRelation:
        return self._store.relations[name]


def _by_head(rules: Sequence[RulePlan]) -> dict[str, list[RulePlan]]:
    found: dict[str, list[RulePlan]] = {}
    for rule in rules:
        found.setdefault(rule.head, []).append(rule)
    return found
