"""How reports about kinds are worded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tidelog.analysis.traversal import written
from tidelog.analysis.unify import NUMERIC
from tidelog.language.syntax_tree import Aggregate, Call, Cast, Constant, Term, Variable, Wildcard
from tidelog.schema import Kind

CONVERSIONS = {
    (Kind.NUMBER, Kind.FLOAT): "itof",
    (Kind.NUMBER, Kind.UNSIGNED): "itou",
    (Kind.UNSIGNED, Kind.NUMBER): "utoi",
    (Kind.UNSIGNED, Kind.FLOAT): "utof",
    (Kind.FLOAT, Kind.NUMBER): "ftoi",
    (Kind.FLOAT, Kind.UNSIGNED): "ftou",
    (Kind.SYMBOL, Kind.NUMBER): "to_number",
    (Kind.SYMBOL, Kind.UNSIGNED): "to_unsigned",
    (Kind.SYMBOL, Kind.FLOAT): "to_float",
    (Kind.NUMBER, Kind.SYMBOL): "to_string",
    (Kind.UNSIGNED, Kind.SYMBOL): "to_string",
    (Kind.FLOAT, Kind.SYMBOL): "to_string",
}


def name_of(term: Term) -> str:
    """What a report calls `term`."""
    match term:
        case Variable(name=name):
            return f"'{written(name)}'"
        case Wildcard():
            return "'_'"
        case Constant(value=value):
            return f'"{value}"' if isinstance(value, str) else str(value)
        case Call(function="neg"):
            return "the result of '-'"
        case Call(function=function):
            return f"the result of '{function}'"
        case Cast(type=name):
            return f"the value as '{name}'"
        case Aggregate(function=function):
            return f"the result of '{function.value}'"
        case _:
            assert_never(term)


def with_article(kinds: frozenset[Kind]) -> str:
    """A set of kinds in words: `a number`, `an unsigned`, `a numeric value`."""
    if len(kinds) == 1:
        (kind,) = kinds
        return f"{'an' if kind is Kind.UNSIGNED else 'a'} {kind.value}"
    return "a numeric value" if kinds <= NUMERIC else "a value"


def advice(term: Term, found: frozenset[Kind], wanted: frozenset[Kind]) -> str:
    """What to do with a term of the kind `found` where another is `wanted`; empty when there is no advice."""
    match term:
        case Constant(value=int() | float() as value) if wanted == {Kind.SYMBOL}:
            return f'write "{value}" for the symbol'
        case Constant(value=float()) if wanted <= {Kind.NUMBER, Kind.UNSIGNED}:
            return "write it without a fraction"
        case Constant(value=str()) if wanted <= NUMERIC:
            return f"write {with_article(wanted)}, without quotes"
        case _:
            return conversion(found, wanted)


def conversion(found: frozenset[Kind], wanted: frozenset[Kind]) -> str:
    """The advice that turns what was found into what is wanted; empty when there is none."""
    if len(wanted) != 1 or not found:
        return ""
    (target,) = wanted
    source = next(kind for kind in Kind if kind in found)
    name = CONVERSIONS.get((source, target))
    return f"convert the {source.value} with '{name}'" if name else ""


def listed(words: Sequence[str], conjunction: str) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"
