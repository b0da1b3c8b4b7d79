"""The body of a rule as the sequence of its parts, in the order a plan gives."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import TypeAlias, assert_never

from tidelog.plan.nodes import (
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Join,
    Node,
    Project,
    Range,
    Scan,
    Select,
    Union,
    Unit,
    Values,
)
from tidelog.plan.same import once_for_each
from tidelog.plan.spine import UNIT, is_ready, needs, put
from tidelog.plan.walk import columns_of, names_in, terms_of

Part: TypeAlias = Scan | Values | Distinct | Union | Join | Range | Select | Extend | Antijoin | GroupJoin


@once_for_each
def parts_of(node: Node) -> tuple[Part, ...]:
    """The parts of `node` from the first to the last; `Unit` stands for what is below a part.

    A join on the right side of another is a part by itself.
    """
    return _parts(node)


def _parts(node: Node) -> tuple[Part, ...]:
    match node:
        case Unit():
            return ()
        case Scan() | Values() | Distinct() | Union():
            return (node,)
        case Join(left, right):
            return (
                *_parts(left),
                *(_parts(right) if isinstance(right, Scan | Values | Distinct | Union) else (right,)),
            )
        case Range(source) | Select(source) | Extend(source):
            return (*_parts(source), replace(node, input=UNIT))
        case Antijoin(left) | GroupJoin(left):
            return (*_parts(left), replace(node, left=UNIT))
        case Project():
            raise AssertionError("a Project stands on top of a body, never in it")
        case _:
            assert_never(node)


@once_for_each
def names_of(part: Part) -> frozenset[str]:
    """Every name that `part` reads or binds."""
    match part:
        case Scan() | Values() | Distinct() | Union() | Join():
            return frozenset(columns_of(part))
        case Range(name=name) | Extend(name=name):
            return names_in(*terms_of(part)) | {name}
        case Select():
            return names_in(*terms_of(part))
        case Antijoin(right=right):
            return frozenset(columns_of(right))
        case GroupJoin(keys=keys, name=name):
            return frozenset({*keys, name})
        case _:
            assert_never(part)


def decidable(parts: Iterable[Part], bound: Set[str]) -> tuple[Part, ...]:
    """The parts that can be decided from names that are `bound`, in an order in which they can; the others left out."""
    waiting = list(parts)
    names = set(bound)
    chosen: list[Part] = []
    while ready := [part for part in waiting if _is_decidable(part, names)]:
        part = ready[0]
        waiting.remove(part)
        if isinstance(part, Select | Extend):
            part = put(part, UNIT, names)  # type: ignore[assignment]
        chosen.append(part)
        names |= names_of(part)
    return tuple(chosen)


def _is_decidable(part: Part, bound: Set[str]) -> bool:
    match part:
        case Scan() | Values() | Distinct() | Union() | Join():
            return True
        case Range():
            return needs(part) <= bound
        case _:
            return is_ready(part, bound)
