"""Numbers as they are spelled."""

from __future__ import annotations

from math import isinf

from tidelog.errors import Diagnostic
from tidelog.language.syntax_tree import Constant
from tidelog.schema import Kind
from tidelog.span import Span

LEAST_NUMBER = -(2**63)
GREATEST_NUMBER = 2**63 - 1
GREATEST_UNSIGNED = 2**64 - 1


def read_number(text: str, span: Span) -> Constant | Diagnostic:
    """The constant that `text` spells, such as `-12`, `0x1F`, `7u` or `2.5`, or why there is none.

    A plain integer may be as great as the greatest unsigned: its kind is that of its place.
    """
    if text.isdigit() and len(text) < 19:
        return Constant(int(text), None, span)
    if "." in text or ("e" in text.lower() and "x" not in text.lower()):
        value = float(text)
        if isinf(value):
            return Diagnostic("D109", f"{shortened(text)} is too great for a float", span, "the greatest is 1.797e308")
        return Constant(value + 0.0, Kind.FLOAT, span)  # adding 0 turns a negative zero into 0
    unsigned = text.endswith("u")
    digits = text.removesuffix("u")
    if len(digits) > 100:
        return out_of_range(text, span)
    integer = int(digits, 0 if digits.lstrip("-")[:2].lower() in ("0x", "0b") else 10)
    if not LEAST_NUMBER <= integer <= GREATEST_UNSIGNED:
        return out_of_range(text, span)
    return Constant(integer, Kind.UNSIGNED if unsigned else None, span)


def out_of_range(text: str, span: Span) -> Diagnostic:
    hint = f"numbers go from {LEAST_NUMBER} to {GREATEST_NUMBER}, unsigned numbers from 0 to {GREATEST_UNSIGNED}"
    return Diagnostic("D109", f"{shortened(text)} does not fit in 64 bits", span, hint)


def shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"
