"""Rules with their joins ordered for the sizes that relations have now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidelog.backends.protocol import Backend
from tidelog.maintain.protocol import Observer
from tidelog.plan.differentiate import joined_scans
from tidelog.plan.nodes import RulePlan, Version
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.statistics import Statistics
from tidelog.plan.walk import scans_of


class Ordering:
    """Ordered rules of one run; a rule is ordered again only when a relation it reads has grown or shrunk fourfold.

    The same order is the same object, so that a backend can keep what it prepared for a rule. Rules are known by where
    they are in memory: so they are kept.
    """

    def __init__(self, backend: Backend, observer: Observer) -> None:
        self._backend = backend
        self._observer = observer
        self._kept: dict[int, RulePlan] = {}
        self._reads: dict[int, tuple[tuple[str, Version], ...]] = {}
        self._joins: dict[int, tuple[tuple[str, Version], ...]] = {}
        self._known: dict[tuple[int, tuple[int, ...]], RulePlan] = {}
        self._orders: dict[int, list[RulePlan]] = {}

    def of(self, rules: tuple[RulePlan, ...]) -> list[RulePlan]:
        """`rules`, each with its joins ordered."""
        statistics = self._backend.statistics()
        return [self._ordered(rule, statistics) for rule in rules]

    def of_those_with_rows(self, rules: Sequence[RulePlan]) -> list[RulePlan]:
        """As `of`, without rules that join with a relation that has no rows: they derive nothing."""
        statistics = self._backend.statistics()
        return [self._ordered(rule, statistics) for rule in rules if self._has_rows(rule, statistics)]

    def _has_rows(self, rule: RulePlan, statistics: Statistics) -> bool:
        if id(rule) not in self._joins:
            self._kept[id(rule)] = rule
            self._joins[id(rule)] = tuple(
                (scan.relation, scan.version) for scan in joined_scans(rule.node) if scan.version is not Version.MARKED
            )
        return all(statistics.rows(relation, version) for relation, version in self._joins[id(rule)])

    def _ordered(self, rule: RulePlan, statistics: Statistics) -> RulePlan:
        if id(rule) not in self._reads:
            self._kept[id(rule)] = rule
            self._reads[id(rule)] = tuple(dict.fromkeys((scan.relation, scan.version) for scan in scans_of(rule.node)))
        sizes = tuple(magnitude(statistics.rows(relation, version)) for relation, version in self._reads[id(rule)])
        key = (id(rule), sizes)
        if key not in self._known:
            self._known[key] = self._newly_ordered(rule, statistics)
            self._observer.rule_ordered(self._known[key])
        return self._known[key]

    def _newly_ordered(self, rule: RulePlan, statistics: Statistics) -> RulePlan:
        node = order_joins(rule.node, statistics, rule.order)
        orders = self._orders.setdefault(id(rule), [])
        same = next((known for known in orders if known.node == node), None)
        if same is None:
            same = replace(rule, node=node)
            orders.append(same)
        return same


def magnitude(rows: int) -> int:
    """0 for no rows, then one more for each factor of 4."""
    return (rows.bit_length() + 1) // 2
