"""Conjunctions, disjunctions and their negation in the one form the syntax tree knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from tidelog.language.syntax_tree import (
    Atom,
    Comparison,
    ComparisonOperator,
    Disjunction,
    Literal,
    Negation,
    Test,
    Truth,
)
from tidelog.span import Span

OPPOSITES = {
    ComparisonOperator.EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.LESS: ComparisonOperator.GREATER_EQUAL,
    ComparisonOperator.GREATER_EQUAL: ComparisonOperator.LESS,
    ComparisonOperator.GREATER: ComparisonOperator.LESS_EQUAL,
    ComparisonOperator.LESS_EQUAL: ComparisonOperator.GREATER,
}


def disjunction(alternatives: Sequence[tuple[Literal, ...]], span: Span) -> tuple[Literal, ...]:
    """Literals that hold when one of `alternatives` does; a disjunction in a disjunction is made one with it."""
    flat: list[tuple[Literal, ...]] = []
    for alternative in alternatives:
        match alternative:
            case (Disjunction(inner),):
                flat += inner
            case _:
                flat.append(alternative)
    return flat[0] if len(flat) == 1 else (Disjunction(tuple(flat), span),)


def negate(literals: Sequence[Literal], span: Span) -> tuple[Literal, ...]:
    """Literals that hold when not all of `literals` do, with `!` moved inward to atoms (De Morgan)."""
    return disjunction([_negate_one(literal, span) for literal in literals], span)


def _negate_one(literal: Literal, span: Span) -> tuple[Literal, ...]:
    match literal:
        case Atom():
            return (Negation(literal, span),)
        case Negation(atom):
            return (atom,)
        case Comparison(operator):
            return (replace(literal, operator=OPPOSITES[operator]),)
        case Test(negated=negated):
            return (replace(literal, negated=not negated),)
        case Truth(value):
            return (replace(literal, value=not value),)
        case Disjunction(alternatives):
            return tuple(part for alternative in alternatives for part in negate(alternative, span))
        case _:
            assert_never(literal)
