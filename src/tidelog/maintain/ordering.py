"""Rules with their joins ordered for the sizes that relations have now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import le
from typing import TypeAlias

from tidelog.backends.protocol import Backend
from tidelog.maintain.protocol import Observer
from tidelog.plan.differentiate import joined_scans
from tidelog.plan.nodes import Node, RulePlan, Version
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.planned import OrdersKept
from tidelog.plan.same import Same, forgetful, once_for_each
from tidelog.plan.statistics import Statistics
from tidelog.plan.walk import scans_of

FEW_ROWS = 1 << 12
"""Rows of each relation that a rule reads up to which its order is the one that another session found for as many: to
look for a better one would take longer than it could gain."""

READS_KEPT = 1 << 10


class Ordering:
    """Ordered rules of one run; a rule is ordered again only when a relation it reads has grown or shrunk fourfold, and
    not where that is a delta that it starts from, and that has shrunk.

    The same order is the same object, so that a backend can keep what it prepared for a rule. Rules are known by where
    they are in memory: so they are kept. `for_few_rows` are orders that sessions over one program share.
    """

    def __init__(self, backend: Backend, observer: Observer, for_few_rows: OrdersKept | None = None) -> None:
        self._backend = backend
        self._observer = observer
        self._for_few_rows: OrdersKept = {} if for_few_rows is None else for_few_rows
        self._kept: dict[int, RulePlan] = {}
        self._reads: dict[tuple[int, ...], Reads] = {}
        self._last_given: tuple[Reads, Sizes, list[RulePlan]] | None = None
        self._known: dict[tuple[int, Sizes], RulePlan] = {}
        self._known_with_rows: dict[tuple[tuple[int, ...], Sizes], list[RulePlan]] = {}
        self._orders: dict[int, list[RulePlan]] = {}
        self._last: dict[int, tuple[Sizes, RulePlan]] = {}
        self._deltas: dict[int, tuple[str, ...]] = {}

    def of(self, rules: tuple[RulePlan, ...]) -> list[RulePlan]:
        """`rules`, each with its joins ordered."""
        reads = self._reads_of(rules)
        statistics = self._backend.statistics()
        sizes = reads.sizes(statistics)
        if self._last_given is not None and self._last_given[0] is reads and self._last_given[1] == sizes:
            return self._last_given[2]
        ordered = [
            self._ordered(rule, tuple([sizes[place] for place in places]), statistics)
            for rule, places in zip(rules, reads.places, strict=True)
        ]
        self._last_given = reads, sizes, ordered
        return ordered

    def of_those_with_rows(self, rules: Sequence[RulePlan]) -> list[RulePlan]:
        """As `of`, for those `with_rows`."""
        key = (tuple(map(id, rules)), self._reads_of(rules).sizes(self._backend.statistics()))
        if key not in self._known_with_rows:
            self._known_with_rows[key] = self.of(self.with_rows(rules))
        return self._known_with_rows[key]

    def with_rows(self, rules: Sequence[RulePlan]) -> tuple[RulePlan, ...]:
        """Those of `rules` that join with no relation that has no rows: the others derive nothing."""
        statistics = self._backend.statistics()
        return tuple(
            rule
            for rule in rules
            if all(
                version is Version.MARKED or statistics.rows(relation, version)
                for relation, version in joined(rule.node)
            )
        )

    def woken(self, rules: tuple[RulePlan, ...], delta: Mapping[str, int]) -> tuple[RulePlan, ...]:
        """Those of `rules` that have a delta to read, where deltas have these sizes."""
        for rule in rules:
            if id(rule) not in self._deltas:
                self._kept[id(rule)] = rule
                found = joined(rule.node)
                self._deltas[id(rule)] = tuple(name for name, version in found if version is Version.DELTA)
        return tuple([rule for rule in rules if any(map(delta.get, self._deltas[id(rule)]))])

    def _reads_of(self, rules: Sequence[RulePlan]) -> Reads:
        key = tuple(map(id, rules))
        known = self._reads.get(key)
        if known is None:
            self._kept.update(zip(key, rules, strict=True))
            known = forgetful(self._reads, READS_KEPT)[key] = reads_of(rules)
        return known

    def _ordered(self, rule: RulePlan, sizes: Sizes, statistics: Statistics) -> RulePlan:
        key = id(rule), sizes
        if key not in self._known:
            self._known[key] = self._still_best(rule, sizes) or self._newly_ordered(rule, sizes, statistics)
            self._observer.rule_ordered(self._known[key])
        self._last[id(rule)] = sizes, self._known[key]
        return self._known[key]

    def _still_best(self, rule: RulePlan, sizes: Sizes) -> RulePlan | None:
        """The last order of a rule, if it starts from a delta and only deltas have shrunk since then: all that it costs
        shrinks along, and of any other order no more than that."""
        before, ordered = self._last.get(id(rule), ((), rule))
        if not before or not all(map(le, sizes, before)):
            return None
        first = next(iter(joined(ordered.node)), None)
        if first is None or first[1] is not Version.DELTA:
            return None
        has_shrunk = all(
            now == then or (version is Version.DELTA and now > 0)
            for (_, version), now, then in zip(read(rule.node), sizes, before, strict=True)
        )
        return ordered if has_shrunk else None

    def _newly_ordered(self, rule: RulePlan, sizes: Sizes, statistics: Statistics) -> RulePlan:
        node = self._ordered_node(rule, sizes, statistics)
        orders = self._orders.setdefault(id(rule), [])
        same = next((known for known in orders if known.node == node), None)
        if same is None:
            same = replace(rule, node=node)
            orders.append(same)
        return same

    def _ordered_node(self, rule: RulePlan, sizes: Sizes, statistics: Statistics) -> Node:
        if max(sizes, default=0) >= magnitude(FEW_ROWS):
            return order_joins(rule.node, statistics, rule.order)
        key = Same(rule), sizes
        if key not in self._for_few_rows:
            self._for_few_rows[key] = order_joins(rule.node, statistics, rule.order)
        return self._for_few_rows[key]


Read: TypeAlias = tuple[tuple[str, Version], ...]
"""Relations, each with the version of it that is read."""

Sizes: TypeAlias = tuple[int, ...]
"""Magnitudes of what is read, in the same order."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What some rules read, and at which places of it each of them finds its own."""

    all: Read
    places: tuple[tuple[int, ...], ...]

    def sizes(self, statistics: Statistics) -> Sizes:
        """The magnitudes of what is read now."""
        return tuple([magnitude(statistics.rows(relation, version)) for relation, version in self.all])


def reads_of(rules: Sequence[RulePlan]) -> Reads:
    """What `rules` read."""
    place = {
        each: number for number, each in enumerate(dict.fromkeys(each for rule in rules for each in read(rule.node)))
    }
    return Reads(tuple(place), tuple(tuple(place[each] for each in read(rule.node)) for rule in rules))


@once_for_each
def joined(node: Node) -> Read:
    """What is joined, in order."""
    return tuple((scan.relation, scan.version) for scan in joined_scans(node))


@once_for_each
def read(node: Node) -> Read:
    """What is read, each once."""
    return tuple(dict.fromkeys((scan.relation, scan.version) for scan in scans_of(node)))


def magnitude(rows: int) -> int:
    """0 for no rows, then one more for each factor of 4."""
    return (rows.bit_length() + 1) // 2
