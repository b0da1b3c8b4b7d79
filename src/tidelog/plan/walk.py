"""Reading and rebuilding plan nodes: their columns, their inputs, the names and relations they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from tidelog.language.syntax_tree import Aggregate, Call, Cast, Comparison, Constant, Term, Test, Variable, Wildcard
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
    RulePlan,
    Scan,
    Select,
    StratumPlan,
    Union,
    Unit,
    Values,
)
from tidelog.plan.same import once_for_each


def columns_of(node: Node) -> tuple[str, ...]:
    """The names of the columns of `node`, each once, in order of first appearance; a Project has none."""
    match node:
        case Scan(_, columns):
            return tuple(dict.fromkeys(column for column in columns if isinstance(column, str)))
        case Unit() | Project():
            return ()
        case Values(columns) | Distinct(_, columns) | Union(_, columns):
            return columns
        case Join(left, right):
            return tuple(dict.fromkeys(columns_of(left) + columns_of(right)))
        case Antijoin(left) | Select(left):
            return columns_of(left)
        case Extend(source, name) | Range(source, name):
            return (*columns_of(source), name)
        case GroupJoin(left, name=name):
            return (*columns_of(left), name)
        case _:
            assert_never(node)


def inputs_of(node: Node) -> tuple[Node, ...]:
    """The nodes directly below `node`, left to right."""
    match node:
        case Scan() | Unit() | Values():
            return ()
        case Join(left, right) | Antijoin(left, right) | GroupJoin(left, right):
            return (left, right)
        case Select(source) | Extend(source) | Range(source) | Distinct(source) | Project(source):
            return (source,)
        case Union(inputs):
            return inputs
        case _:
            assert_never(node)


def map_inputs(node: Node, rewrite: Callable[[Node], Node]) -> Node:
    """`node` with each of its inputs rewritten, left to right."""
    match node:
        case Scan() | Unit() | Values():
            return node
        case Join(left, right) | Antijoin(left, right) | GroupJoin(left, right):
            return replace(node, left=rewrite(left), right=rewrite(right))
        case Select(source) | Extend(source) | Range(source) | Distinct(source) | Project(source):
            return replace(node, input=rewrite(source))
        case Union(inputs):
            return replace(node, inputs=tuple(map(rewrite, inputs)))
        case _:
            assert_never(node)


def nodes_of(node: Node) -> Iterator[Node]:
    """`node` and every node below it, from left to right."""
    for below in inputs_of(node):
        yield from nodes_of(below)
    yield node


def scans_of(node: Node) -> Iterator[Scan]:
    """Every scan of `node`, those that are negated or aggregated too, from left to right."""
    return (below for below in nodes_of(node) if isinstance(below, Scan))


@once_for_each
def relations_read(node: Node) -> frozenset[str]:
    """Names of the stored relations `node` reads."""
    return frozenset(scan.relation for scan in scans_of(node))


def terms_of(node: Node) -> tuple[Term, ...]:
    """The terms that stand in `node` itself."""
    match node:
        case Select(_, condition):
            return operands_of(condition)
        case Extend(value=value):
            return (value,)
        case Range(start=start, end=end, step=step):
            return (start, end) if step is None else (start, end, step)
        case GroupJoin(value=value):
            return () if value is None else (value,)
        case Project(_, columns):
            return columns
        case Scan() | Unit() | Values() | Join() | Antijoin() | Distinct() | Union():
            return ()
        case _:
            assert_never(node)


def map_terms(node: Node, rewrite: Callable[[Term], Term]) -> Node:
    """`node` with each term that stands in it rewritten; its inputs stay."""
    match node:
        case Select(condition=condition):
            return replace(node, condition=map_operands(condition, rewrite))
        case Extend(value=value):
            return replace(node, value=rewrite(value))
        case Range(start=start, end=end, step=step):
            return replace(node, start=rewrite(start), end=rewrite(end), step=None if step is None else rewrite(step))
        case GroupJoin(value=value):
            return node if value is None else replace(node, value=rewrite(value))
        case Project(columns=columns):
            return replace(node, columns=tuple(map(rewrite, columns)))
        case Scan() | Unit() | Values() | Join() | Antijoin() | Distinct() | Union():
            return node
        case _:
            assert_never(node)


def operands_of(condition: Comparison | Test) -> tuple[Term, ...]:
    """The terms that a condition compares or tests."""
    match condition:
        case Comparison(_, left, right):
            return (left, right)
        case Test(_, arguments):
            return arguments
        case _:
            assert_never(condition)


def map_operands(condition: Comparison | Test, rewrite: Callable[[Term], Term]) -> Comparison | Test:
    """`condition` with each of its terms rewritten."""
    match condition:
        case Comparison(_, left, right):
            return replace(condition, left=rewrite(left), right=rewrite(right))
        case Test(_, arguments):
            return replace(condition, arguments=tuple(map(rewrite, arguments)))
        case _:
            assert_never(condition)


def variables_of(term: Term) -> Iterator[str]:
    """The names of the variables of a term of a plan, one for each occurrence."""
    match term:
        case Variable(name):
            yield name
        case Call(_, arguments):
            for argument in arguments:
                yield from variables_of(argument)
        case Cast(inner):
            yield from variables_of(inner)
        case Constant() | Wildcard() | Aggregate():
            pass
        case _:
            assert_never(term)


def names_in(*terms: Term) -> frozenset[str]:
    """The names of all variables of `terms`."""
    return frozenset(name for term in terms for name in variables_of(term))


def map_rules(plan: Plan, rewrite: Callable[[RulePlan], RulePlan]) -> Plan:
    """`plan` with every rule plan rewritten."""

    def of_stratum(stratum: StratumPlan) -> StratumPlan:
        return replace(
            stratum,
            once=tuple(map(rewrite, stratum.once)),
            first=tuple(map(rewrite, stratum.first)),
            rounds=tuple(map(rewrite, stratum.rounds)),
            given=tuple(map(rewrite, stratum.given)),
        )

    return replace(plan, strata=tuple(map(of_stratum, plan.strata)))
