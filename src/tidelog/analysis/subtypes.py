"""Whether the declared types of a rule fit together. Takes a rule whose kinds fit, yields what does not.

A variable has the values common to all types it is read from; there must be such a type. The type of a head's attribute
must accept all values of the variable. Constants and computed values fit any type of their kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.analysis.traversal import all_literals, written
from tidelog.analysis.types import TypeTable
from tidelog.errors import Diagnostic, Note
from tidelog.language.syntax_tree import (
    Atom,
    Cast,
    Comparison,
    ComparisonOperator,
    Literal,
    Negation,
    Rule,
    Term,
    Variable,
)
from tidelog.schema import Attribute, Schema
from tidelog.span import Span


@dataclass(frozen=True, slots=True)
class Reading:
    """A place where a value is seen as `type`; `what` describes it."""

    type: str
    what: str
    span: Span


def check_subtypes(rule: Rule, schemas: Mapping[str, Schema], types: TypeTable) -> Iterator[Diagnostic]:
    """One diagnostic for each variable without a common type, and for each head argument its attribute refuses."""
    literals = list(all_literals(rule.body))
    same = _equal_variables(literals)
    known: dict[str, tuple[frozenset[str], Reading]] = {}
    faulty: set[str] = set()
    for name, reading in _readings(literals, schemas):
        variable = same.get(name, name)
        if variable in faulty:
            continue
        before, first = known.get(variable, (frozenset({reading.type}), reading))
        common = types.common(before, reading.type)
        if not common:
            faulty.add(variable)
            yield _nothing_in_common(name, reading, before, first)
            continue
        known[variable] = (common, reading if common != before else first)
    found = {name: known[same.get(name, name)] for name in {*known, *same} if same.get(name, name) in known}
    sound = {name: pair for name, pair in found.items() if same.get(name, name) not in faulty}
    for literal in literals:
        if isinstance(literal, Negation):
            yield from _check_negation(literal.atom, sound, schemas, types)
    for head in rule.heads:
        yield from _check_head(head, sound, schemas[head.relation], types)


def _equal_variables(literals: list[Literal]) -> dict[str, str]:
    """For each variable that an equation makes equal to another, one name for all that are equal."""
    same: dict[str, str] = {}
    for literal in literals:
        match literal:
            case Comparison(ComparisonOperator.EQUAL, Variable(left), Variable(right)):
                one, other = same.get(left, left), same.get(right, right)
                same = {name: one if root == other else root for name, root in same.items()}
                same |= {left: one, right: one}
    return same


def _readings(literals: list[Literal], schemas: Mapping[str, Schema]) -> Iterator[tuple[str, Reading]]:
    for literal in literals:
        match literal:
            case Atom(relation=relation, arguments=arguments):
                for term, attribute in zip(arguments, schemas[relation].attributes, strict=True):
                    if isinstance(term, Variable):
                        yield term.name, _reading(term, attribute, relation)
            case Comparison(ComparisonOperator.EQUAL, Variable(name), Cast(type=seen_as, span=span)) | Comparison(
                ComparisonOperator.EQUAL, Cast(type=seen_as, span=span), Variable(name)
            ):
                yield name, Reading(seen_as, "this value", span)


def _reading(term: Term, attribute: Attribute, relation: str) -> Reading:
    return Reading(attribute.type, f"attribute '{attribute.name}' of '{relation}'", term.span)


def _nothing_in_common(name: str, reading: Reading, before: frozenset[str], first: Reading) -> Diagnostic:
    return Diagnostic(
        "D304",
        f"'{written(name)}' is a '{reading.type}' here and a {_either(before)} elsewhere, which have nothing in common",
        reading.span,
        f"use two variables, or say that you mean it with as(…, {reading.type})",
        notes=(Note(f"{first.what} is a '{first.type}'", first.span),),
    )


def _either(names: frozenset[str]) -> str:
    return " or ".join(f"'{name}'" for name in sorted(names))


def _check_negation(
    atom: Atom, known: Mapping[str, tuple[frozenset[str], Reading]], schemas: Mapping[str, Schema], types: TypeTable
) -> Iterator[Diagnostic]:
    for term, attribute in zip(atom.arguments, schemas[atom.relation].attributes, strict=True):
        if isinstance(term, Variable) and term.name in known:
            values, first = known[term.name]
            if not types.common(values, attribute.type):
                yield _nothing_in_common(term.name, _reading(term, attribute, atom.relation), values, first)


def _check_head(
    head: Atom, known: Mapping[str, tuple[frozenset[str], Reading]], schema: Schema, types: TypeTable
) -> Iterator[Diagnostic]:
    for term, attribute in zip(head.arguments, schema.attributes, strict=True):
        match term:
            case Variable(name=name) if name in known:
                values, reading = known[name]
                notes: tuple[Note, ...] = (Note(f"{reading.what} is a '{reading.type}'", reading.span),)
                said = f"'{written(name)}'"
            case Cast(type=seen_as):
                values, notes, said = frozenset({seen_as}), (), "this value"
            case _:
                continue
        if not all(types.accepts(attribute.type, value) for value in values):
            yield Diagnostic(
                "D305",
                f"attribute '{attribute.name}' of '{head.relation}' is a '{attribute.type}', "
                f"but {said} is a {_either(values)}",
                term.span,
                f"declare the attribute with a wider type, or write as(…, {attribute.type})",
                notes=notes,
            )
