"""Which columns of a relation are bound when it is asked for, and what the relations are called that answer that."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import TypeAlias

from tidelog.language import functions
from tidelog.language.syntax_tree import Atom, Call, Cast, Constant, Term, Variable
from tidelog.schema import Schema, Value

Adornment: TypeAlias = tuple[bool, ...]
"""For each column of a relation, whether its value is known beforehand."""


def bound_columns(atom: Atom, bound: Set[str]) -> Adornment:
    """The columns of `atom` that hold a constant or one of the variables `bound`; what must be computed is free."""
    return tuple(
        isinstance(term, Constant) or (isinstance(term, Variable) and term.name in bound) for term in atom.arguments
    )


def chosen(terms: tuple[Term, ...], adornment: Adornment) -> tuple[Term, ...]:
    """Those of `terms` that stand at bound columns."""
    return tuple(term for term, is_bound in zip(terms, adornment, strict=True) if is_bound)


def letters(adornment: Adornment) -> str:
    """`bf` for a first column that is bound and a second that is free."""
    return "".join("b" if is_bound else "f" for is_bound in adornment)


def adorned(relation: str, adornment: Adornment) -> str:
    """The name of the part of `relation` that is asked for with these columns bound."""
    return f"{relation}@{letters(adornment)}"


def wanted(relation: str, adornment: Adornment) -> str:
    """The name of the relation that holds what is asked for; papers call it the magic set."""
    return f"?{adorned(relation, adornment)}"


def given_to(relation: str) -> str:
    """The name of the relation that holds the explicit facts of a relation that has rules; `plan.lower` says so too."""
    return f"{relation}@given"


def adorned_schema(schema: Schema, adornment: Adornment) -> Schema:
    return replace(schema, relation=adorned(schema.relation, adornment))


def wanted_schema(schema: Schema, adornment: Adornment) -> Schema:
    attributes = tuple(each for each, is_bound in zip(schema.attributes, adornment, strict=True) if is_bound)
    return Schema(wanted(schema.relation, adornment), attributes)


def states_fact(head: Atom) -> bool:
    """Whether a rule without a body states a fact: then the fact is stored beforehand, and no rule derives it."""
    return all(_value(term) is not None for term in head.arguments)


def _value(term: Term) -> Value | None:
    """The value of an expression over constants; None when it has none, or when only a run can tell."""
    match term:
        case Constant(value):
            return value
        case Cast(inner):
            return _value(inner)
        case Call(function, arguments, kind=kind, operands=operands) if function not in ("ord", "range"):
            values = tuple(value for value in map(_value, arguments) if value is not None)
            if len(values) < len(arguments) or kind is None:
                return None
            try:
                return functions.apply(function, operands, kind, values)
            except functions.NoValue:
                return None
        case _:
            return None
