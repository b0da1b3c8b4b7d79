"""Columns that nobody reads are not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from tidelog.language.syntax_tree import Constant, Variable
from tidelog.plan.nodes import (
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Join,
    Node,
    Plan,
    Project,
    Range,
    Scan,
    Select,
    Union,
    Unit,
    Values,
)
from tidelog.plan.walk import inputs_of, map_inputs, map_rules, terms_of, variables_of


def prune_columns(plan: Plan) -> Plan:
    """`plan` with None for the columns of scans whose name occurs nowhere else in the rule.

    A body feeds a set, so a backend may keep one row of those that differ only in such a column. Under an aggregate
    each row counts, and scans there keep their columns.
    """
    return map_rules(plan, lambda rule: replace(rule, node=prune_node(rule.node, Counter(names_used(rule.node)))))


def prune_node(node: Node, used: Counter[str]) -> Node:
    """`node` without columns and values whose name occurs once in `used`."""
    match node:
        case Scan(columns=columns):
            return replace(node, columns=tuple(None if used[str(each)] == 1 else each for each in columns))
        case Extend(source, name, Variable() | Constant()) if used[name] == 1:
            return prune_node(source, used)
        case Distinct(source, columns):
            return replace(node, input=prune_node(source, Counter((*names_used(source), *columns))))
        case Union(inputs, columns):
            return replace(
                node, inputs=tuple(prune_node(each, Counter((*names_used(each), *columns))) for each in inputs)
            )
        case GroupJoin(left, right):
            return replace(node, left=prune_node(left, used), right=prune_body(right))
        case Unit() | Values() | Join() | Antijoin() | Select() | Extend() | Range() | Project():
            return map_inputs(node, lambda below: prune_node(below, used))
        case _:
            assert_never(node)


def prune_body(node: Node) -> Node:
    """The body of an aggregate, pruned only below different values: everywhere else each row counts."""
    return prune_node(node, Counter()) if isinstance(node, Distinct | Union) else map_inputs(node, prune_body)


def names_used(node: Node) -> Iterator[str]:
    """The names in `node`, one for each place that gives or reads them; what is below different values has its own."""
    match node:
        case Scan(columns=columns):
            yield from (column for column in columns if isinstance(column, str))
        case Values(columns) | Distinct(_, columns) | Union(_, columns):
            yield from columns
        case Extend(name=name) | Range(name=name):
            yield name
        case GroupJoin(keys=keys, name=name):
            yield from (*keys, name)
        case Unit() | Join() | Antijoin() | Select() | Project():
            pass
        case _:
            assert_never(node)
    yield from (name for term in terms_of(node) for name in variables_of(term))
    if not isinstance(node, Distinct | Union):
        for below in inputs_of(node):
            yield from names_used(below)
