"""Nodes from which nothing wanted follows (section 5.3 of the Push paper): marked, with the reason.

Besides what was asked for, everything is wanted that a needed rule looks up, negates or aggregates, and every rule that
may have to report an error: an expression without a value ends the program, whether its row is read or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidelog.codegen.graph_nodes import FactNode, RuleNode
from tidelog.codegen.symbolic import unify
from tidelog.plan.nodes import Scan
from tidelog.plan.walk import scans_of


def mark_useless(
    facts: tuple[FactNode, ...], rules: tuple[RuleNode, ...], wanted: frozenset[str]
) -> tuple[tuple[FactNode, ...], tuple[RuleNode, ...]]:
    """`facts` and `rules` with `removed` set on those that nothing wanted follows from."""
    asked = leading_to(facts, rules, {node.number for node in facts if node.fact.relation in wanted}, ())
    failing = [node.number for node in rules if node.rule.may_fail]
    needed = leading_to(facts, rules, asked[0], failing)
    return (
        tuple(node if node.number in needed[0] else replace(node, removed=why_fact(node)) for node in facts),
        tuple(mark_rule(node, facts, asked[1], needed[1]) for node in rules),
    )


def leading_to(
    facts: tuple[FactNode, ...], rules: tuple[RuleNode, ...], ends: Iterable[int], roots: Iterable[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """The numbers of the fact nodes and rule nodes that lead to the facts `ends` or are needed by the rules `roots`."""
    needed_facts: set[int] = set()
    needed_rules: set[int] = set()
    pending_facts, pending_rules = list(ends), list(roots)
    looked_up: dict[str, list[FactNode]] = {}
    for node in facts:
        looked_up.setdefault(node.fact.relation, []).append(node)
    while pending_facts or pending_rules:
        if pending_facts:
            number = pending_facts.pop()
            if number not in needed_facts:
                needed_facts.add(number)
                pending_rules += facts[number].derived_by
        else:
            number = pending_rules.pop()
            if number not in needed_rules:
                needed_rules.add(number)
                rule = rules[number]
                pending_facts += () if rule.fact is None else (rule.fact,)
                for scan in scans_read(rule):
                    found = looked_up.get(scan.relation, ())
                    pending_facts += (node.number for node in found if unify(scan, node.fact) is not None)
    return frozenset(needed_facts), frozenset(needed_rules)


def scans_read(node: RuleNode) -> Iterator[Scan]:
    """The literals of a rule application that read stored rows, negated and aggregated ones too."""
    for part in (*node.sources, *node.conditions):
        yield from scans_of(part)


def why_fact(node: FactNode) -> str:
    """Why a fact node is not needed."""
    if node.taken_by:
        return "nothing wanted follows from it"
    return f"no rule takes it, and {node.fact.relation} is not asked for"


def mark_rule(node: RuleNode, facts: tuple[FactNode, ...], asked: frozenset[int], needed: frozenset[int]) -> RuleNode:
    """`node` with what is decided about it."""
    if node.number in asked:
        return node
    if node.number in needed:
        return replace(node, reports=True)
    return replace(node, removed=f"nothing wanted follows from {facts[node.result].fact}")
