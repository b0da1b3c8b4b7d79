"""Whether every variable gets its values from somewhere. Takes a simple rule, yields what does not.

A positive atom binds its variables; `x = e` binds `x` once all variables of `e` are bound; nothing else binds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from tidelog.analysis.alternatives import alternatives
from tidelog.analysis.traversal import Body, all_names, all_terms, flat_literals, inside, own_names, own_terms, written
from tidelog.errors import Diagnostic, Note
from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Comparison,
    ComparisonOperator,
    Disjunction,
    Literal,
    Negation,
    Term,
    Test,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.span import Span


def check_safety(
    head: Atom, body: Body, scope: frozenset[str], span: Span, elsewhere: frozenset[str] = frozenset()
) -> Iterator[Diagnostic]:
    """A diagnostic for each variable that nothing binds, and for each `_` that would have to have a value.

    `scope` has the names that stand outside aggregates in the rule as written: inside one, they are outer names.
    `elsewhere` has the names that stand only in other alternatives of the rule.
    """
    bound = bound_names(body, frozenset(), scope)
    findings: dict[str, Diagnostic] = {}
    for finding, variable in _unbound(head, body, bound, scope):
        if variable.name in elsewhere:
            finding = _not_in_every_alternative(variable)
        findings.setdefault(variable.name, finding)
    # What an equation would bind is reported last, and not at all when it only waits for a variable reported before.
    for name in sorted(findings, key=_sides_of_equations(body).__contains__):
        if name not in bound:
            yield _placed(findings[name], span)
            bound = bound_names(body, bound | {name}, scope)
    yield from (_placed(finding, span) for finding in _wildcards(body))


def is_safe(head: Atom, body: Body, scope: frozenset[str]) -> bool:
    """Whether the rule binds all its variables by itself."""
    return not any(check_safety(head, body, scope, head.span))


def bound_names(body: Body, given: frozenset[str], scope: frozenset[str]) -> frozenset[str]:
    """`given` and all variables that the literals of `body` bind, in whatever order they are written."""
    bound = given
    growing = True
    while growing:
        size = len(bound)
        for literal in body:
            bound |= _binds(literal, bound, scope)
        growing = len(bound) > size
    return bound


def _binds(literal: Literal, bound: frozenset[str], scope: frozenset[str]) -> frozenset[str]:
    match literal:
        case Atom(arguments=arguments):
            return frozenset(term.name for term in arguments if isinstance(term, Variable))
        case Comparison(ComparisonOperator.EQUAL, left, right):
            names: frozenset[str] = frozenset()
            if isinstance(left, Variable) and needs(right, scope) <= bound and not isinstance(right, Wildcard):
                names |= {left.name}
            if isinstance(right, Variable) and needs(left, scope) <= bound and not isinstance(left, Wildcard):
                names |= {right.name}
            return names
        case Comparison() | Negation() | Test() | Truth() | Disjunction():
            return frozenset()
        case _:
            assert_never(literal)


def needs(node: Term | Literal, scope: frozenset[str]) -> frozenset[str]:
    """The variables that must be bound before `node` has a value: its own, and the outer ones inside its aggregates."""
    return own_names((node,)) | (all_names((node,)) & scope)


def _sides_of_equations(body: Body) -> frozenset[str]:
    return frozenset(
        side.name
        for literal in body
        if isinstance(literal, Comparison) and literal.operator is ComparisonOperator.EQUAL
        for side in (literal.left, literal.right)
        if isinstance(side, Variable)
    )


def _unbound(
    head: Atom, body: Body, bound: frozenset[str], scope: frozenset[str]
) -> Iterator[tuple[Diagnostic, Variable]]:
    """A diagnostic for each place of an unbound variable, the most telling place of each variable first."""
    inner = _names_read_in_aggregates(body)
    for term in own_terms(head.arguments):
        if isinstance(term, Variable) and term.name not in bound:
            yield _in_head(term, inner, body), term
    for literal in body:
        for term in own_terms((literal,)):
            if isinstance(term, Variable) and term.name not in bound:
                yield _in_body(term, literal, inner), term
    for term in own_terms(body):
        if isinstance(term, Aggregate):
            yield from _in_aggregate(term, bound, scope)


def _not_in_every_alternative(variable: Variable) -> Diagnostic:
    name = written(variable.name)
    return Diagnostic(
        "D410",
        f"variable '{name}' is not bound in every alternative of the body",
        variable.span,
        f"use '{name}' in a positive atom of each alternative",
    )


def _names_read_in_aggregates(body: Body) -> frozenset[str]:
    """Variables that some atom inside an aggregate would bind."""
    return frozenset(
        term.name
        for aggregate in all_terms(body)
        if isinstance(aggregate, Aggregate)
        for literal in flat_literals(aggregate.body)
        if isinstance(literal, Atom)
        for term in literal.arguments
        if isinstance(term, Variable)
    )


def _in_head(term: Variable, inner: frozenset[str], body: Body) -> Diagnostic:
    name = written(term.name)
    if term.name in inner:
        return _only_inside(term)
    if term.name in own_names(body):
        message = f"variable '{name}' is not bound: no positive atom and no '=' of the body gives it values"
    else:
        message = f"variable '{name}' stands in the head but not in the body"
    return Diagnostic("D401", message, term.span, f"use '{name}' in a positive atom of the body")


def _only_inside(term: Variable) -> Diagnostic:
    name = written(term.name)
    return Diagnostic(
        "D404",
        f"variable '{name}' gets values only inside an aggregate, which cannot pass them outside",
        term.span,
        f"bind '{name}' outside the braces too, for example by the same atom with '_' for the rest",
    )


def _in_body(term: Variable, literal: Literal, inner: frozenset[str]) -> Diagnostic:
    name = written(term.name)
    if term.name in inner:
        return _only_inside(term)
    match literal:
        case Negation():
            return Diagnostic(
                "D402",
                f"variable '{name}' stands in a negated atom, but nothing binds it",
                term.span,
                f"use '{name}' in a positive atom, or write '_' if any value will do",
            )
        case _:
            return Diagnostic(
                "D403",
                f"variable '{name}' is used in an expression, but nothing binds it",
                term.span,
                f"use '{name}' in a positive atom, or give it a value with '='",
            )


def _in_aggregate(
    aggregate: Aggregate, bound: frozenset[str], scope: frozenset[str]
) -> Iterator[tuple[Diagnostic, Variable]]:
    """What is unbound inside an aggregate, where the outer variables that are bound have their values."""
    outer = all_names(inside(aggregate)) & scope
    inside_scope = scope | own_names(inside(aggregate))
    target = () if aggregate.target is None else (aggregate.target,)
    for term in own_terms((*target, *aggregate.body)):
        if isinstance(term, Variable) and term.name in outer and term.name not in bound:
            yield _outer_unbound(term, aggregate.body), term
    for alternative in alternatives(aggregate.body):
        own = bound_names(alternative, outer, inside_scope)
        for term in own_terms((*target, *alternative)):
            if isinstance(term, Aggregate):
                yield from _in_aggregate(term, own | bound, inside_scope)
            elif isinstance(term, Variable) and term.name not in own:
                yield _unbound_inside(term, own_names(aggregate.body) - own_names(alternative)), term


def _unbound_inside(term: Variable, elsewhere: frozenset[str]) -> Diagnostic:
    name = written(term.name)
    if term.name in elsewhere:
        message = f"variable '{name}' is not bound in every alternative of the aggregate"
        hint = f"use '{name}' in a positive atom of each alternative"
    else:
        message = f"variable '{name}' is not bound inside the aggregate"
        hint = f"use '{name}' in a positive atom inside the braces, or bind it outside"
    return Diagnostic("D405", message, term.span, hint)


def _outer_unbound(term: Variable, body: Body) -> Diagnostic:
    if term.name in _names_bound_by_atoms(body):
        return _only_inside(term)
    name = written(term.name)
    return Diagnostic(
        "D403",
        f"variable '{name}' is used in an aggregate and outside it, but nothing binds it",
        term.span,
        f"use '{name}' in a positive atom outside the braces",
    )


def _names_bound_by_atoms(body: Iterable[Literal]) -> frozenset[str]:
    return frozenset(
        term.name
        for literal in flat_literals(body)
        if isinstance(literal, Atom)
        for term in literal.arguments
        if isinstance(term, Variable)
    )


def _wildcards(body: Body) -> Iterator[Diagnostic]:
    """A diagnostic for each `_` that is not simply an argument of an atom."""
    for literal in flat_literals(body):
        match literal:
            case Atom(arguments=arguments) | Negation(atom=Atom(arguments=arguments)):
                nodes: tuple[Term | Literal, ...] = tuple(term for term in arguments if not isinstance(term, Wildcard))
            case _:
                nodes = (literal,)
        for term in own_terms(nodes):
            if isinstance(term, Wildcard):
                yield Diagnostic(
                    "D406", "'_' has no value to compute or compare with", term.span, "write a variable that is bound"
                )
            elif isinstance(term, Aggregate):
                yield from _wildcards(term.body)
                if isinstance(term.target, Wildcard):
                    yield Diagnostic("D406", "'_' has no value to aggregate", term.target.span, "write a variable")


def _placed(finding: Diagnostic, span: Span) -> Diagnostic:
    """`finding`; where it lies in an inlined rule, with a note that says which rule it was inlined into."""
    place = finding.span
    if place.file == span.file and (span.line, span.column) <= (place.line, place.column) <= (
        span.end_line,
        span.end_column,
    ):
        return finding
    return Diagnostic(
        finding.code,
        finding.message,
        place,
        finding.hint,
        notes=(*finding.notes, Note("in the rule it is inlined into", span)),
    )
