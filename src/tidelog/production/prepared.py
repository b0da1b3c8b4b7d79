"""What a program's production rules need that does not depend on facts: takes a checked program, returns their plans.

It is made when the rules are first run and kept for the next runs, with the orders of joins that were found on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tidelog.analysis.checked import CheckedProgram, ProductionRule
from tidelog.language.syntax_tree import Semantics
from tidelog.plan.planned import PROGRAMS_KEPT
from tidelog.plan.retention.network import Retention, ways_to_try
from tidelog.plan.same import Same
from tidelog.production.network.difference_plans import DifferencePlans, with_marked
from tidelog.production.network.matching import Orders
from tidelog.production.network.way_plans import WayPlans, instance_atom, plans_of_way
from tidelog.production.rule_plans import Match, RuleMatches, matches_of
from tidelog.production.semantics import in_order
from tidelog.production.support import relations_in, supporting
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class AlternativePlans:
    """One alternative of a rule: the ways to try it, the one to begin with first, and its body as it is written."""

    rule: ProductionRule
    match: Match
    ways: tuple[WayPlans, ...]
    written: DifferencePlans


@dataclass(frozen=True, slots=True)
class Prepared:
    """The rules in the order in which they are tried, their alternatives by the name of their instances, the ordinary
    rules under them, the relations that these have `derived`, those `acted_on`, and the schemas of all that plans read.
    """

    rules: tuple[RuleMatches, ...]
    alternatives: Mapping[str, AlternativePlans]
    support: CheckedProgram
    derived: frozenset[str]
    has_followers: bool
    """Whether ordinary rules follow what production rules change."""
    acted_on: tuple[str, ...]
    schemas: Mapping[str, Schema]
    semantics: Semantics
    retention: Retention
    orders: Orders = field(default_factory=Orders)


def prepared(checked: CheckedProgram, retention: Retention) -> Prepared:
    """What is made of `checked`, which has production rules; for the last few programs it is made only once."""
    return _prepared(Same(checked), retention)


@lru_cache(PROGRAMS_KEPT)
def _prepared(program: Same[CheckedProgram], retention: Retention) -> Prepared:
    checked = program.thing
    assert checked.semantics is not None
    semantics = checked.semantics.semantics
    rules = tuple(matches_of(rule, checked.schemas) for rule in in_order(checked.productions))
    ways = ways_to_try(checked, retention)
    nodes = (node.schema for some in ways.values() for way in some for node in way.nodes)
    rows = (schema for rule in rules for match in rule.matches for schema in (match.schema, match.asked.schema))
    schemas = with_marked({**checked.schemas, **{schema.relation: schema for schema in (*nodes, *rows)}})
    alternatives = {}
    for rule, match in ((each.rule, match) for each in rules for match in each.matches):
        some = ways[rule.id, match.number]
        alternatives[match.relation] = AlternativePlans(
            rule,
            match,
            tuple(plans_of_way(way, rule, match, semantics, schemas) for way in some),
            DifferencePlans(rule, instance_atom(match.schema, rule), rule.bodies[match.number], schemas),
        )
    support = supporting(checked)
    bodies = (rule.body for stratum in support.strata for rule in stratum.rules)
    followed = frozenset(name for body in bodies for name in relations_in(body))
    acted_on = tuple(dict.fromkeys(head.atom.relation for rule in checked.productions for head in rule.heads))
    has_followers = not followed.isdisjoint(acted_on)
    derived = frozenset(name for stratum in support.strata for name in stratum.relations)
    return Prepared(rules, alternatives, support, derived, has_followers, acted_on, schemas, semantics, retention)
