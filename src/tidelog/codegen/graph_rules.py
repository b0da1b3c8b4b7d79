"""Takes a checked program, returns its rules as the graph applies them: optimised, labelled, facts of the text too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tidelog.analysis.checked import CheckedProgram, Stratum
from tidelog.codegen.graph_nodes import GraphRule
from tidelog.language.functions import TOTAL
from tidelog.language.printer import print_literal
from tidelog.language.syntax_tree import AggregateFunction, Atom, Call, Cast, Constant, Term, Test
from tidelog.plan.lower import GIVEN, fact_of, lower
from tidelog.plan.nodes import (
    Distinct,
    GroupJoin,
    Node,
    Plan,
    Project,
    Range,
    RulePlan,
    Select,
    StratumPlan,
    Unit,
    Values,
)
from tidelog.plan.optimize import optimize
from tidelog.plan.walk import map_inputs, nodes_of, terms_of
from tidelog.schema import Schema

FEW_FACTS = 4
"""So many facts of the text are known values in the graph; more of them are rows that are read."""


@dataclass(frozen=True, slots=True)
class GraphProgram:
    """The rules of a program, and which relations they derive."""

    plan: Plan  # the optimised plan
    rules: tuple[GraphRule, ...]  # in the order of strata
    recursive: tuple[frozenset[str], ...]  # for each stratum, its relations where it is recursive
    derived: frozenset[str]  # relations whose rows come from rules; all others are stored before the program starts


def graph_program(checked: CheckedProgram, given: frozenset[str]) -> GraphProgram:
    """The rules of `checked`. `given` are the relations that have rows from outside: derived ones read them too."""
    optimized = optimize(lower(checked))
    derived = frozenset(derived_relations(optimized, given))
    found: list[tuple[int, RulePlan]] = []
    for number, (stratum, source) in enumerate(zip(optimized.strata, checked.strata, strict=True)):
        here = (rule for rule in rules_of(stratum, source, optimized, given) if rule.head in derived)
        found += ((number, rule) for rule in here)
    shared = Counter(rule.id for _, rule in found)
    seen: Counter[int] = Counter()
    rules = []
    for number, rule in found:
        seen[rule.id] += 1
        plan = replace(rule, node=from_the_row(rule.node))
        rules.append(GraphRule(label(rule, shared, seen), plan, number, may_fail(rule.node)))
    recursive = tuple(frozenset(stratum.relations if stratum.rounds else ()) for stratum in optimized.strata)
    return GraphProgram(optimized, tuple(rules), recursive, derived)


def derived_relations(plan: Plan, given: frozenset[str]) -> Iterator[str]:
    """The relations that have a rule with a body, or nothing but a few facts of the text."""
    for stratum in plan.strata:
        derived = {rule.head for rule in (*stratum.once, *stratum.first) if not is_facts(rule)}
        yield from derived
        for rule in stratum.once:
            if is_facts(rule) and rule.head not in given and row_count(rule) <= FEW_FACTS:
                yield rule.head


def rules_of(stratum: StratumPlan, source: Stratum, plan: Plan, given: frozenset[str]) -> Iterator[RulePlan]:
    """The rules of a stratum with every scan FULL: facts, rules, and what takes over given rows."""
    for rule in stratum.once:
        if is_facts(rule) and row_count(rule) <= FEW_FACTS:
            yield from single_facts(rule, source, plan.schemas[rule.head])
        else:
            yield rule
    yield from stratum.first
    yield from (rule for rule in stratum.given if rule.head in given)


def is_facts(rule: RulePlan) -> bool:
    """Whether `rule` states facts of the text. A body that can never hold has become rows too, but none."""
    match rule.node:
        case Project(Values(rows=rows)):
            return bool(rows)
        case _:
            return False


def row_count(rule: RulePlan) -> int:
    """How many facts `rule` states."""
    assert isinstance(rule.node, Project)
    assert isinstance(rule.node.input, Values)
    return len(rule.node.input.rows)


def single_facts(rule: RulePlan, source: Stratum, schema: Schema) -> Iterator[RulePlan]:
    """One rule without a body for each fact of the text that `rule` states."""
    for stated in source.rules:
        row = fact_of(stated) if stated.head.relation == rule.head else None
        if row is not None:
            values = zip(row, schema.kinds, strict=True)
            terms = tuple(Constant(value, kind, kind=kind) for value, kind in values)
            text = f"{print_literal(Atom(rule.head, terms))}."
            yield replace(rule, id=stated.id, node=Project(Unit(), terms), span=stated.span, text=text)


def from_the_row(node: Node) -> Node:
    """`node` where aggregates that start from outer values have `Distinct(Unit(), names)` for them.

    In a plan that is the whole left side once more. Code that is at one row needs only what the names have there.
    """
    match node:
        case Distinct(_, columns):
            return Distinct(Unit(), columns)
        case _:
            return map_inputs(node, from_the_row)


def label(rule: RulePlan, shared: Counter[int], seen: Counter[int]) -> str:
    """What tells `rule` from all others: its number, and which of several it is."""
    if rule.id == GIVEN:
        return f"g_{rule.head}"
    name = str(rule.id) if rule.id > GIVEN else f"e{GIVEN - rule.id}"
    return name if shared[rule.id] == 1 else f"{name}_{seen[rule.id]}"


def may_fail(node: Node) -> bool:
    """Whether an expression in `node` can be without a value."""
    return any(is_partial(below) for below in nodes_of(node))


def is_partial(node: Node) -> bool:
    match node:
        case GroupJoin(function=AggregateFunction.SUM | AggregateFunction.MEAN):
            return True
        case Range(step=step) if step is not None:
            return True
        case Select(condition=Test()):
            return True
        case _:
            return any_partial(terms_of(node))


def any_partial(terms: Iterable[Term]) -> bool:
    """Whether one of `terms` can be without a value."""
    for term in terms:
        match term:
            case Call(function, arguments):
                if function not in TOTAL or any_partial(arguments):
                    return True
            case Cast(inner):
                if any_partial((inner,)):
                    return True
    return False
