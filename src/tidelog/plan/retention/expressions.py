"""Bodies of production rules as COSMA sees them: atoms with and without negation, and the conditions beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.analysis.checked import SignedHead
from tidelog.analysis.traversal import all_literals, own_names, own_terms
from tidelog.language.printer import print_literal
from tidelog.language.syntax_tree import Aggregate, Atom, Constant, Literal, Negation, Sign, Variable, Wildcard


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a relation stands in an expression."""

    atom: Atom
    is_negated: bool

    @property
    def variables(self) -> frozenset[str]:
        return own_names((self.atom,))

    @property
    def constants(self) -> int:
        """How many columns are fixed: the more, the fewer rows."""
        return sum(isinstance(term, Constant) for term in self.atom.arguments)

    def __str__(self) -> str:
        return f"{'!' if self.is_negated else ''}{print_literal(self.atom)}"


@dataclass(frozen=True, slots=True)
class Expression:
    """A conjunction; `conditions` are its comparisons and tests."""

    occurrences: tuple[Occurrence, ...]
    conditions: tuple[Literal, ...] = ()

    @property
    def grouped(self) -> frozenset[str]:
        """The relations that aggregates in its conditions read."""
        return frozenset(
            atom.relation
            for term in own_terms(self.conditions)
            if isinstance(term, Aggregate)
            for literal in all_literals(term.body)
            for atom in _atoms(literal)
        )

    def with_more(self, *occurrences: Occurrence) -> Expression:
        """The same with these atoms too."""
        return Expression((*self.occurrences, *occurrences), self.conditions)

    def tied_columns(self, occurrence: Occurrence) -> frozenset[int]:
        """The columns of an occurrence on which it is joined or selected: shared variables and constants.

        Definition before 4.1 (SV). A variable that a condition looks at counts as shared.
        """
        others = [other for other in self.occurrences if other is not occurrence]
        shared = frozenset[str]().union(*(other.variables for other in others)) | own_names(self.conditions)
        terms = occurrence.atom.arguments
        return frozenset(
            number
            for number, term in enumerate(terms)
            if not isinstance(term, Variable | Wildcard)
            or (isinstance(term, Variable) and (term.name in shared or terms.count(term) > 1))
        )


def body_expression(body: Iterable[Literal]) -> Expression:
    """The body of a rule."""
    occurrences: list[Occurrence] = []
    conditions: list[Literal] = []
    for literal in body:
        match literal:
            case Atom():
                occurrences.append(Occurrence(literal, is_negated=False))
            case Negation(atom):
                occurrences.append(Occurrence(atom, is_negated=True))
            case _:
                conditions.append(literal)
    return Expression(tuple(occurrences), tuple(conditions))


def net_occurrence(head: SignedHead) -> Occurrence:
    """What must hold beside the body for `head` to change something: its row is not there yet, or still there."""
    return Occurrence(head.atom, is_negated=head.sign is Sign.INSERT)


def _atoms(literal: Literal) -> tuple[Atom, ...]:
    match literal:
        case Atom():
            return (literal,)
        case Negation(atom):
            return (atom,)
        case _:
            return ()
