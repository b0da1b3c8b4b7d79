"""Delta versions of a rule: what the rows that a round added can add in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from sys import maxsize
from typing import assert_never

from tidelog.plan.nodes import (
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Join,
    Node,
    Project,
    Range,
    RulePlan,
    Scan,
    Select,
    StratumPlan,
    Union,
    Unit,
    Values,
    Version,
)
from tidelog.plan.walk import map_inputs, scans_of


def differentiate(rule: RulePlan, recursive: frozenset[str]) -> tuple[RulePlan, ...]:
    """One version of `rule` for each scan of a `recursive` relation; none when it has no such scan.

    In version i the i-th such scan reads DELTA, those before it OLD and those after it FULL. The law, with FULL = OLD
    + DELTA: the bags of all versions together are the bag over FULL without the bag over OLD. Each new derivation is
    found once, by the version of the first row in it that is new.

    Negated and aggregated scans are never recursive: strata see to that.
    """
    read = [scan.relation for scan in joined_scans(rule.node) if scan.relation in recursive]
    # What an aggregate asks for stands for keys that rows of the stratum have: it is read in step with them.
    is_read_once = [scan.relation for scan in scans_of(rule.node) if scan.relation in recursive] == [rule.head]
    return tuple(
        replace(
            rule,
            node=with_versions(rule.node, recursive, iter(versions(len(read), position))),
            ahead_below=maxsize if is_read_once else 0,
        )
        for position in range(len(read))
    )


def in_step(stratum: StratumPlan, but_below: int = 0) -> StratumPlan:
    """`stratum`, none of whose rules runs ahead of the others with so many rows or more."""
    rounds = (replace(rule, ahead_below=min(rule.ahead_below, but_below)) for rule in stratum.rounds)
    return replace(stratum, rounds=tuple(rounds))


def joined_scans(node: Node) -> Iterator[Scan]:
    """The scans that are joined, in order: neither negated nor aggregated ones."""
    match node:
        case Scan():
            yield node
        case Unit() | Values() | Union():
            pass
        case Join(left, right):
            yield from joined_scans(left)
            yield from joined_scans(right)
        case Antijoin(source) | GroupJoin(source):
            yield from joined_scans(source)
        case Select(source) | Extend(source) | Range(source) | Distinct(source) | Project(source):
            yield from joined_scans(source)
        case _:
            assert_never(node)


def versions(count: int, position: int) -> tuple[Version, ...]:
    """The versions of `count` recursive scans when the one at `position` is the delta."""
    return (Version.OLD,) * position + (Version.DELTA,) + (Version.FULL,) * (count - position - 1)


def with_versions(node: Node, recursive: frozenset[str], chosen: Iterator[Version]) -> Node:
    """`node` with its joined recursive scans, in order, reading the `chosen` versions."""
    match node:
        case Scan(relation):
            return replace(node, version=next(chosen)) if relation in recursive else node
        case Antijoin(left):
            return replace(node, left=with_versions(left, recursive, chosen))
        case GroupJoin(left, right):
            changed = with_versions(left, recursive, chosen)
            return replace(node, left=changed, right=with_part(right, left, changed))
        case _:
            return map_inputs(node, lambda below: with_versions(below, recursive, chosen))


def with_part(node: Node, old: Node, new: Node) -> Node:
    """`node` with `new` wherever `old` stood in it.

    An aggregate over outer variables starts from the rows of its left side: it has to read the same versions.
    """
    return new if node == old else map_inputs(node, lambda below: with_part(below, old, new))
