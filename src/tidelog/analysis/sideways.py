"""How values pass through a body: takes its literals and the variables bound at first, returns them in order.

Filters come as soon as they can be decided, then stored relations with a bound column, then relations that rules
compute. What might have no value passes nothing on: in a rule of its own it could be an error where the whole body is
none, because another literal is false. Nor does what negates or aggregates a relation that is asked for in parts,
which would tie it to the rule that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from tidelog.analysis.adornment import bound_columns
from tidelog.analysis.totality import always_has_value
from tidelog.analysis.traversal import own_names, own_terms
from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Literal,
    Negation,
    Term,
    Variable,
)

IsAsked = Callable[[str], bool]
"""Whether a relation is asked for in parts: rules compute it, and not all of it is needed."""


@dataclass(frozen=True, slots=True)
class Passing:
    """The literals of a body: those that pass values on, in order, and the rest, which sees all that they bind."""

    onward: tuple[Literal, ...]
    rest: tuple[Literal, ...]


def pass_sideways(body: Sequence[Literal], bound: Set[str], is_asked: IsAsked) -> Passing:
    """The literals of `body` in the order in which each can use most of what is bound before it."""
    known = set(bound)
    waiting = [literal for literal in body if _may_pass(literal, is_asked)]
    onward: list[Literal] = []
    while waiting:
        chosen = min(waiting, key=lambda literal: _rank(literal, known, is_asked))
        if not _can_be_placed(chosen, known):
            break
        waiting.remove(chosen)
        onward.append(chosen)
        known |= own_names((chosen,))
    placed = set(map(id, onward))
    return Passing(tuple(onward), tuple(literal for literal in body if id(literal) not in placed))


def connected(literals: Sequence[Literal], names: Set[str]) -> Iterator[Literal]:
    """Those of `literals` that share a variable with `names`, directly or through one another, in order."""
    reached = set(names)
    size = -1
    while len(reached) > size:
        size = len(reached)
        for literal in literals:
            own = own_names((literal,))
            if not own.isdisjoint(reached):
                reached |= own
    return (literal for literal in literals if not own_names((literal,)).isdisjoint(reached))


def _may_pass(literal: Literal, is_asked: IsAsked) -> bool:
    match literal:
        case Negation(atom=Atom(relation=relation)) if is_asked(relation):
            return False
        case _:
            return always_has_value(None, (literal,)) and not _computes(literal)


def _computes(literal: Literal) -> bool:
    """Whether it has a value that is in no fact: passed on round a cycle, such values might never end."""
    return any(isinstance(term, Call | Aggregate) for term in own_terms((literal,)))


def _rank(literal: Literal, known: Set[str], is_asked: IsAsked) -> tuple[int, int]:
    """The lower, the sooner; among equals, more bound columns come first, then the order of the text."""
    if not isinstance(literal, Atom):
        return (0, 0) if _can_be_placed(literal, known) else (9, 0)
    columns = bound_columns(literal, known)
    if columns and all(columns) and not is_asked(literal.relation):
        return 1, 0
    return (3 if is_asked(literal.relation) else 2) + (0 if any(columns) else 2), -sum(columns)


def _can_be_placed(literal: Literal, known: Set[str]) -> bool:
    match literal:
        case Atom():
            return True
        case Comparison(ComparisonOperator.EQUAL, left, right):
            return _is_known(left, known) or _is_known(right, known)
        case _:
            return own_names((literal,)) <= known


def _is_known(term: Term, known: Set[str]) -> bool:
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in known)
