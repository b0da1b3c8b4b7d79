"""Takes production rules, returns plans: the instances of a rule, what they ask for, and which of them are firable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from tidelog.analysis.checked import ProductionRule, SignedHead, SimpleRule
from tidelog.analysis.traversal import own_names
from tidelog.language.syntax_tree import (
    Atom,
    Comparison,
    ComparisonOperator,
    Literal,
    Negation,
    Sign,
    Variable,
)
from tidelog.plan.lower import lower_rule
from tidelog.plan.nodes import Node, Plan, RulePlan, Scan, StratumPlan, Version
from tidelog.plan.optimize import optimize
from tidelog.plan.walk import map_inputs
from tidelog.production.asked_rows import AskedRows, asked_rows
from tidelog.production.support import relations_in
from tidelog.schema import Attribute, Schema


@dataclass(frozen=True, slots=True)
class Match:
    """One alternative of a rule. Its instances, the assignments that make its body hold, are rows of `schema`.

    `asked` says what they ask for. Plans read instances that are marked: `asking` gives rows of `asked`, `firable`
    those instances whose net effect is not empty.
    """

    number: int
    schema: Schema
    asked: AskedRows
    asking: tuple[RulePlan, ...]
    firable: tuple[RulePlan, ...]

    @property
    def relation(self) -> str:
        """The name under which instances are marked."""
        return self.schema.relation


@dataclass(frozen=True, slots=True)
class RuleMatches:
    """A production rule with the plans of its alternatives; `touches` are the relations it reads or acts on."""

    rule: ProductionRule
    matches: tuple[Match, ...]
    touches: frozenset[str]


def matches_of(rule: ProductionRule, schemas: Mapping[str, Schema]) -> RuleMatches:
    """The plans of `rule`."""
    matches = tuple(_match(rule, number, schemas) for number in range(len(rule.bodies)))
    read = {name for body in rule.bodies for name in relations_in(body)}
    return RuleMatches(rule, matches, frozenset(read | {head.atom.relation for head in rule.heads}))


def _match(rule: ProductionRule, number: int, schemas: Mapping[str, Schema]) -> Match:
    body = rule.bodies[number]
    names = [name for name in rule.variables if name in own_names(body)]
    columns = tuple(Attribute(name, rule.kinds[name].value, rule.kinds[name]) for name in names)
    schema = Schema(f"{rule.id}.{number}@instances", columns)
    asked = asked_rows(rule, number, schemas)
    known = {**schemas, schema.relation: schema, asked.schema.relation: asked.schema}
    instance = Atom(schema.relation, tuple(Variable(name) for name in names), rule.span)

    def plan(head: Atom, literals: Sequence[Literal]) -> RulePlan:
        return lower_rule(SimpleRule(rule.id, head, tuple(literals), rule.kinds, rule.span, rule.text), known)

    asking = plan(asked.atom, [instance])
    firable = [
        plan(instance, [instance, *condition])
        for head in rule.heads
        for condition in _net_conditions(head, rule, known)
    ]
    first, *others = (over_marked(each, schema.relation) for each in optimized([asking, *firable], known))
    return Match(number, schema, asked, (first,), tuple(others))


def _net_conditions(
    head: SignedHead, rule: ProductionRule, schemas: Mapping[str, Schema]
) -> Iterator[tuple[Literal, ...]]:
    """Conditions, one of which holds where `head` changes the database and no other head of the instance undoes it."""
    changes = Negation(head.atom, head.atom.span) if head.sign is Sign.INSERT else head.atom
    kinds = schemas[head.atom.relation].kinds
    opposites = [
        [
            Comparison(ComparisonOperator.NOT_EQUAL, mine, theirs, head.atom.span, kind)
            for mine, theirs, kind in zip(head.atom.arguments, other.atom.arguments, kinds, strict=True)
        ]
        for other in rule.heads
        if other.atom.relation == head.atom.relation and other.sign is not head.sign
    ]
    for different in product(*opposites):
        yield (changes, *different)


def optimized(rules: Sequence[RulePlan], schemas: Mapping[str, Schema]) -> tuple[RulePlan, ...]:
    """`rules`, each rewritten by the passes that all rules go through."""
    plan = Plan(schemas, (StratumPlan((), tuple(rules), ()),), {})
    return optimize(plan).strata[0].once


def over_marked(rule: RulePlan, relation: str) -> RulePlan:
    """`rule` with the instances that are marked in place of stored ones."""

    def rewrite(node: Node) -> Node:
        match node:
            case Scan(scanned, columns, span=span) if scanned == relation:
                return Scan(scanned, columns, Version.MARKED, span)
            case _:
                return map_inputs(node, rewrite)

    return RulePlan(rule.id, rule.head, rewrite(rule.node), rule.span, rule.text, rule.kinds, rule.order)
