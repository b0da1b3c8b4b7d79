"""Bodies without what is only a way of writing: takes terms and a body, returns bodies that the oracle can decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count, product

from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
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

Body = tuple[Literal, ...]


def alternatives(terms: tuple[Term, ...], body: Body) -> Iterator[tuple[tuple[Term, ...], Body]]:
    """The terms and the body, once for each way to choose among the disjunctions of the body, in plain form.

    Plain: the arguments of atoms are different or equal variables and nothing else, and a range or an aggregate stands
    only in `v = range(…)` and `v = sum …`. What stood elsewhere got a variable: `_#1` for a wildcard, which counts as a
    variable of the body, and `=#1` for an expression, which does not.
    """
    numbers = count()
    before: list[Literal] = []
    plain_terms = tuple(plain_term(term, numbers, before) for term in terms)
    plain_body = [part for literal in body for part in plain(literal, numbers)]
    for choice in choices((*plain_body, *before)):
        yield plain_terms, choice


def plain(literal: Literal, numbers: Iterator[int]) -> list[Literal]:
    """`literal` in plain form, after the equations that give values to its new variables."""
    before: list[Literal] = []
    match literal:
        case Atom(arguments=arguments):
            columns = tuple(plain_column(argument, numbers, before) for argument in arguments)
            return [*before, replace(literal, arguments=columns)]
        case Negation(atom):
            arguments = tuple(plain_term(argument, numbers, before) for argument in atom.arguments)
            return [*before, replace(literal, atom=replace(atom, arguments=arguments))]
        case Comparison(left=left, right=right):
            left, right = (plain_term(side, numbers, before) for side in (left, right))
            return [*before, replace(literal, left=left, right=right)]
        case Test(arguments=arguments):
            return [
                *before,
                replace(literal, arguments=tuple(plain_term(argument, numbers, before) for argument in arguments)),
            ]
        case Disjunction(branches):
            return [
                Disjunction(
                    tuple(tuple(part for each in branch for part in plain(each, numbers)) for branch in branches)
                )
            ]
        case Truth():
            return [literal]


def plain_column(term: Term, numbers: Iterator[int], before: list[Literal]) -> Variable:
    """The variable that stands for an argument of an atom; its equation, if it needs one, goes to `before`."""
    match term:
        case Variable():
            return term
        case Wildcard():
            return Variable(f"_#{next(numbers)}")
        case _:
            return named(plain_term(term, numbers, before), numbers, before)


def plain_term(term: Term, numbers: Iterator[int], before: list[Literal]) -> Term:
    """`term` with variables for its ranges and aggregates; their equations go to `before`."""
    match term:
        case Call(function, arguments):
            call = replace(term, arguments=tuple(plain_term(argument, numbers, before) for argument in arguments))
            return named(call, numbers, before) if function == "range" else call
        case Cast(inner):
            return plain_term(inner, numbers, before)
        case Aggregate():
            return named(term, numbers, before)
        case _:
            return term


def named(term: Term, numbers: Iterator[int], before: list[Literal]) -> Variable:
    """A new variable, equal to `term` by an equation in `before`."""
    variable = Variable(f"=#{next(numbers)}")
    before.append(Comparison(ComparisonOperator.EQUAL, variable, term))
    return variable


def choices(body: Body) -> Iterator[Body]:
    """Each body without disjunctions that comes from taking one branch of every disjunction."""
    ways = [
        [choice for branch in literal.alternatives for choice in choices(branch)]
        if isinstance(literal, Disjunction)
        else [(literal,)]
        for literal in body
    ]
    for way in product(*ways):
        yield tuple(literal for part in way for literal in part)


def names(found: Iterable[Literal | Term]) -> frozenset[str]:
    """The names of the variables among the nodes `found`."""
    return frozenset(node.name for node in found if isinstance(node, Variable))


def all_nodes(roots: Iterable[Literal | Term]) -> Iterator[Literal | Term]:
    """Every node below `roots`, and they themselves."""
    for root in roots:
        yield root
        yield from all_nodes(children(root))


def own_nodes(roots: Iterable[Literal | Term]) -> Iterator[Literal | Term]:
    """Every node below `roots`, and they themselves, but nothing inside the braces of an aggregate."""
    for root in roots:
        yield root
        if not isinstance(root, Aggregate):
            yield from own_nodes(children(root))


def children(node: Literal | Term) -> tuple[Literal | Term, ...]:
    """The nodes directly below `node`."""
    match node:
        case Atom(arguments=arguments) | Test(arguments=arguments) | Call(arguments=arguments):
            return arguments
        case Negation(Atom(arguments=arguments)):
            return arguments
        case Comparison(left=left, right=right):
            return (left, right)
        case Disjunction(branches):
            return tuple(literal for branch in branches for literal in branch)
        case Cast(inner):
            return (inner,)
        case Aggregate(target=target, body=body):
            return body if target is None else (target, *body)
        case Variable() | Wildcard() | Constant() | Truth():
            return ()
