"""Expressions over constants are computed once, and tests that are always true or false are decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from tidelog.language import functions
from tidelog.language.syntax_tree import Aggregate, Call, Cast, Comparison, Constant, Term, Test, Variable, Wildcard
from tidelog.plan.nodes import Node, Plan, Project, Select, Union, Values
from tidelog.plan.spine import flatten
from tidelog.plan.walk import columns_of, map_inputs, map_rules, map_terms
from tidelog.schema import Kind

RUN_TIME_FUNCTIONS = frozenset({"ord", "range"})
"""`ord` depends on what was interned before, `range` has many values."""


def fold_constants(plan: Plan) -> Plan:
    """`plan` with constant expressions computed. What has no value stays: it is an error only where a row needs it."""
    return map_rules(plan, lambda rule: replace(rule, node=fold_node(rule.node, rule.kinds)))


def fold_node(node: Node, kinds: Mapping[str, Kind]) -> Node:
    """`node` with its terms folded, without tests that always hold, and empty where nothing can hold."""
    folded = map_terms(map_inputs(node, lambda below: fold_node(below, kinds)), fold_term)
    if isinstance(folded, Select) and (decided := decide(folded.condition)) is not None:
        return folded.input if decided else nothing(folded.input, kinds)
    if isinstance(folded, Project):
        return folded
    if isinstance(folded, Union):
        folded = replace(folded, inputs=tuple(below for below in folded.inputs if not is_never(below)))
    return nothing(folded, kinds) if is_never(folded) else folded


def nothing(node: Node, kinds: Mapping[str, Kind]) -> Values:
    """The columns of `node` without a row."""
    columns = columns_of(node)
    return Values(columns, tuple(kinds[name] for name in columns), ())


def is_never(node: Node) -> bool:
    """Whether `node` stands on a source without rows."""
    for source in flatten(node).sources:
        match source:
            case Values(rows=()) | Union(inputs=()):
                return True
    return False


def fold_term(term: Term) -> Term:
    """`term` with each call of constants replaced by its value, where it has one."""
    match term:
        case Call(function, arguments, kind=kind, operands=operands):
            folded = tuple(map(fold_term, arguments))
            values = tuple(argument.value for argument in folded if isinstance(argument, Constant))
            if len(values) == len(folded) and kind is not None and function not in RUN_TIME_FUNCTIONS:
                try:
                    return Constant(functions.apply(function, operands, kind, values), kind, term.span, kind)
                except functions.NoValue:
                    pass
            return replace(term, arguments=folded)
        case Cast(inner):
            return fold_term(inner)
        case Variable() | Wildcard() | Constant() | Aggregate():
            return term
        case _:
            assert_never(term)


def decide(condition: Comparison | Test) -> bool | None:
    """Whether `condition` holds for every row (True) or for none (False); None when rows decide."""
    match condition:
        case Comparison(operator, Constant(left), Constant(right)):
            return functions.compare(operator, left, right)
        case Test(function, arguments, negated):
            values = tuple(argument.value for argument in arguments if isinstance(argument, Constant))
            if len(values) < len(arguments):
                return None
            try:
                return functions.holds(function, values) != negated
            except functions.NoValue:
                return None
        case _:
            return None
