"""The order of joins, chosen while the program runs, when the sizes of relations are known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidelog.plan.estimate import Estimator, Prefix
from tidelog.plan.nodes import Distinct, Node, Project, Range, Scan, Union
from tidelog.plan.spine import Source, assemble, flatten, is_marked, needs, with_inner
from tidelog.plan.statistics import Statistics
from tidelog.plan.walk import inputs_of

SEARCH_LIMIT = 8
"""Bodies with at most so many sources are searched in full."""

STARTS_TRIED = 4
SAME_COST = 1e-9


def order_joins(node: Node, statistics: Statistics, order: tuple[int, ...] | None = None) -> Node:
    """`node` with its joins in the order that should touch the fewest rows, and tests as low as they can be.

    `order` fixes the order of the scans instead, counted from 0 as they stand in `node`. The order in which the body
    was written does not matter. Bodies of aggregates are ordered too.
    """
    if isinstance(node, Project) and isinstance(node.input, Scan):
        return node
    if isinstance(node, Project):
        return replace(node, input=ordered(node.input, statistics, order)[0])
    return ordered(node, statistics, order)[0]


def ordered(node: Node, statistics: Statistics, order: tuple[int, ...] | None = None) -> tuple[Node, float]:
    """`node` with its joins ordered, and how many rows it may have."""
    spine = with_inner(flatten(node), lambda inner: ordered(inner, statistics)[0])
    sizes = {
        position: sum(ordered(inner, statistics)[1] for inner in inputs_of(source))
        for position, source in enumerate(spine.sources)
        if isinstance(source, Distinct | Union)
    }
    estimator = Estimator(spine.sources, sizes, statistics)
    start = estimator.start(spine.others)
    marked = next((n for n, each in enumerate(spine.sources) if is_marked(each)), None)
    if marked is not None:
        start = estimator.step(start, marked)
    scans = [position for position, source in enumerate(spine.sources) if isinstance(source, Scan)]
    if order is not None and sorted(order) == list(range(len(scans))):
        best = follow([scans[position] for position in order], start, estimator)
    elif len(spine.sources) <= SEARCH_LIMIT:
        best = search(start, estimator)
    else:
        best = greedy(start, estimator)
    return assemble([spine.sources[position] for position in best.order], spine.others), best.rows


def follow(order: list[int], start: Prefix, estimator: Estimator) -> Prefix:
    """The order that a person asked for; sources that it does not name come as soon as their names are bound."""
    best = start
    while left := remaining(best, estimator):
        asked = [position for position in order if position in left]
        extra = [position for position in left if position not in order]
        best = estimator.step(best, (extra or asked)[0])
    return best


def search(start: Prefix, estimator: Estimator) -> Prefix:
    """The cheapest order of all: dynamic programming over sets of sources, one more source at a time."""
    level = {frozenset(start.order): start}
    for _ in range(len(estimator.sources) - len(start.order)):
        following: dict[frozenset[int], Prefix] = {}
        for chosen, prefix in level.items():
            for position in candidates(prefix, estimator):
                reached = estimator.step(prefix, position)
                key = chosen | {position}
                known = following.get(key)
                following[key] = reached if known is None else cheaper(known, reached, estimator)
        level = following
    return next(iter(level.values()))


def greedy(start: Prefix, estimator: Estimator) -> Prefix:
    """A good order of many sources: from each of the smallest, the cheapest next step every time."""
    smallest = sorted(
        remaining(start, estimator), key=lambda position: (estimator.rows(position), label(position, estimator))
    )
    best: Prefix | None = None
    for prefix in [start] if start.order else [estimator.step(start, first) for first in smallest[:STARTS_TRIED]]:
        while left := candidates(prefix, estimator):
            prefix = cheapest((estimator.step(prefix, position) for position in left), estimator)
        best = prefix if best is None else cheaper(best, prefix, estimator)
    return start if best is None else best


def candidates(prefix: Prefix, estimator: Estimator) -> list[int]:
    """The sources that may come next: those that share a name with the rows so far, before any product."""
    left = remaining(prefix, estimator)
    connected = [
        position
        for position in left
        if isinstance(estimator.sources[position], Range)
        or not estimator.columns[position]
        or not estimator.columns[position].isdisjoint(prefix.values)
    ]
    return connected if connected and prefix.order else left


def remaining(prefix: Prefix, estimator: Estimator) -> list[int]:
    """The sources not joined yet whose own needs are bound."""
    return [
        position
        for position, source in enumerate(estimator.sources)
        if position not in prefix.order and needs(source) <= prefix.values.keys()
    ]


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
    source: Source = estimator.sources[position]
    if isinstance(source, Scan):
        return f"{source.version.value} {source.relation} {source.columns}", position
    return f"{type(source).__name__} {sorted(estimator.columns[position])}", position
