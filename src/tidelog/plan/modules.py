"""Strata that only close a relation are taken apart: the facts from outside, and their closure, which is a module.

The relation of facts from outside is what the paper calls X_R (Hu, Motik and Horrocks 2019, algorithms 4 to 9).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from tidelog.plan.nodes import ClosedRelation, Plan, RulePlan, StratumPlan
from tidelog.plan.walk import scans_of


def with_modules(plan: Plan, excluded: Set[str] = frozenset()) -> Plan:
    """`plan` with a module for each relation, not `excluded`, that a stratum does nothing with but close it."""
    closed = {stratum.relations[0]: stratum for stratum in plan.strata if _only_closes(stratum, plan, excluded)}
    hidden = dict(plan.hidden)
    for relation in closed:
        hidden[edges_of(relation)] = replace(plan.schemas[relation], relation=edges_of(relation))
    strata = tuple(part for stratum in plan.strata for part in _parts(stratum, closed.keys(), plan))
    return replace(plan, strata=strata, hidden=hidden)


def edges_of(relation: str) -> str:
    """The name of the relation whose closure `relation` is."""
    return f"{relation}@edges"


def _only_closes(stratum: StratumPlan, plan: Plan, excluded: Set[str]) -> bool:
    if len(stratum.relations) != 1 or len(stratum.closures) != 1:
        return False
    (relation,) = stratum.relations
    is_taken = relation not in excluded and relation not in plan.size_limits
    return is_taken and {rule.id for rule in stratum.rounds} <= set(stratum.closures[0].rules)


def _parts(stratum: StratumPlan, closed: Set[str], plan: Plan) -> Iterator[StratumPlan]:
    relation = stratum.relations[0]
    if relation not in closed:
        yield stratum
        return
    edges = edges_of(relation)

    def outside(rules: tuple[RulePlan, ...]) -> tuple[RulePlan, ...]:
        return tuple(replace(rule, head=edges) for rule in rules)

    yield StratumPlan((edges,), outside(stratum.once), (), given=outside(stratum.given))
    closure = ClosedRelation(stratum.closures[0], edges, _is_written_out(relation, plan))
    yield StratumPlan((relation,), (), (), stratum.closures, closed=closure)


def _is_written_out(relation: str, plan: Plan) -> bool:
    """Whether some rule joins the closure with itself: it must see rows that go beside one another."""
    return any(
        sum(scan.relation == relation for scan in scans_of(rule.node)) > 1
        for stratum in plan.strata
        if relation not in stratum.relations
        for rule in (*stratum.once, *stratum.first)
    )
