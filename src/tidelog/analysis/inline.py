"""Inline relations replaced by what defines them. Takes typed rules, returns bodies that no longer name the relation.

An inline relation is one like any other, read without being stored: a positive atom becomes the body of its rule, one
alternative for each rule. Some uses keep the relation, and it is stored after all: under negation and in aggregates,
where the variables of its body would need a meaning of their own, and where its rules compute something that may have
no value, so that inlining would decide whether that is noticed. A relation whose rules do not bind all their variables
cannot be stored; where it cannot be inlined either, that is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.analysis.alternatives import alternatives, check_alternatives
from tidelog.analysis.kinds import TypedRule
from tidelog.analysis.safety import is_safe
from tidelog.analysis.totality import always_has_value
from tidelog.analysis.traversal import (
    MARK,
    Body,
    Change,
    all_names,
    all_terms,
    change_atom,
    change_body,
    change_own_literal,
    own_names,
    own_terms,
    renaming,
    written,
)
from tidelog.errors import Diagnostic, Note
from tidelog.language.logic import negate
from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Disjunction,
    Literal,
    Negation,
    Term,
    Variable,
    Wildcard,
)
from tidelog.schema import Kind, Schema


@dataclass(frozen=True, slots=True)
class Definition:
    """One way in which an inline relation holds: a head and a body without disjunctions and inlined atoms."""

    head: Atom
    body: Body
    kinds: Mapping[str, Kind]

    @property
    def scope(self) -> frozenset[str]:
        return own_names((self.head, *self.body))

    @property
    def hidden(self) -> frozenset[str]:
        """Variables that no argument of the head fixes."""
        named = {term.name for term in self.head.arguments if isinstance(term, Variable)}
        return self.scope - named


@dataclass
class Inliner:
    """The definitions of the inline relations of a program; `diagnostics` has the uses that cannot be inlined."""

    schemas: Mapping[str, Schema]
    definitions: dict[str, tuple[Definition, ...]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    made: int = 0

    def define(self, relation: str, rules: Sequence[TypedRule]) -> None:
        """Learns what `relation` stands for; the inline relations it reads must be known already."""
        found = []
        for typed in rules:
            kinds = dict(typed.kinds)
            body = self.expand(typed.rule.body, kinds)
            too_many = check_alternatives(body, typed.rule.span)
            if too_many:
                self.diagnostics.append(too_many)
                continue
            heads = [head for head in typed.rule.heads if head.relation == relation]
            found += [Definition(head, part, kinds) for part in alternatives(body) for head in heads]
        self.definitions[relation] = tuple(found)

    def expand(self, body: Body, kinds: dict[str, Kind]) -> Body:
        """`body` with inline relations replaced; `kinds` gains the variables that came in."""
        return tuple(part for literal in body for part in self._literal(literal, kinds))

    def _literal(self, literal: Literal, kinds: dict[str, Kind]) -> Body:
        match literal:
            case Atom(relation=relation) if self._replaces(relation):
                return self._replace(literal, kinds)
            case Negation(atom=atom) if self._must_replace(atom.relation):
                return self._replace_negated(literal, kinds)
            case Disjunction(alternatives=parts):
                return (replace(literal, alternatives=tuple(self.expand(part, kinds) for part in parts)),)
            case _:
                return (change_own_literal(literal, self._in_aggregates(kinds)),)

    def _in_aggregates(self, kinds: dict[str, Kind]) -> Change:
        def change(term: Term) -> Term:
            if not isinstance(term, Aggregate):
                return term
            return replace(term, body=tuple(part for each in term.body for part in self._aggregated(each, kinds)))

        return change

    def _aggregated(self, literal: Literal, kinds: dict[str, Kind]) -> Body:
        """A literal of an aggregate's body: only what cannot be stored is inlined there."""
        match literal:
            case Atom(relation=relation) if self._must_replace(relation):
                if not _wildcards(literal) and not any(part.hidden for part in self.definitions[relation]):
                    return self._replace(literal, kinds)
                self.diagnostics.append(self._refusal(literal, "stand inside an aggregate"))
                return ()
            case Negation(atom=atom) if self._must_replace(atom.relation):
                self.diagnostics.append(self._refusal(atom, "be negated inside an aggregate"))
                return ()
            case Disjunction(alternatives=parts):
                bodies = tuple(tuple(new for each in part for new in self._aggregated(each, kinds)) for part in parts)
                return (replace(literal, alternatives=bodies),)
            case _:
                return (change_own_literal(literal, self._in_aggregates(kinds)),)

    def _replaces(self, relation: str) -> bool:
        """Whether a positive atom of `relation` is inlined."""
        return relation in self.definitions and (
            self._must_replace(relation)
            or all(always_has_value(part.head, part.body) for part in self.definitions[relation])
        )

    def _must_replace(self, relation: str) -> bool:
        """Whether `relation` cannot be stored because its rules do not bind all their variables."""
        return not all(is_safe(part.head, part.body, part.scope) for part in self.definitions.get(relation, ()))

    def _replace(self, atom: Atom, kinds: dict[str, Kind]) -> Body:
        bodies = tuple(self._instance(atom, definition, kinds) for definition in self.definitions[atom.relation])
        return bodies[0] if len(bodies) == 1 else (Disjunction(bodies, atom.span),)

    def _replace_negated(self, literal: Negation, kinds: dict[str, Kind]) -> Body:
        """No rule's body holds: possible where a body is a conjunction of tests of the arguments."""
        definitions = self.definitions[literal.atom.relation]
        if _wildcards(literal.atom) or any(part.hidden or _many_valued(part.body) for part in definitions):
            self.diagnostics.append(self._refusal(literal.atom, "be negated"))
            return ()
        bodies = (self._instance(literal.atom, definition, kinds) for definition in definitions)
        return tuple(part for body in bodies for part in negate(body, literal.span))

    def _instance(self, atom: Atom, definition: Definition, kinds: dict[str, Kind]) -> Body:
        """The body of `definition` for the arguments of `atom`, its own variables under new names."""
        fresh = self._fresh_names(definition)
        kinds |= {fresh[name]: definition.kinds[name] for name in fresh if name in definition.kinds}
        head = change_atom(definition.head, renaming(fresh))
        body = change_body(definition.body, renaming(fresh))
        values: dict[str, Term] = {}
        equations: list[Literal] = []
        columns = zip(atom.arguments, head.arguments, self.schemas[atom.relation].attributes, strict=True)
        for argument, column, attribute in columns:
            if isinstance(argument, Wildcard):
                continue
            if isinstance(column, Variable) and column.name not in values and isinstance(argument, Variable | Constant):
                values[column.name] = argument
            else:
                equation = Comparison(ComparisonOperator.EQUAL, argument, column, argument.span, attribute.kind)
                equations.append(equation)

        def change(term: Term) -> Term:
            return values.get(term.name, term) if isinstance(term, Variable) else term

        return change_body((*equations, *body), change)

    def _fresh_names(self, definition: Definition) -> dict[str, str]:
        self.made += 1
        names = sorted(all_names((definition.head, *definition.body)))
        return {name: f"{written(name)}{MARK}i{self.made}_{number}" for number, name in enumerate(names)}

    def _refusal(self, atom: Atom, use: str) -> Diagnostic:
        places = tuple(Note("one of its rules is here", part.head.span) for part in self.definitions[atom.relation][:1])
        return Diagnostic(
            "D218",
            f"the inline relation '{atom.relation}' cannot {use}: its rules do not bind all their variables",
            atom.span,
            "remove the qualifier 'inline' and bind every variable of its rules by a positive atom",
            notes=places,
        )


