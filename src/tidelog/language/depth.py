"""Whether a rule's terms are too deep for the recursive functions that work over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.errors import Diagnostic
from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Comparison,
    Disjunction,
    Literal,
    Negation,
    Rule,
    Term,
    Test,
)
from tidelog.span import Span

MAXIMUM_DEPTH = 200
"""Levels of a syntax tree, from a literal down to a constant or variable."""


def check_depth(rule: Rule) -> Iterator[Diagnostic]:
    """A diagnostic if some part of `rule` is more than MAXIMUM_DEPTH levels deep. Does not recurse."""
    pending: list[tuple[Literal | Term, int]] = [(part, 1) for part in (*rule.heads, *rule.body)]
    while pending:
        node, depth = pending.pop()
        if depth > MAXIMUM_DEPTH:
            yield Diagnostic(
                "D115",
                f"this rule has an expression more than {MAXIMUM_DEPTH} levels deep",
                name_span(rule),
                "give parts of it variables of their own",
            )
            return
        pending += [(part, depth + 1) for part in parts(node)]


def name_span(rule: Rule) -> Span:
    """The place of the name of the first head."""
    head = rule.heads[0]
    return replace(head.span, end_line=head.span.line, end_column=head.span.column + len(head.relation))


def parts(node: Literal | Term) -> tuple[Literal | Term, ...]:
    """The literals and terms directly below `node`."""
    match node:
        case Atom() | Test() | Call():
            return node.arguments
        case Negation(atom):
            return (atom,)
        case Comparison(_, left, right):
            return (left, right)
        case Disjunction(alternatives):
            return tuple(literal for alternative in alternatives for literal in alternative)
        case Aggregate(_, target, body):
            return body if target is None else (target, *body)
        case Cast(term):
            return (term,)
        case _:
            return ()
