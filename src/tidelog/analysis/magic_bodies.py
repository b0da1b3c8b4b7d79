"""The atoms of a body, wherever they stand: read, or replaced by others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tidelog.analysis.traversal import all_literals, change_own_literal
from tidelog.language.syntax_tree import Aggregate, Atom, Disjunction, Literal, Negation, Term


def atoms_read(body: Iterable[Literal]) -> Iterator[Atom]:
    """Every atom of `body`: negated ones and those inside aggregates too."""
    for literal in all_literals(body):
        match literal:
            case Atom():
                yield literal
            case Negation(atom=atom):
                yield atom


def with_atoms(literal: Literal, is_meant: Callable[[str], bool], change: Callable[[Atom], Atom]) -> Literal:
    """`literal` with each atom of a relation that is meant changed, those inside aggregates too."""

    def enter(term: Term) -> Term:
        if not isinstance(term, Aggregate):
            return term
        target = None if term.target is None else _in_term(term.target)
        return replace(term, target=target, body=tuple(with_atoms(part, is_meant, change) for part in term.body))

    def _in_term(term: Term) -> Term:
        holder = change_own_literal(Atom("", (term,)), enter)
        assert isinstance(holder, Atom)
        return holder.arguments[0]

    match literal:
        case Disjunction(alternatives=parts):
            changed = tuple(tuple(with_atoms(part, is_meant, change) for part in body) for body in parts)
            return replace(literal, alternatives=changed)
        case Negation(atom=atom) if is_meant(atom.relation):
            return replace(literal, atom=change(atom))
        case Atom(relation=relation) if is_meant(relation):
            return change(literal)
        case _:
            return change_own_literal(literal, enter)
