"""Rules in simple form. Takes typed rules, returns simple rules that mean the same.

Heads are split, disjunctions outside aggregates become rules of their own, inline relations are replaced and casts
dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.analysis.alternatives import alternatives, check_alternatives
from tidelog.analysis.checked import SimpleRule
from tidelog.analysis.inline import Inliner, check_inline_recursion
from tidelog.analysis.kinds import TypedRule
from tidelog.analysis.safety import check_safety
from tidelog.analysis.traversal import all_literals, change_atom, change_body, own_names
from tidelog.errors import Diagnostic
from tidelog.language.printer import print_rule
from tidelog.language.syntax_tree import Atom, Cast, Constant, Negation, Rule, Term
from tidelog.schema import Schema


def normalize(
    rules: Sequence[tuple[Rule, TypedRule]], schemas: Mapping[str, Schema], inlined: frozenset[str]
) -> tuple[list[SimpleRule], list[Diagnostic]]:
    """The simple rules of a program in text order; a diagnostic for each unbound variable and each misuse of `inline`.

    Each rule comes as the user wrote it and with kinds.
    """
    typed = [replace(rule, rule=_without_casts(rule.rule)) if rule.rule.body else rule for _, rule in rules]
    inliner, diagnostics = _inliner(typed, schemas, inlined)
    normalizer = _Normalizer(inliner)
    simple: list[SimpleRule] = []
    stored = {name for name in schemas if name not in inliner.definitions}
    waiting = stored
    found: dict[int, list[SimpleRule]] = {}
    while waiting:
        for position, ((user_rule, _), rule) in enumerate(zip(rules, typed, strict=True)):
            heads = tuple(head for head in rule.rule.heads if head.relation in waiting)
            if heads:
                found.setdefault(position, []).extend(normalizer.rule(user_rule, rule, heads))
        simple = [part for position in sorted(found) for part in found[position]]
        # An inline relation that is still read somewhere is stored after all.
        waiting = {name for name in _relations_read(simple) if name in inliner.definitions} - stored
        stored |= waiting
    return simple, [*diagnostics, *inliner.diagnostics, *normalizer.diagnostics]


def _without_casts(rule: Rule) -> Rule:
    def change(term: Term) -> Term:
        return term.term if isinstance(term, Cast) else term

    heads = tuple(change_atom(head, change) for head in rule.heads)
    return replace(rule, heads=heads, body=change_body(rule.body, change))


def _inliner(
    rules: Sequence[TypedRule], schemas: Mapping[str, Schema], inlined: frozenset[str]
) -> tuple[Inliner, list[Diagnostic]]:
    inliner = Inliner(schemas)
    if not inlined:
        return inliner, []
    ordered, diagnostics = check_inline_recursion(rules, inlined)
    for relation in ordered:
        own = [rule for rule in rules if any(head.relation == relation for head in rule.rule.heads)]
        inliner.define(relation, own)
    return inliner, diagnostics


def _relations_read(rules: Sequence[SimpleRule]) -> Iterator[str]:
    for rule in rules:
        for literal in all_literals(rule.body):
            match literal:
                case Atom(relation=relation) | Negation(atom=Atom(relation=relation)):
                    yield relation


class _Normalizer:
    """Takes rules one by one; `diagnostics` has what was wrong with them."""

    def __init__(self, inliner: Inliner) -> None:
        self.inliner = inliner
        self.diagnostics: list[Diagnostic] = []

    def rule(self, user_rule: Rule, typed: TypedRule, heads: tuple[Atom, ...]) -> Iterator[SimpleRule]:
        """The simple rules for these heads of a rule."""
        rule = typed.rule
        text = print_rule(user_rule)
        if not rule.body:
            # Casts in facts were left alone above, to be quick about facts.
            for head in heads:
                yield SimpleRule(rule.id, _plain_fact(head), (), {}, rule.span, text)
            return
        kinds = dict(typed.kinds)
        inlined = self.inliner.expand(rule.body, kinds)
        scope = own_names((*rule.heads, *inlined))
        too_many = check_alternatives(inlined, rule.span)
        if too_many:
            self.diagnostics.append(too_many)
            return
        bodies = alternatives(inlined)
        plan = rule.plan if len(bodies) == 1 and inlined == rule.body else None
        whole = SimpleRule(rule.id, rule.heads[0], (), kinds, rule.span, text, plan)
        for body in bodies:
            elsewhere = own_names(inlined) - own_names(body)
            for head in heads:
                self.diagnostics += check_safety(head, body, scope, rule.span, elsewhere)
            yield from (replace(whole, head=head, body=body) for head in heads)


def _plain_fact(head: Atom) -> Atom:
    if all(type(argument) is Constant for argument in head.arguments):
        return head
    return change_atom(head, lambda term: term.term if isinstance(term, Cast) else term)
