"""The vocabulary of the language: directives, qualifiers, operators and the words that cannot be names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

DIRECTIVES = (
    "decl",
    "type",
    "number_type",
    "symbol_type",
    "input",
    "output",
    "printsize",
    "limitsize",
    "pragma",
    "production",
    "plan",
)

LATER_DIRECTIVES = ("comp", "init", "functor", "lattice", "override", "include", "once")
"""Directives of Soufflé that are recognised, reported and skipped."""

QUALIFIERS = (
    *("inline", "no_inline", "magic", "no_magic", "brie", "btree", "btree_delete", "eqrel"),
    *("override", "overridable", "input", "output", "printsize"),
)

BINARY_OPERATORS: dict[str, int] = {
    "lor": 1,
    "lxor": 2,
    "land": 3,
    "bor": 4,
    "bxor": 5,
    "band": 6,
    "bshl": 7,
    "bshr": 7,
    "bshru": 7,
    "+": 8,
    "-": 8,
    "*": 9,
    "/": 9,
    "%": 9,
}
"""How tightly each left-associative operator binds."""

PREFIX_STRENGTH = 10
POWER_STRENGTH = 11

PREFIX_OPERATORS = {"-": "neg", "bnot": "bnot", "lnot": "lnot"}
"""Each prefix operator with the name of its function."""

POWER_SPELLINGS = ("^", "**")

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")

OPERATORS = frozenset([*BINARY_OPERATORS, *POWER_SPELLINGS, *COMPARISONS])
"""What may follow a complete operand."""

AGGREGATES = ("count", "sum", "min", "max", "mean")

TESTS = ("match", "contains")

KEYWORDS = frozenset([*AGGREGATES, *BINARY_OPERATORS, *PREFIX_OPERATORS, "true", "false", "nil", "as"])
"""Words that name neither a variable nor a relation."""

FUNCTIONS = frozenset(
    [
        *("cat", "strlen", "substr", "ord", "range", "to_string", "to_number", "to_unsigned", "to_float"),
        *("itof", "itou", "utoi", "utof", "ftoi", "ftou"),
    ]
)

RESERVED_FOR_RELATIONS = KEYWORDS | FUNCTIONS | frozenset(TESTS)
"""Words that cannot name a relation: after them, `(` starts the arguments of a function."""


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The one of `words` that `word` was probably meant to be, or None."""
    found = get_close_matches(word, list(words), n=1, cutoff=0.6)
    return found[0] if found else None
