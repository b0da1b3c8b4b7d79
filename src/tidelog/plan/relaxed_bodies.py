"""Bodies that hold at least wherever another one holds: without negations and aggregates, and where relations stand.

They show which rows a change may matter to, where asking too widely does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import TypeAlias

from tidelog.plan.nodes import Antijoin, Distinct, GroupJoin, Node, Range, Scan, Union, Values
from tidelog.plan.spine import UNIT, Operation, Source, Spine, flatten, is_ready, needs, put
from tidelog.plan.walk import columns_of, inputs_of

Alternative: TypeAlias = Spine
"""A relaxed body."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One place where a relation stands in a body: the relaxed body with the scan of it at `position`."""

    body: Alternative
    position: int
    is_negated: bool
    is_grouped: bool


def sightings(node: Node) -> Iterator[Sighting]:
    """Every place in which a stored relation has a say in `node`."""
    spine = flatten(node)
    for body in relaxed(spine):
        for position, source in enumerate(body.sources):
            if isinstance(source, Scan):
                yield Sighting(body, position, is_negated=False, is_grouped=False)
        for part in spine.others:
            match part:
                case Antijoin(right=Scan() as scan):
                    wider = Spine((scan, *body.sources), body.others)
                    yield Sighting(wider, 0, is_negated=True, is_grouped=False)
                case GroupJoin(right=right):
                    for inner in sightings(right):
                        yield replace(inner, body=_beside(inner.body, body), is_grouped=True)
    for source in spine.sources:
        rest = replace(spine, sources=tuple(other for other in spine.sources if other is not source))
        for below in inputs_of(source):
            for inner in sightings(below):
                if inner.is_negated or inner.is_grouped:  # those that are joined are in the relaxed bodies
                    for body in relaxed(rest):
                        yield replace(inner, body=_beside(inner.body, body))


def _beside(one: Alternative, other: Alternative) -> Alternative:
    """Both bodies. A range that is in both, as what an aggregate starts from is, counts once."""
    new = tuple(source for source in other.sources if not (isinstance(source, Range) and source in one.sources))
    return Spine((*one.sources, *new), (*one.others, *other.others))


def relaxed(spine: Spine) -> Iterator[Alternative]:
    """Bodies without negations, aggregates and unions, one of which holds wherever `spine` holds."""
    choices: list[list[Spine]] = []
    for source in spine.sources:
        match source:
            case Distinct(inner):
                choices.append(list(relaxed(flatten(inner))))
            case Union(inputs):
                choices.append([body for each in inputs for body in relaxed(flatten(each))])
            case _:
                choices.append([Spine((source,), ())])
    kept = tuple(part for part in spine.others if not isinstance(part, Antijoin | GroupJoin))
    for chosen in product(*choices):
        yield reduce(_beside, (*chosen, Spine((), kept)), Spine((), ()))


def bound_by(body: Alternative) -> frozenset[str]:
    """The names that the parts of a relaxed body bind."""
    sources, others = ready(body)
    names = {name for source in sources for name in _given_by(source)}
    for part in others:
        names |= set(columns_of(put(part, UNIT, names)))
    return frozenset(names)


def ready(body: Alternative) -> tuple[tuple[Source, ...], tuple[Operation, ...]]:
    """The sources and other parts of a relaxed body that do not wait for what was left out, in a possible order."""
    names: set[str] = set()
    sources: list[Source] = []
    others: list[Operation] = []
    waiting: list[Source | Operation] = [*body.sources, *body.others]
    while True:
        ready = next((part for part in waiting if _can_come(part, names)), None)
        if ready is None:
            return tuple(sources), tuple(others)
        waiting = [part for part in waiting if part is not ready]
        match ready:
            case Scan() | Values() | Distinct() | Union() | Range():
                names.update(_given_by(ready))
                sources.append(ready)
            case _:
                names.update(columns_of(put(ready, UNIT, names)))
                others.append(ready)


def _can_come(part: Source | Operation, names: set[str]) -> bool:
    match part:
        case Scan() | Values() | Distinct() | Union() | Range():
            return needs(part) <= names
        case _:
            return is_ready(part, names)


def _given_by(source: Source) -> tuple[str, ...]:
    return (source.name,) if isinstance(source, Range) else columns_of(source)
