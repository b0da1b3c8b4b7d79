"""Whether an expression may be without a value."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.analysis.traversal import all_literals, all_terms
from tidelog.language.functions import TOTAL
from tidelog.language.syntax_tree import Aggregate, Atom, Call, Literal, Test


def always_has_value(head: Atom | None, body: Sequence[Literal]) -> bool:
    """Whether no expression of `head` and `body` can be without a value, whatever the rows.

    Aggregates count as such that can, because a sum may leave the range; so do tests, because a pattern may be none.
    """
    if any(isinstance(literal, Test) for literal in all_literals(body)):
        return False
    return all(
        term.function in TOTAL if isinstance(term, Call) else not isinstance(term, Aggregate)
        for term in all_terms(body if head is None else (head, *body))
    )
