"""Which variables of a rule are local to an aggregate. Takes a rule, returns it with locals of different aggregates
named apart.

A variable in an aggregate is the outer one when its name also stands outside the braces, in the rule or in an aggregate
around it; else it is the aggregate's own, and another aggregate's variable of that name is a different one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from tidelog.analysis.traversal import (
    MARK,
    Change,
    all_terms,
    change_atom,
    change_body,
    change_own,
    change_own_literal,
    change_term,
    inside,
    own_names,
    own_terms,
    renaming,
    written,
)
from tidelog.language.syntax_tree import Aggregate, Rule, Term, Variable


def name_apart(rule: Rule) -> Rule:
    """`rule` with the variables local to different aggregates named apart: a second local `x` becomes `x#1`."""
    nodes = (*rule.heads, *rule.body)
    if not any(isinstance(term, Aggregate) for term in own_terms(nodes)):
        return rule
    scope = own_names(nodes)
    apart = _Apart(set(scope), count(1))
    return replace(rule, body=tuple(change_own_literal(literal, apart.within(scope)) for literal in rule.body))


class _Apart:
    """The names in use so far, and numbers for new ones."""

    def __init__(self, taken: set[str], numbers: Iterator[int]) -> None:
        self.taken, self.numbers = taken, numbers

    def within(self, scope: frozenset[str]) -> Change:
        """The change that names apart the aggregates of a scope with these names."""
        return lambda term: self.aggregate(term, scope) if isinstance(term, Aggregate) else term

    def aggregate(self, aggregate: Aggregate, scope: frozenset[str]) -> Aggregate:
        local = own_names(inside(aggregate)) - scope
        clashes = {name: f"{name}{MARK}{next(self.numbers)}" for name in sorted(local & self.taken)}
        self.taken |= local
        # The new names reach into nested aggregates, where they are outer ones.
        renamed = change_term(aggregate, renaming(clashes))
        assert isinstance(renamed, Aggregate)
        change = self.within(scope | own_names(inside(renamed)))
        return replace(
            renamed,
            target=None if renamed.target is None else change_own(renamed.target, change),
            body=tuple(change_own_literal(literal, change) for literal in renamed.body),
        )


def as_written(rule: Rule) -> Rule:
    """`rule` with every variable under the name the user gave it."""
    if not rule.body:
        return rule
    nodes = (*rule.heads, *rule.body)
    if not any(isinstance(term, Variable) and MARK in term.name for term in all_terms(nodes)):
        return rule

    def change(term: Term) -> Term:
        return Variable(written(term.name), term.span) if isinstance(term, Variable) else term

    return replace(
        rule,
        heads=tuple(change_atom(head, change) for head in rule.heads),
        body=change_body(rule.body, change),
    )
