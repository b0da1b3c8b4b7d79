"""What is wrong with rows from outside, collected and said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.errors import InputError
from tidelog.language.functions import RANGES
from tidelog.schema import Kind, Schema

SHOWN = 10
"""How many problems of one source are spelled out."""

NOUNS: dict[Kind, str] = {
    Kind.NUMBER: "a number",
    Kind.UNSIGNED: "an unsigned number",
    Kind.FLOAT: "a float",
    Kind.SYMBOL: "a symbol",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What does not fit; line and column count from 1, 0 when there is none."""

    message: str
    line: int = 0
    column: int = 0


def input_error(problems: Sequence[Problem], file: str) -> InputError:
    """The error that tells the first problems in full and counts the rest; its place is that of the first."""
    first, *others = problems[:SHOWN]
    lines = [first.message, *(str(InputError(each.message, file, each.line, each.column)) for each in others)]
    if len(problems) > SHOWN:
        lines.append(f"… and {len(problems) - SHOWN} more")
    return InputError("\n".join(lines), file, first.line, first.column)


def misfit(schema: Schema, position: int, found: str) -> str:
    """The sentence that says what the attribute at `position` takes and what was there instead."""
    attribute = schema.attributes[position]
    return f"expected {NOUNS[attribute.kind]} for attribute '{attribute.name}' of {schema}, found {found}"


def show(value: object) -> str:
    """`value` as an error shows it, cut when it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}… ({len(text)} characters)"


def out_of_range(kind: Kind) -> str:
    """The reason why an integer is no value of `kind`."""
    low, high = RANGES[kind]
    return f", which is outside {low} … {high}"
