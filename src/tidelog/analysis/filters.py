"""Disjunctions that only filter, as counts. Takes the body of an aggregate, returns it with fewer disjunctions.

Where all variables of `(a ; b)` are bound by the rest, it holds when `count : { a } + count : { b } > 0`. The counts
are fixed by the other variables, so they do not change over which assignments the aggregate ranges.
"""

from __future__ import annotations

from functools import reduce

from tidelog.analysis.safety import bound_names, needs
from tidelog.analysis.traversal import MARK, Body, flat_literals
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Disjunction,
    Term,
    Variable,
    Wildcard,
)
from tidelog.schema import Kind


def filters_as_counts(body: Body, given: frozenset[str], scope: frozenset[str], kinds: dict[str, Kind]) -> Body:
    """`body` with counts instead of each disjunction whose variables `given` and the other literals bind.

    `scope` has the names outside the aggregates in `body`; `kinds` gains the variables of the counts.
    """
    others = tuple(literal for literal in body if not isinstance(literal, Disjunction))
    bound = bound_names(others, given, scope)
    changed: list[Body] = []
    for literal in body:
        if (
            isinstance(literal, Disjunction)
            and needs(literal, scope) <= bound
            and not _has_variables_of_its_own(literal)
        ):
            changed.append(_some_hold(literal, kinds))
        else:
            changed.append((literal,))
    return tuple(part for parts in changed for part in parts)


def _has_variables_of_its_own(disjunction: Disjunction) -> bool:
    """Whether a positive atom has a `_`, which is a variable of the aggregate too."""
    return any(
        isinstance(term, Wildcard)
        for literal in flat_literals((disjunction,))
        if isinstance(literal, Atom)
        for term in literal.arguments
    )


def _some_hold(disjunction: Disjunction, kinds: dict[str, Kind]) -> Body:
    span = disjunction.span
    counts: list[Term] = []
    equations: list[Comparison] = []
    for alternative in disjunction.alternatives:
        variable = Variable(f"count{MARK}f{len(kinds)}", span)
        kinds[variable.name] = Kind.NUMBER
        counts.append(variable)
        count = Aggregate(AggregateFunction.COUNT, None, alternative, span, Kind.NUMBER)
        equations.append(Comparison(ComparisonOperator.EQUAL, variable, count, span, Kind.NUMBER))
    total = reduce(lambda sum_, term: Call("+", (sum_, term), span, Kind.NUMBER, (Kind.NUMBER, Kind.NUMBER)), counts)
    zero = Constant(0, None, span, Kind.NUMBER)
    return (*equations, Comparison(ComparisonOperator.GREATER, total, zero, span, Kind.NUMBER))
