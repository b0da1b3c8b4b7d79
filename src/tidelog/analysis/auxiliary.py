"""Relations made for aggregates over alternatives. Takes a body, returns it with aggregates over plain bodies.

`sum x : { p(x, y) ; q(x, y) }` counts an assignment of x and y once, also where both p and q hold. So the body becomes
an atom of a relation of its own, whose columns are all variables of the body, each `_` among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelog.analysis.alternatives import alternatives, check_alternatives
from tidelog.analysis.filters import filters_as_counts
from tidelog.analysis.safety import bound_names, needs
from tidelog.analysis.totality import always_has_value
from tidelog.analysis.traversal import (
    MARK,
    Body,
    Change,
    all_names,
    all_terms,
    change_own,
    change_own_literal,
    inside,
    own_names,
    written,
)
from tidelog.errors import Diagnostic
from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Comparison,
    ComparisonOperator,
    Constant,
    Disjunction,
    Literal,
    Term,
    Variable,
    Wildcard,
)
from tidelog.schema import Attribute, Kind, Schema


class Auxiliaries:
    """The relations made so far: `schemas` has their columns, `diagnostics` what could not be made."""

    def __init__(self, declared: Mapping[str, Schema]) -> None:
        self.declared = declared
        self.schemas: dict[str, Schema] = {}
        self.diagnostics: list[Diagnostic] = []
        self._rules: list[tuple[Atom, Body]] = []
        self._wildcards = 0

    def replace_alternatives(self, body: Body, scope: frozenset[str], kinds: dict[str, Kind]) -> Body:
        """`body` whose aggregates have no disjunctions and no `true` or `false` inside.

        `scope` has the names outside aggregates; `kinds` gains a variable for each `_` that became one.
        """
        change = self._within(scope, kinds)
        return tuple(change_own_literal(literal, change) for literal in body)

    def take_rules(self) -> list[tuple[Atom, Body]]:
        """The rules made since the last call: a head, and a body that holds for it."""
        rules, self._rules = self._rules, []
        return rules

    def _within(self, scope: frozenset[str], kinds: dict[str, Kind]) -> Change:
        return lambda term: self._aggregate(term, scope, kinds) if isinstance(term, Aggregate) else term

    def _aggregate(self, aggregate: Aggregate, scope: frozenset[str], kinds: dict[str, Kind]) -> Aggregate:
        too_many = check_alternatives(aggregate.body, aggregate.span)
        if too_many:
            self.diagnostics.append(too_many)
            return aggregate
        inner_scope = scope | own_names(inside(aggregate))
        outer = all_names(inside(aggregate)) & scope
        body = aggregate.body
        if _waiting(body, outer, inner_scope):
            body = filters_as_counts(body, outer, inner_scope, kinds)
            inner_scope |= own_names(body)
        target = aggregate.target
        if target is not None:
            target = change_own(target, self._within(inner_scope, kinds))
        body = self.replace_alternatives(body, inner_scope, kinds)
        match alternatives(body):
            case []:
                plain: Body = (_constantly(ComparisonOperator.NOT_EQUAL, aggregate),)
            case [()]:
                plain = (_constantly(ComparisonOperator.EQUAL, aggregate),)
            case [single]:
                plain = single
            case _:
                plain = self._read_from_relation(
                    aggregate, self._name_wildcards(body, kinds), scope, inner_scope, kinds
                )
        return replace(aggregate, target=target, body=plain)

    def _read_from_relation(
        self,
        aggregate: Aggregate,
        body: Body,
        scope: frozenset[str],
        inner_scope: frozenset[str],
        kinds: Mapping[str, Kind],
    ) -> Body:
        """An atom of a new relation in place of `body`, beside the literals that wait for values from outside."""
        waiting = _waiting(body, all_names(body) & scope, inner_scope)
        apart = tuple(
            literal
            for literal in body
            if not isinstance(literal, Disjunction) and needs(literal, inner_scope) & waiting
        )
        rest = tuple(literal for literal in body if literal not in apart)
        # A literal that is kept apart can be false and no longer excuse an expression without a value.
        if apart and always_has_value(None, rest):
            return (self._make(aggregate, rest, scope, inner_scope, kinds), *apart)
        return (self._make(aggregate, body, scope, inner_scope, kinds),)

    def _make(
        self,
        aggregate: Aggregate,
        body: Body,
        scope: frozenset[str],
        inner_scope: frozenset[str],
        kinds: Mapping[str, Kind],
    ) -> Atom:
        """An atom of a new relation that holds for the assignments that make `body` hold."""
        visible = inner_scope | own_names(body)
        columns = {term.name: term for term in all_terms(body) if isinstance(term, Variable) and term.name in visible}
        for alternative in alternatives(body):
            bound = bound_names(alternative, frozenset(), inner_scope)
            self.diagnostics += (_unbound(columns[name], scope) for name in columns if name not in bound)
        name = f"+agg{len(self.schemas) + 1}"
        attributes = (
            Attribute(f"c{position}", kinds[column].value, kinds[column]) for position, column in enumerate(columns)
        )
        self.schemas[name] = Schema(name, tuple(attributes))
        head = Atom(name, tuple(Variable(column, aggregate.span) for column in columns), aggregate.span)
        self._rules.append((head, body))
        return head

    def _name_wildcards(self, body: Body, kinds: dict[str, Kind]) -> Body:
        return tuple(self._name_wildcards_of(literal, kinds) for literal in body)

    def _name_wildcards_of(self, literal: Literal, kinds: dict[str, Kind]) -> Literal:
        match literal:
            case Atom(relation=relation, arguments=arguments):
                columns = zip(arguments, self.declared[relation].kinds, strict=True)
                return replace(literal, arguments=tuple(self._name(term, kind, kinds) for term, kind in columns))
            case Disjunction(alternatives=parts):
                return replace(literal, alternatives=tuple(self._name_wildcards(part, kinds) for part in parts))
            case _:
                return literal

    def _name(self, term: Term, kind: Kind, kinds: dict[str, Kind]) -> Term:
        if not isinstance(term, Wildcard):
            return term
        self._wildcards += 1
        name = f"_{MARK}w{self._wildcards}"
        kinds[name] = kind
        return Variable(name, term.span)


def _waiting(body: Body, outer: frozenset[str], scope: frozenset[str]) -> frozenset[str]:
    """The outer names that some alternative of `body` does not bind; none where there are no alternatives."""
    choices = alternatives(body)
    if len(choices) < 2:
        return frozenset()
    return outer - frozenset.intersection(*(bound_names(choice, frozenset(), scope) for choice in choices))


def _constantly(operator: ComparisonOperator, aggregate: Aggregate) -> Comparison:
    """A literal that is always true (`0 = 0`) or always false (`0 != 0`)."""
    zero = Constant(0, None, aggregate.span, Kind.NUMBER)
    return Comparison(operator, zero, zero, aggregate.span, Kind.NUMBER)


def _unbound(variable: Variable, scope: frozenset[str]) -> Diagnostic:
    name = written(variable.name)
    if variable.name in scope:
        return Diagnostic(
            "D407",
            f"'{name}' gets its value outside the aggregate, but every alternative inside must bind it too",
            variable.span,
            f"use '{name}' in a positive atom of each alternative, or give the alternatives a relation of their own",
        )
    what = "a variable there" if name == "_" else f"'{name}'"
    return Diagnostic(
        "D408",
        f"'{name}' is not bound in every alternative of the aggregate, so its assignments cannot be counted",
        variable.span,
        f"bind {what} in each alternative, or give the alternatives a relation of their own",
    )
