"""A variable that equals a constant or another variable gives way to it, so that scans and joins see the equality."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from tidelog.language.syntax_tree import (
    Aggregate,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Term,
    Variable,
    Wildcard,
)
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
from tidelog.plan.passes.fold_constants import fold_node, fold_term
from tidelog.plan.spine import UNIT, equality, flatten, put
from tidelog.plan.walk import columns_of, map_inputs, map_rules, map_terms, nodes_of
from tidelog.schema import Kind


def merge_equals(plan: Plan) -> Plan:
    """`plan` without the equalities `x = 3` and `x = y`, wherever one name can stand for both sides."""
    return map_rules(plan, lambda rule: replace(rule, node=merge_node(rule.node, rule.kinds)))


def merge_node(node: Node, kinds: Mapping[str, Kind]) -> Node:
    """`node` with its equalities merged: those of its own body first, then those of its aggregates.

    A merged constant is folded at once: it may make the other side of an equality a constant.
    """
    while found := next(mergeable(node, frozenset()), None):
        node = fold_node(substitute(node, *found), kinds)
    return merge_groups(node, kinds)


def merge_groups(node: Node, kinds: Mapping[str, Kind]) -> Node:
    """`node` with the body of each aggregate merged on its own; there the keys keep their names.

    So do the columns of different assignments, each alternative on its own.
    """
    node = map_inputs(node, lambda below: merge_groups(below, kinds))
    if isinstance(node, Union):
        kept = frozenset(node.columns)
        return map_inputs(node, lambda below: merge_alternative(below, kept, kinds))
    if not isinstance(node, GroupJoin):
        return node
    while found := next(mergeable(node.right, frozenset(node.keys)), None):
        value = None if node.value is None else fold_term(substitute_term(node.value, *found))
        node = replace(node, right=fold_node(substitute(node.right, *found), kinds), value=value)
    return node


def merge_alternative(node: Node, kept: frozenset[str], kinds: Mapping[str, Kind]) -> Node:
    """`node` with its equalities merged; `kept` names stay."""
    while found := next(mergeable(node, kept), None):
        node = fold_node(substitute(node, *found), kinds)
    return node


def mergeable(node: Node, kept: frozenset[str]) -> Iterator[tuple[str, Variable | Constant]]:
    """Names that may go, each with what takes its place, from the equalities in the body of `node`.

    The name of a group, a range or a column of rows in the text stays: nothing else can give it.
    """
    body = node.input if isinstance(node, Project) else node
    own = frozenset(name for below in nodes_of(node) for name in own_names(below))
    for part in flatten(body).others:
        match equality(part):
            case (Variable(name), (Constant() as other), kind) | ((Constant() as other), Variable(name), kind):
                if name not in own | kept:
                    yield name, replace(other, kind=kind)
            case (Variable(one), Variable(other), _):
                if one != other and own.isdisjoint((one, other)) and not kept.issuperset((one, other)):
                    stays = min(one, other, key=lambda name: (name not in kept, not name.isidentifier(), name))
                    yield other if stays == one else one, Variable(stays)


def own_names(node: Node) -> tuple[str, ...]:
    """The names that only `node` can give."""
    match node:
        case Range(name=name) | GroupJoin(name=name):
            return (name,)
        case Values(columns):
            return columns
        case _:
            return ()


def substitute(node: Node, name: str, value: Variable | Constant) -> Node:
    """`node` with `value` wherever the variable `name` stood."""
    changed = map_inputs(node, lambda below: substitute(below, name, value))
    match changed:
        case Scan(columns=columns):
            column = value.name if isinstance(value, Variable) else value
            return replace(changed, columns=tuple(column if each == name else each for each in columns))
        case Distinct(columns=(only,)) if only == name and isinstance(value, Constant):
            return UNIT  # the constant is known everywhere, so there is nothing left to start from
        case Distinct(columns=columns) | Union(columns=columns):
            return replace(changed, columns=renamed(columns, name, value))
        case GroupJoin(keys=keys):
            aggregated = None if changed.value is None else substitute_term(changed.value, name, value)
            return replace(changed, keys=renamed(keys, name, value), value=aggregated)
        case Extend(source, given, computed, kind, span):
            left = value if given == name else Variable(given)
            right = substitute_term(computed, name, value)
            condition = Comparison(ComparisonOperator.EQUAL, left, right, span, kind)
            return source if left == right else put(Select(UNIT, condition, span), source, set(columns_of(source)))
        case Select(source):
            tested = map_terms(changed, lambda term: substitute_term(term, name, value))
            return source if isinstance(tested, Select) and is_trivial(tested) else tested
        case Unit() | Values() | Join() | Antijoin() | Range() | Project():
            return map_terms(changed, lambda term: substitute_term(term, name, value))
        case _:
            assert_never(changed)


def is_trivial(select: Select) -> bool:
    """Whether the condition says that a variable or a constant equals itself."""
    match select.condition:
        case Comparison(ComparisonOperator.EQUAL, (Variable() | Constant()) as left, right):
            return left == right
        case _:
            return False


def renamed(names: tuple[str, ...], name: str, value: Variable | Constant) -> tuple[str, ...]:
    """`names` with `name` replaced by a variable or left out for a constant."""
    instead = (value.name,) if isinstance(value, Variable) else ()
    return tuple(dict.fromkeys(new for each in names for new in (instead if each == name else (each,))))


def substitute_term(term: Term, name: str, value: Variable | Constant) -> Term:
    """`term` with `value` wherever the variable `name` stood."""
    match term:
        case Variable():
            return value if term.name == name else term
        case Call(arguments=arguments):
            return replace(term, arguments=tuple(substitute_term(each, name, value) for each in arguments))
        case Cast(inner):
            return replace(term, term=substitute_term(inner, name, value))
        case Constant() | Wildcard() | Aggregate():
            return term
        case _:
            assert_never(term)
