"""Walks over terms and literals: takes a tree, returns its parts or a changed copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Literal,
    Negation,
    Term,
    Test,
    Truth,
    Variable,
    Wildcard,
)

Change: TypeAlias = Callable[[Term], Term]
Body: TypeAlias = tuple[Literal, ...]


def own_terms(nodes: Iterable[Term | Literal]) -> Iterator[Term]:
    """Every term in `nodes`, outermost first; aggregates are named but not entered."""
    for node in nodes:
        match node:
            case Variable() | Wildcard() | Constant() | Aggregate():
                yield node
            case Call(arguments=arguments):
                yield node
                yield from own_terms(arguments)
            case Cast(term=term):
                yield node
                yield from own_terms((term,))
            case Atom(arguments=arguments) | Test(arguments=arguments):
                yield from own_terms(arguments)
            case Negation(atom=atom):
                yield from own_terms(atom.arguments)
            case Comparison(left=left, right=right):
                yield from own_terms((left, right))
            case Truth():
                pass
            case Disjunction(alternatives=alternatives):
                for alternative in alternatives:
                    yield from own_terms(alternative)
            case _:
                assert_never(node)


def all_terms(nodes: Iterable[Term | Literal]) -> Iterator[Term]:
    """Every term in `nodes`, those inside aggregates too."""
    for term in own_terms(nodes):
        yield term
        if isinstance(term, Aggregate):
            yield from all_terms(inside(term))


def inside(aggregate: Aggregate) -> tuple[Term | Literal, ...]:
    """What stands in an aggregate: its target, if any, and its body."""
    return aggregate.body if aggregate.target is None else (aggregate.target, *aggregate.body)


def own_names(nodes: Iterable[Term | Literal]) -> frozenset[str]:
    """Names of the variables in `nodes`, outside aggregates."""
    return frozenset(term.name for term in own_terms(nodes) if isinstance(term, Variable))


def all_names(nodes: Iterable[Term | Literal]) -> frozenset[str]:
    """Names of the variables in `nodes`, inside aggregates too."""
    return frozenset(term.name for term in all_terms(nodes) if isinstance(term, Variable))


def flat_literals(body: Iterable[Literal]) -> Iterator[Literal]:
    """Every literal of `body`, those of disjunctions instead of the disjunctions; aggregates are not entered."""
    for literal in body:
        if isinstance(literal, Disjunction):
            for alternative in literal.alternatives:
                yield from flat_literals(alternative)
        else:
            yield literal


def all_literals(body: Iterable[Literal]) -> Iterator[Literal]:
    """Every literal of `body` and of the aggregates in it, without the disjunctions around them."""
    for literal in flat_literals(body):
        yield literal
        for term in own_terms((literal,)):
            if isinstance(term, Aggregate):
                yield from all_literals(term.body)
                if term.target is not None:
                    yield from all_literals(_aggregate_bodies(term.target))


def _aggregate_bodies(term: Term) -> Iterator[Literal]:
    for part in own_terms((term,)):
        if isinstance(part, Aggregate):
            yield from part.body


def change_own(term: Term, change: Change) -> Term:
    """`term` with `change` applied to each of its parts, innermost first; aggregates are changed but not entered."""
    match term:
        case Variable() | Wildcard() | Constant() | Aggregate():
            return change(term)
        case Call(arguments=arguments):
            return change(replace(term, arguments=tuple(change_own(argument, change) for argument in arguments)))
        case Cast(term=inner):
            return change(replace(term, term=change_own(inner, change)))
        case _:
            assert_never(term)


def change_own_literal(literal: Literal, change: Change) -> Literal:
    """`literal` with `change` applied to each of its terms; aggregates are changed but not entered."""
    match literal:
        case Atom():
            return change_own_atom(literal, change)
        case Negation(atom=atom):
            return replace(literal, atom=change_own_atom(atom, change))
        case Comparison(left=left, right=right):
            return replace(literal, left=change_own(left, change), right=change_own(right, change))
        case Test(arguments=arguments):
            return replace(literal, arguments=tuple(change_own(argument, change) for argument in arguments))
        case Truth():
            return literal
        case Disjunction(alternatives=alternatives):
            return replace(
                literal,
                alternatives=tuple(
                    tuple(change_own_literal(part, change) for part in alternative) for alternative in alternatives
                ),
            )
        case _:
            assert_never(literal)


def change_own_atom(atom: Atom, change: Change) -> Atom:
    """`atom` with `change` applied to each of its terms; aggregates are changed but not entered."""
    return replace(atom, arguments=tuple(change_own(argument, change) for argument in atom.arguments))


def change_everywhere(change: Change) -> Change:
    """The change that applies `change` inside aggregates too, then to the aggregate itself."""

    def entering(term: Term) -> Term:
        if isinstance(term, Aggregate):
            target = None if term.target is None else change_own(term.target, entering)
            body = tuple(change_own_literal(literal, entering) for literal in term.body)
            term = replace(term, target=target, body=body)
        return change(term)

    return entering


def change_body(body: Body, change: Change) -> Body:
    """`body` with `change` applied to each of its terms, those inside aggregates too."""
    entering = change_everywhere(change)
    return tuple(change_own_literal(literal, entering) for literal in body)


def change_atom(atom: Atom, change: Change) -> Atom:
    """`atom` with `change` applied to each of its terms, those inside aggregates too."""
    return change_own_atom(atom, change_everywhere(change))


def change_term(term: Term, change: Change) -> Term:
    """`term` with `change` applied to each of its parts, those inside aggregates too."""
    return change_own(term, change_everywhere(change))


def renaming(names: Mapping[str, str]) -> Change:
    """The change that gives variables new names; names not in `names` stay."""

    def change(term: Term) -> Term:
        if isinstance(term, Variable) and term.name in names:
            return Variable(names[term.name], term.span)
        return term

    return change


MARK = "#"
"""Stands in names that the check made up; no name of a user's has it."""


def written(name: str) -> str:
    """The name of a variable as the user wrote it."""
    return name.split(MARK)[0]