def check_inline_recursion(rules: Sequence[TypedRule], inlined: frozenset[str]) -> tuple[list[str], list[Diagnostic]]:
    """The inline relations in an order in which each reads only earlier ones, and a diagnostic for each that cannot."""
    reads: dict[str, dict[str, Atom]] = {name: {} for name in sorted(inlined)}
    for typed in rules:
        for head in typed.rule.heads:
            if head.relation in reads:
                for atom in _atoms(typed.rule.body):
                    if atom.relation in inlined:
                        reads[head.relation].setdefault(atom.relation, atom)
    ordered: list[str] = []
    waiting = dict(reads)
    while ready := [name for name, atoms in waiting.items() if not atoms.keys() & waiting.keys()]:
        ordered += ready
        for name in ready:
            del waiting[name]
    return ordered, [finding for name in waiting for finding in _recursive(name, reads)]


def _recursive(name: str, reads: Mapping[str, Mapping[str, Atom]]) -> Iterator[Diagnostic]:
    if name in set().union(*(_reached(other, reads) for other in reads[name])):
        first = next(atom for other, atom in reads[name].items() if name in _reached(other, reads))
        yield Diagnostic(
            "D217",
            f"the inline relation '{name}' is recursive",
            first.span,
            "remove the qualifier 'inline': a recursive relation must be stored",
        )


def _reached(name: str, reads: Mapping[str, Mapping[str, Atom]]) -> set[str]:
    reached = {name}
    while more := {other for known in reached for other in reads[known]} - reached:
        reached |= more
    return reached


def _atoms(body: Body) -> Iterator[Atom]:
    for literal in body:
        match literal:
            case Atom():
                yield literal
            case Negation(atom=atom):
                yield atom
            case Disjunction(alternatives=parts):
                for part in parts:
                    yield from _atoms(part)
        if not isinstance(literal, Disjunction):
            for term in own_terms((literal,)):
                if isinstance(term, Aggregate):
                    yield from _atoms(term.body)


def _wildcards(atom: Atom) -> bool:
    return any(isinstance(term, Wildcard) for term in atom.arguments)


def _many_valued(body: Body) -> bool:
    """Whether a literal is not the plain opposite of its negation: one with an aggregate or a range."""
    return any(
        isinstance(term, Aggregate) or (isinstance(term, Call) and term.function == "range") for term in all_terms(body)
    )
