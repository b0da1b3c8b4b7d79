"""Closures become modules: a relation of the facts from outside, and their closure, which no rule computes.

The relation of facts from outside is what the paper calls X_R (Hu, Motik and Horrocks 2019, algorithms 4 to 9). A
stratum that does nothing but close a relation is taken apart; in a larger one the module works beside the other rules,
where closing is most of the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from tidelog.analysis.checked import ClosureGroup
from tidelog.language.syntax_tree import Variable
from tidelog.plan.nodes import ClosedRelation, Plan, Project, RulePlan, Scan, StratumPlan, Version
from tidelog.plan.walk import scans_of
from tidelog.schema import Schema
from tidelog.span import NOWHERE


def with_modules(plan: Plan, excluded: Set[str] = frozenset(), bare: Set[str] = frozenset()) -> Plan:
    """`plan` with a module for each closure of a relation that is not `excluded`; no facts are given to `bare` ones."""
    strata: list[StratumPlan] = []
    hidden = dict(plan.hidden)
    for stratum in plan.strata:
        left_out = (*excluded, *plan.size_limits)
        closures = tuple(each for each in stratum.closures if each.relation not in left_out)
        if not _is_mostly_closing(stratum, closures):
            closures = ()
        only_closes = _only_closes(stratum, closures)
        if only_closes and (followed := _followed(stratum, closures[0], plan, bare)):
            strata.append(_closed(stratum, closures[0], followed, plan))
            continue
        for closure in closures:
            edges = edges_of(closure.relation)
            hidden[edges] = replace(plan.schemas[closure.relation], relation=edges)
        if only_closes:
            strata += _parts(stratum, closures[0], plan)
        else:
            strata.append(_beside_rules(stratum, closures, plan))
    return replace(plan, strata=tuple(strata), hidden=hidden)


def closed_over_others(plan: Plan) -> set[str]:
    """The relations with a module that follows edges of other relations: facts given to them are no edges.

    Where there are such facts, the relation must be computed by its rules.
    """
    modules = [module for stratum in plan.strata for module in (*stratum.modules, stratum.closed) if module]
    return {module.closure.relation for module in modules if module.closure.edges is not None}


def closed_while_bare(plan: Plan) -> set[str]:
    """The relations with a module that reads what it closes where it is, as long as nothing is given to them."""
    return {relation for relation, closed in _closed_over_themselves(plan) if closed.edges != edges_of(relation)}


def closed_over_copies(plan: Plan) -> set[str]:
    """The relations that close over themselves and have a relation of their edges."""
    return {relation for relation, closed in _closed_over_themselves(plan) if closed.edges == edges_of(relation)}


def _closed_over_themselves(plan: Plan) -> Iterator[tuple[str, ClosedRelation]]:
    for stratum in plan.strata:
        if stratum.closed is not None and stratum.closed.closure.edges is None:
            yield stratum.closed.closure.relation, stratum.closed


def edges_of(relation: str) -> str:
    """The name of the relation whose closure `relation` is."""
    return f"{relation}@edges"


def _is_mostly_closing(stratum: StratumPlan, closures: tuple[ClosureGroup, ...]) -> bool:
    """Whether each rule that is left reads one fact of the stratum at a time, as many as there are at most.

    Where another one joins such facts, it has as much to do as a closure, and ages keep the answers true for less.
    """
    replaced = {number for closure in closures for number in closure.rules}
    own = set(stratum.relations)
    return all(
        sum(scan.relation in own for scan in scans_of(rule.node)) <= 1
        for rule in stratum.first
        if rule.id not in replaced
    )


def _only_closes(stratum: StratumPlan, closures: tuple[ClosureGroup, ...]) -> bool:
    is_alone = len(stratum.relations) == 1 and len(closures) == 1
    return is_alone and {rule.id for rule in stratum.rounds} <= set(closures[0].rules)


def _followed(stratum: StratumPlan, closure: ClosureGroup, plan: Plan, bare: Set[str]) -> str | None:
    """The relation whose rows are the edges as they are: what would be closed is a copy of it, and nothing else.

    Facts that are given to a closure are no edges where it follows others (see `closed_over_others`), and there must be
    none where it closes over itself (see `closed_while_bare`).
    """
    if len(stratum.once) != 1 or (closure.edges is None and closure.relation not in bare):
        return None
    match stratum.once[0].node:
        case Project(Scan(relation, columns, Version.FULL), terms):
            names = tuple(term.name for term in terms if isinstance(term, Variable))
            is_copy = names == columns and len(set(names)) == len(names)
            kinds = plan.schemas[closure.relation].kinds
            return relation if is_copy and relation in plan.schemas and plan.schemas[relation].kinds == kinds else None
        case _:
            return None


def _parts(stratum: StratumPlan, closure: ClosureGroup, plan: Plan) -> Iterator[StratumPlan]:
    """What is closed, then its closure."""
    edges = edges_of(closure.relation)
    once, given = (tuple(replace(rule, head=edges) for rule in rules) for rules in (stratum.once, stratum.given))
    yield StratumPlan((edges,), once, (), given=given)
    yield _closed(stratum, closure, edges, plan)


def _closed(stratum: StratumPlan, closure: ClosureGroup, edges: str, plan: Plan) -> StratumPlan:
    """The closure of a relation, in place of its rules."""
    closed = ClosedRelation(closure, edges, _is_written_out(closure.relation, plan))
    return StratumPlan((closure.relation,), (), (), stratum.closures, closed=closed)


def _beside_rules(stratum: StratumPlan, closures: tuple[ClosureGroup, ...], plan: Plan) -> StratumPlan:
    """The stratum without the rules that modules stand for; what the others derive for a module are edges."""
    if not closures:
        return stratum
    replaced = {number for closure in closures for number in closure.rules}
    edges = {closure.relation: edges_of(closure.relation) for closure in closures}

    def left(rules: tuple[RulePlan, ...]) -> tuple[RulePlan, ...]:
        others = (rule for rule in rules if rule.id not in replaced)
        return tuple(
            replace(rule, head=edges[rule.head], ahead_below=0) if rule.head in edges else rule for rule in others
        )

    return StratumPlan(
        (*stratum.relations, *edges.values()),
        left(stratum.once),
        left(stratum.rounds),
        stratum.closures,
        left(stratum.first),
        left(stratum.given),
        modules=tuple(
            ClosedRelation(closure, edges[closure.relation], True, _taking(plan.schemas[closure.relation]))
            for closure in closures
        ),
    )


def _taking(schema: Schema) -> RulePlan:
    """The rule that stores marked rows."""
    node = Project(Scan(schema.relation, schema.names, Version.MARKED), tuple(map(Variable, schema.names)))
    kinds = dict(zip(schema.names, schema.kinds, strict=True))
    return RulePlan(0, schema.relation, node, NOWHERE, f"the closure of {schema.relation}", kinds)


def _is_written_out(relation: str, plan: Plan) -> bool:
    """Whether some rule joins the closure with itself: it must see rows that go beside one another."""
    return any(
        sum(scan.relation == relation for scan in scans_of(rule.node)) > 1
        for stratum in plan.strata
        if relation not in stratum.relations
        for rule in (*stratum.once, *stratum.first)
    )
