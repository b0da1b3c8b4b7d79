"""A way to try one alternative of a production rule, with its plans: what is known of it before there are facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.analysis.checked import ProductionRule
from tidelog.language.syntax_tree import Atom, Semantics, Sign, Variable
from tidelog.plan.retention.network import Reading, Way
from tidelog.production.network.difference_plans import DifferencePlans
from tidelog.production.network.since import Trigger
from tidelog.production.rule_plans import Match
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class WayPlans:
    """A way, the plans of its body over what it retains, those of each join that it retains, and the changes of what
    it reads that matter to it."""

    way: Way
    body: DifferencePlans
    joins: tuple[DifferencePlans, ...]
    needed: frozenset[Trigger]


def plans_of_way(
    way: Way, rule: ProductionRule, match: Match, semantics: Semantics, schemas: Mapping[str, Schema]
) -> WayPlans:
    """The plans of `way`; `schemas` are of all relations that they read.

    Their rows are what the rule asks for; of one that fires by instances, these.
    """
    head = instance_atom(match.schema, rule) if semantics is Semantics.INSTANCE else match.asked.atom
    body = DifferencePlans(rule, head, way.body, schemas)
    joins = tuple(DifferencePlans(rule, node.atom, node.rule.body, schemas) for node in way.nodes)
    needed = needed_changes(body, rule, semantics) if way.reading is Reading.SINCE else frozenset()
    return WayPlans(way, body, joins, needed)


def instance_atom(instances: Schema, rule: ProductionRule) -> Atom:
    """An instance of a rule: the variables that it binds."""
    return Atom(instances.relation, tuple(Variable(name) for name in instances.names), rule.span)


def needed_changes(plans: DifferencePlans, rule: ProductionRule, semantics: Semantics) -> frozenset[Trigger]:
    """The changes that can give a rule something to do, and where what it could do is kept, those that take it away."""
    gaining = plans.gaining | {undone_by(head.sign, head.atom.relation) for head in rule.heads}
    if semantics is not Semantics.INSTANCE:
        return gaining
    return gaining | plans.losing | {Trigger(head.atom.relation, head.sign) for head in rule.heads}


def undone_by(sign: Sign, relation: str) -> Trigger:
    """The change after which there is something to insert or to delete again."""
    return Trigger(relation, Sign.DELETE if sign is Sign.INSERT else Sign.INSERT)
