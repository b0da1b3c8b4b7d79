"""The order of joins, chosen while the program runs, when the sizes of relations are known."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tidelog.plan.estimate import Estimator, Prefix, Sources
from tidelog.plan.nodes import Distinct, GroupJoin, Node, Project, Scan, Union
from tidelog.plan.same import Alike, once_for_each
from tidelog.plan.spine import Source, assemble, flatten, is_marked, with_inner
from tidelog.plan.statistics import Statistics
from tidelog.plan.walk import inputs_of

SEARCH_LIMIT = 8
"""Bodies with at most so many sources are searched in full."""

STARTS_TRIED = 4
BODIES_KEPT = 1 << 10
SAME_COST = 1e-9


def order_joins(node: Node, statistics: Statistics, order: tuple[int, ...] | None = None) -> Node:
    """`node` with its joins in the order that should touch the fewest rows, and tests as low as they can be.

    `order` fixes the order of the scans instead, counted from 0 as they stand in `node`. The order in which the body
    was written does not matter. Bodies of aggregates are ordered too.
    """
    if isinstance(node, Project):
        if isinstance(node.input, Scan):
            return node
        return Project(ordered(node.input, statistics, order)[0], node.columns, node.span)
    return ordered(node, statistics, order)[0]


def ordered(node: Node, statistics: Statistics, order: tuple[int, ...] | None = None) -> tuple[Node, float]:
    """`node` with its joins ordered, and how many rows it may have."""
    return _joins_of(node).ordered(statistics, order)


@once_for_each
def _joins_of(body: Node) -> Joins:
    return _joins_of_all(Alike(body))


@lru_cache(BODIES_KEPT)
def _joins_of_all(bodies: Alike[Node]) -> Joins:
    """The joins of bodies that are alike: a program that is read again has the same."""
    return Joins(bodies.thing)


class Joins:
    """The joins of one body, which is ordered again and again as relations grow: its parts, and what was made of them
    in each order so far."""

    def __init__(self, node: Node) -> None:
        self._spine = flatten(node)
        self._sources = Sources(self._spine.sources)
        self._scans = [position for position, source in enumerate(self._spine.sources) if isinstance(source, Scan)]
        self._marked = next((n for n, each in enumerate(self._spine.sources) if is_marked(each)), None)
        self._inner = {n: each for n, each in enumerate(self._spine.sources) if isinstance(each, Distinct | Union)}
        self._holds_bodies = bool(self._inner) or any(isinstance(part, GroupJoin) for part in self._spine.others)
        self._assembled: dict[tuple[int, ...], Node] = {}

    def ordered(self, statistics: Statistics, order: tuple[int, ...] | None) -> tuple[Node, float]:
        """The body with its joins ordered, and how many rows it may have."""
        best = self._best(statistics, order)
        if self._holds_bodies:
            spine = with_inner(self._spine, lambda inner: ordered(inner, statistics)[0])
            return assemble([spine.sources[position] for position in best.order], spine.others), best.rows
        if best.order not in self._assembled:
            sources = [self._spine.sources[position] for position in best.order]
            self._assembled[best.order] = assemble(sources, self._spine.others)
        return self._assembled[best.order], best.rows

    def _best(self, statistics: Statistics, order: tuple[int, ...] | None) -> Prefix:
        sizes = {n: sum(ordered(each, statistics)[1] for each in inputs_of(inner)) for n, inner in self._inner.items()}
        estimator = Estimator(self._sources, sizes, statistics)
        start = estimator.start(self._spine.others)
        if self._marked is not None:
            start = estimator.step(start, self._marked)
        if order is not None and sorted(order) == list(range(len(self._scans))):
            return follow([self._scans[position] for position in order], start, estimator)
        return search(start, estimator) if len(self._sources.all) <= SEARCH_LIMIT else greedy(start, estimator)


def follow(order: list[int], start: Prefix, estimator: Estimator) -> Prefix:
    """The order that a person asked for; sources that it does not name come as soon as their names are bound."""
    best = start
    while left := estimator.sources.remaining(best):
        asked = [position for position in order if position in left]
        extra = [position for position in left if position not in order]
        best = estimator.step(best, (extra or asked)[0])
    return best


def search(start: Prefix, estimator: Estimator) -> Prefix:
    """The cheapest order of all: dynamic programming over sets of sources, one more source at a time."""
    level = {start.joined: start}
    for _ in range(len(estimator.sources.all) - len(start.order)):
        following: dict[int, Prefix] = {}
        for prefix in level.values():
            for position in estimator.sources.following(prefix):
                reached = estimator.step(prefix, position)
                known = following.get(reached.joined)
                following[reached.joined] = reached if known is None else cheaper(known, reached, estimator)
        level = following
    return next(iter(level.values()))


def greedy(start: Prefix, estimator: Estimator) -> Prefix:
    """A good order of many sources: from each of the smallest, the cheapest next step every time."""
    smallest = sorted(
        estimator.sources.remaining(start),
        key=lambda position: (estimator.rows(position), label(position, estimator)),
    )
    best: Prefix | None = None
    for prefix in [start] if start.order else [estimator.step(start, first) for first in smallest[:STARTS_TRIED]]:
        while left := estimator.sources.following(prefix):
            prefix = cheapest((estimator.step(prefix, position) for position in left), estimator)
        best = prefix if best is None else cheaper(best, prefix, estimator)
    return start if best is None else best


def cheapest(prefixes: Iterable[Prefix], estimator: Estimator) -> Prefix:
    """The one that costs least."""
    best, *others = prefixes
    for other in others:
        best = cheaper(best, other, estimator)
    return best


def cheaper(one: Prefix, other: Prefix, estimator: Estimator) -> Prefix:
    """The one that costs less; between equals names decide, never the order of the text."""
    if abs(one.cost - other.cost) > SAME_COST * max(one.cost, other.cost):
        return one if one.cost < other.cost else other
    return min(one, other, key=lambda prefix: [label(position, estimator) for position in prefix.order])


def label(position: int, estimator: Estimator) -> tuple[str, int]:
    """Something to sort sources by that does not depend on where they stand, unless they are equal."""
    source: Source = estimator.sources.all[position]
    if isinstance(source, Scan):
        return f"{source.version.value} {source.relation} {source.columns}", position
    return f"{type(source).__name__} {sorted(estimator.sources.columns[position])}", position
