"""What a module computes, said by rules: for partitions that exchange rows and have no closure of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tidelog.analysis.checked import ClosureKind
from tidelog.language.syntax_tree import Variable
from tidelog.plan.differentiate import differentiate
from tidelog.plan.nodes import ClosedRelation, Join, Project, RulePlan, Scan, StratumPlan
from tidelog.schema import Schema
from tidelog.span import NOWHERE

BETWEEN = "~between"
"""The name of the node in the middle of a path."""


def with_rules(stratum: StratumPlan, schemas: Mapping[str, Schema]) -> StratumPlan:
    """`stratum` without modules."""
    modules = stratum.modules if stratum.closed is None else (stratum.closed,)
    once, first, rounds = list(stratum.once), list(stratum.first), list(stratum.rounds)
    for module in modules:
        for rule in _rules(module, schemas[module.closure.relation]):
            versions = differentiate(rule, frozenset(stratum.relations))
            (first if versions else once).append(rule)
            rounds += versions
    return replace(stratum, once=tuple(once), first=tuple(first), rounds=tuple(rounds), closed=None, modules=())


def _rules(closed: ClosedRelation, schema: Schema) -> Iterator[RulePlan]:
    """`R(x, y) :- E(x, y). R(x, z) :- R(x, y), E(y, z).`, and for a symmetric closure with E turned round as well."""
    group = closed.closure
    path, step = list(schema.names), list(schema.names)
    path[group.target] = step[group.source] = BETWEEN
    ways = [tuple(range(schema.arity))]
    if group.kind is ClosureKind.SYMMETRIC:
        turned = list(range(schema.arity))
        turned[group.source], turned[group.target] = group.target, group.source
        ways.append(tuple(turned))
    kinds = {**dict(zip(schema.names, schema.kinds, strict=True)), BETWEEN: schema.kinds[group.source]}
    head = tuple(Variable(name) for name in schema.names)
    text = f"closure of {group.relation}"
    for way in ways:
        begin = Scan(closed.edges, tuple(schema.names[column] for column in way))
        follow = Scan(closed.edges, tuple(step[column] for column in way))
        body = Join(Scan(group.relation, tuple(path)), follow)
        for node in (begin, body):
            yield RulePlan(0, group.relation, Project(node, head), NOWHERE, text, kinds)
