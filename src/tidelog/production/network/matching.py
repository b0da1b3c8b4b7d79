"""Runs plans of production rules: takes plans and rows that are marked, returns what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.backends.protocol import Backend, Facts, Part, is_in_process
from tidelog.maintain.ordering import magnitude
from tidelog.plan.differentiate import joined_scans
from tidelog.plan.nodes import RulePlan, Version
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.statistics import Statistics
from tidelog.plan.walk import scans_of
from tidelog.schema import Schema


@dataclass(slots=True)
class Orders:
    """Plans with their joins ordered for the sizes that relations have, kept from run to run.

    A plan is ordered again only when a relation it reads has grown or shrunk fourfold. The same order is the same
    object, so that a backend can keep what it prepared for it. Plans are known by where they are in memory: so they are
    kept.
    """

    _plans: dict[int, OrderedPlan] = field(default_factory=dict)

    def with_rows(self, plans: Sequence[RulePlan], statistics: Statistics) -> list[RulePlan]:
        """`plans`, ordered, without those that join with a relation that has no rows: they derive nothing."""
        ordered = (self._of(plan).for_sizes(statistics) for plan in plans)
        return [plan for plan in ordered if plan is not None]

    def _of(self, plan: RulePlan) -> OrderedPlan:
        known = self._plans.get(id(plan))
        if known is None:
            read = dict.fromkeys((scan.relation, scan.version) for scan in scans_of(plan.node))
            joined = {(scan.relation, scan.version) for scan in joined_scans(plan.node)}
            must_have_rows = [at for at, each in enumerate(read) if each in joined and each[1] is not Version.MARKED]
            known = self._plans[id(plan)] = OrderedPlan(plan, tuple(read), tuple(must_have_rows))
        return known


@dataclass(slots=True)
class OrderedPlan:
    """A plan, what it reads, the places there of what must have rows for it to derive something, and its orders."""

    plan: RulePlan
    read: tuple[tuple[str, Version], ...]
    must_have_rows: tuple[int, ...]
    _for_sizes: dict[tuple[int, ...], RulePlan] = field(default_factory=dict)

    def for_sizes(self, statistics: Statistics) -> RulePlan | None:
        """The plan ordered for what its relations hold now; None where it derives nothing."""
        sizes = tuple([magnitude(statistics.rows(relation, version)) for relation, version in self.read])
        if not all(sizes[at] for at in self.must_have_rows):
            return None
        ordered = self._for_sizes.get(sizes)
        if ordered is None:
            node = order_joins(self.plan.node, statistics, self.plan.order)
            same = (known for known in self._for_sizes.values() if known.node == node)
            ordered = self._for_sizes[sizes] = next(same, None) or replace(self.plan, node=node)
        return ordered


class Matcher:
    """A backend with the joins of plans ordered for what it holds; `schemas` are of all relations that plans read."""

    def __init__(self, backend: Backend, schemas: Mapping[str, Schema], orders: Orders) -> None:
        assert is_in_process(backend), "production rules run where facts are rows of ids"
        backend.declare(schemas)
        self.backend = backend
        self._orders = orders

    def found(self, plans: Sequence[RulePlan]) -> Mapping[str, Facts]:
        """What the plans derive, by head; nothing for heads without rows."""
        ordered = self._ready(plans)
        return self.backend.collect(ordered) if ordered else {}

    def found_from(self, relation: str, facts: Facts, plans: Sequence[RulePlan]) -> Mapping[str, Facts]:
        """What the plans derive from `facts`, the marked rows of `relation`."""
        if not plans or not len(facts):
            return {}
        self.backend.mark(relation, facts)
        return self.found(plans)

    def found_parts(self, plans: Sequence[RulePlan], parts: Sequence[Part]) -> tuple[Facts, ...]:
        """The different rows of each part of what the plans derive; nothing where that is nothing."""
        ordered = self._ready(plans)
        return self.backend.collect_parts(ordered, parts) if ordered else ()

    def found_parts_from(
        self, relation: str, facts: Facts, plans: Sequence[RulePlan], parts: Sequence[Part]
    ) -> tuple[Facts, ...]:
        """As `found_parts`, from `facts`, the marked rows of `relation`."""
        if not plans or not len(facts):
            return ()
        self.backend.mark(relation, facts)
        return self.found_parts(plans, parts)

    def _ready(self, plans: Sequence[RulePlan]) -> list[RulePlan]:
        """Those plans that may derive something, with joins ordered and what they look up at hand."""
        ordered = self._orders.with_rows(plans, self.backend.statistics())
        self.backend.catch_up(ordered)
        return ordered


def union(some: Sequence[Facts]) -> Facts:
    """The facts of all, of which there is at least one."""
    return some[0].union(*some[1:]) if len(some) > 1 else some[0]
