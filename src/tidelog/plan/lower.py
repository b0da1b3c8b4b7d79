"""Takes a checked program, returns its plan: rules in text order, not optimised yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tidelog.analysis.checked import CheckedProgram, SimpleRule, Stratum
from tidelog.language.syntax_tree import Constant, OrderHint, Variable
from tidelog.plan.differentiate import differentiate, in_step
from tidelog.plan.lower_body import lower_body
from tidelog.plan.nodes import Plan, Project, RulePlan, Scan, StratumPlan, Values
from tidelog.plan.passes.fold_constants import fold_term
from tidelog.schema import Row, Schema
from tidelog.span import NOWHERE

GIVEN = -1
"""The id of the rules that take over what was given to derived relations."""


def lower(checked: CheckedProgram) -> Plan:
    """The plan of a program. Every rule is `Project(body, head terms)`, and so are the facts of a relation."""
    strata = tuple(lower_stratum(stratum, checked.schemas) for stratum in checked.strata)
    # Sizes that are limited decide after each round whether there is another one.
    strata = tuple(each if checked.size_limits.keys().isdisjoint(each.relations) else in_step(each) for each in strata)
    given = [rule for stratum in strata for rule in stratum.given]
    hidden = {given_to(rule.head): replace(checked.schemas[rule.head], relation=given_to(rule.head)) for rule in given}
    return Plan(checked.schemas, strata, checked.size_limits, hidden)


def lower_stratum(stratum: Stratum, schemas: Mapping[str, Schema]) -> StratumPlan:
    """The plans of the rules of a stratum; recursive ones once for the first round and once for each delta."""
    recursive = frozenset(stratum.relations) if stratum.recursive else frozenset[str]()
    once: list[RulePlan] = []
    first: list[RulePlan] = []
    rounds: list[RulePlan] = []
    facts: dict[str, tuple[SimpleRule, list[Row]]] = {}
    for rule in stratum.rules:
        row = fact_of(rule)
        if row is not None:
            facts.setdefault(rule.head.relation, (rule, []))[1].append(row)
            continue
        plan = lower_rule(rule, schemas)
        versions = differentiate(plan, recursive)
        if versions:
            first.append(plan)
            rounds += with_hints(versions, rule.plan)
        else:
            once += with_hints((plan,), rule.plan)
    stated = [lower_facts(rule, rows, schemas[relation]) for relation, (rule, rows) in facts.items()]
    derived = dict.fromkeys(rule.head for rule in (*once, *first))
    given = tuple(lower_given(schemas[relation]) for relation in derived)
    return StratumPlan(stratum.relations, (*stated, *once), tuple(rounds), stratum.closures, tuple(first), given)


def given_to(relation: str) -> str:
    """The name of the relation that keeps what was given to a derived relation from outside."""
    return f"{relation}@given"


def lower_given(schema: Schema) -> RulePlan:
    """The rule by which a derived relation has what was given to it."""
    scan = Scan(given_to(schema.relation), schema.names)
    head = Project(scan, tuple(Variable(name) for name in schema.names))
    kinds = dict(zip(schema.names, schema.kinds, strict=True))
    return RulePlan(GIVEN, schema.relation, head, NOWHERE, f"facts given to {schema.relation}", kinds)


def fact_of(rule: SimpleRule) -> Row | None:
    """The row that a fact of the text states, None for a rule or a fact that must be computed."""
    if rule.body:
        return None
    row = []
    for term in rule.head.arguments:
        folded = term if isinstance(term, Constant) else fold_term(term)
        if not isinstance(folded, Constant):
            return None
        row.append(folded.value)
    return tuple(row)


def lower_facts(rule: SimpleRule, rows: list[Row], schema: Schema) -> RulePlan:
    """One plan for all facts of a relation; it goes by the name of `rule`, the first of them."""
    values = Values(schema.names, schema.kinds, tuple(rows))
    kinds = dict(zip(schema.names, schema.kinds, strict=True))
    head = Project(values, tuple(Variable(name, rule.span) for name in schema.names), rule.span)
    return RulePlan(rule.id, schema.relation, head, rule.span, rule.text, kinds)


def lower_rule(rule: SimpleRule, schemas: Mapping[str, Schema]) -> RulePlan:
    """The plan of one rule, with every scan FULL."""
    body, terms, kinds = lower_body(rule, schemas)
    head = Project(body, terms, rule.head.span)
    return RulePlan(rule.id, rule.head.relation, head, rule.span, rule.text, kinds)


def with_hints(versions: Iterable[RulePlan], hint: OrderHint | None) -> Iterator[RulePlan]:
    """`versions`, each with the order that the rule's `.plan` asks for it."""
    orders = {} if hint is None else dict(hint.orders)
    for number, plan in enumerate(versions):
        order = orders.get(number)
        yield plan if order is None else replace(plan, order=tuple(position - 1 for position in order))
