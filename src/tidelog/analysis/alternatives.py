"""Bodies without disjunctions: takes a body, returns one for each way to choose among its alternatives."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, product
from math import prod

from tidelog.analysis.traversal import Body, own_terms
from tidelog.errors import Diagnostic
from tidelog.language.syntax_tree import Aggregate, Disjunction, Literal, Truth
from tidelog.span import Span

MOST_ALTERNATIVES = 10_000
MOST_LITERALS = 200
"""Of one rule without disjunctions: a plan has a node for each, one above the other, and Python takes so many calls."""


def alternatives(body: Body) -> list[Body]:
    """The disjunctive normal form of `body`; what is `false` is left out, and so is every `true`."""
    choices = product(*(_choices(literal) for literal in body))
    return [tuple(chain.from_iterable(choice)) for choice in choices]


def _choices(literal: Literal) -> Iterable[Body]:
    match literal:
        case Disjunction(alternatives=parts):
            return [body for part in parts for body in alternatives(part)]
        case Truth(value=value):
            return [()] if value else []
        case _:
            return [(literal,)]


def check_alternatives(body: Body, span: Span) -> Diagnostic | None:
    """A diagnostic for a body that is too long, or stands for too many without disjunctions; so for its aggregates."""
    number = _count(body)
    if number > MOST_ALTERNATIVES:
        return Diagnostic(
            "D409",
            f"the disjunctions of this rule stand for {number} rules, more than {MOST_ALTERNATIVES}",
            span,
            "give a group of alternatives a relation of its own",
        )
    length = _length(body)
    if length > MOST_LITERALS:
        return Diagnostic(
            "D411",
            f"the body of this rule has {length} literals, more than {MOST_LITERALS}",
            span,
            "give a part of it a relation of its own",
        )
    inner = (term for term in own_terms(body) if isinstance(term, Aggregate))
    findings = (check_alternatives(aggregate.body, aggregate.span) for aggregate in inner)
    return next((finding for finding in findings if finding is not None), None)


def _count(body: Body) -> int:
    return prod(sum(map(_count, literal.alternatives)) if isinstance(literal, Disjunction) else 1 for literal in body)


def _length(body: Body) -> int:
    """How many literals the longest body has that `body` stands for."""
    return sum(max(map(_length, each.alternatives), default=0) if isinstance(each, Disjunction) else 1 for each in body)
