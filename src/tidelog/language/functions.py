"""Every functor and test of the language: its name, its signatures, and what it gives for given values.

The words are those of `docs/explanation/meaning.md`. A backend may compute faster, never differently.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from itertools import count, takewhile
from typing import Any, assert_never

from tidelog.language.syntax_tree import AggregateFunction, ComparisonOperator
from tidelog.schema import Kind, Value

RANGES: Mapping[Kind, tuple[int, int]] = {
    Kind.NUMBER: (-(2**63), 2**63 - 1),
    Kind.UNSIGNED: (0, 2**64 - 1),
}
"""The least and the greatest value of each kind of integer."""


class NoValue(Exception):
    """An expression has no value for these operands; `reason` says why in a few words."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Notation(Enum):
    """How a function is written."""

    INFIX = "a + b"
    PREFIX = "-a"
    CALL = "f(a, b)"


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds of the operands and of the result. Where a function is variadic, the last operand's kind repeats."""

    operands: tuple[Kind, ...]
    result: Kind

    def __str__(self) -> str:
        return f"({', '.join(kind.value for kind in self.operands)})"


@dataclass(frozen=True, slots=True)
class Function:
    """A functor: how it is written, what it takes, and its meaning.

    Overloads are several signatures; those of one number of operands differ in kinds only. `meaning` is called with
    the kind of the first operand and the values.
    """

    name: str
    notation: Notation
    signatures: tuple[Signature, ...]
    variadic: bool
    meaning: Callable[..., Value]

    def takes(self, count: int) -> tuple[Signature, ...]:
        """The signatures for `count` operands, the variadic ones drawn out to that length."""
        fitting = (signature for signature in self.signatures if len(signature.operands) <= count)
        if not self.variadic:
            return tuple(signature for signature in fitting if len(signature.operands) == count)
        return tuple(
            Signature(
                signature.operands + signature.operands[-1:] * (count - len(signature.operands)), signature.result
            )
            for signature in fitting
        )

    @property
    def counts(self) -> str:
        """How many operands it takes, in words: `2`, `2 or 3`, `at least 2`."""
        lengths = sorted({len(signature.operands) for signature in self.signatures})
        return f"at least {lengths[0]}" if self.variadic else " or ".join(map(str, lengths))


@dataclass(frozen=True, slots=True)
class TestFunction:
    """A test: a functor that holds or does not."""

    __test__ = False  # not a test class, whatever pytest thinks

    name: str
    operands: tuple[Kind, ...]
    meaning: Callable[..., bool]


def apply(name: str, operands: tuple[Kind, ...], result: Kind, values: tuple[Value, ...]) -> Value:
    """The value of the function `name`; raises NoValue where it has none.

    `ord` depends on how an evaluator numbers its symbols, so the evaluator supplies it: here it raises LookupError.
    """
    function = FUNCTIONS[name]
    return function.meaning(operands[0] if operands else result, *values)


def holds(test: str, values: tuple[Value, ...]) -> bool:
    """Whether the test holds; raises NoValue where that cannot be said."""
    return TESTS[test].meaning(*values)


def compare(operator: ComparisonOperator, left: Value, right: Value) -> bool:
    """Whether `left operator right`, both of one kind. Symbols are ordered by code points."""
    a: Any = left
    b: Any = right
    match operator:
        case ComparisonOperator.EQUAL:
            return bool(a == b)
        case ComparisonOperator.NOT_EQUAL:
            return bool(a != b)
        case ComparisonOperator.LESS:
            return bool(a < b)
        case ComparisonOperator.LESS_EQUAL:
            return bool(a <= b)
        case ComparisonOperator.GREATER:
            return bool(a > b)
        case ComparisonOperator.GREATER_EQUAL:
            return bool(a >= b)
        case _:
            assert_never(operator)


def range_values(kind: Kind, start: Any, end: Any, step: Any | None = None) -> Iterator[Value]:
    """Each value from `start` up to but not including `end`; raises NoValue for a step of 0.

    Without `step` it counts by 1, down when `start > end`. Values of floats are `start + i * step`, so that errors of
    rounding do not add up.
    """
    if step == 0:
        raise NoValue("the step of a range is 0")
    if step is None:
        step = -1 if start > end else 1
    if kind is not Kind.FLOAT:
        return iter(range(start, end, step))
    if math.isinf(start) or math.isinf(step) or (math.isinf(end) and (end > 0) == (step > 0)):
        raise NoValue("a range with an infinite bound or step")
    return _float_steps(start, end, step)


def _float_steps(start: float, end: float, step: float) -> Iterator[Value]:
    steps = (clean_float(start + index * step) for index in count())
    return takewhile(lambda value: value < end if step > 0 else value > end, steps)


def aggregate(function: AggregateFunction, kind_of_target: Kind | None, values: Sequence[Any]) -> Value | None:
    """`function` of `values`, one for each assignment; None where its literal is false (min, max, mean of nothing).

    Sums of floats are exact and rounded once; a sum of integers outside the range raises NoValue. A mean is the sum,
    of any size, divided by the count. `kind_of_target` is None for `count`, which has no target.
    """
    match function:
        case AggregateFunction.COUNT:
            return len(values)
        case AggregateFunction.SUM:
            if kind_of_target is Kind.FLOAT:
                return _sum_of_floats(values)
            return checked_integer(kind_of_target or Kind.NUMBER, sum(values))
        case AggregateFunction.MIN:
            return min(values, default=None)
        case AggregateFunction.MAX:
            return max(values, default=None)
        case AggregateFunction.MEAN:
            if not values:
                return None
            total = _sum_of_floats(values) if kind_of_target is Kind.FLOAT else sum(values)
            return clean_float(total / len(values))
        case _:
            assert_never(function)


def _sum_of_floats(values: Sequence[float]) -> float:
    infinite = {value for value in values if math.isinf(value)}
    if infinite:
        return clean_float(sum(infinite))
    try:
        return clean_float(math.fsum(values))
    except OverflowError:
        # An intermediate sum is too large for fsum although the whole may not be.
        exact = sum(map(Fraction, values), Fraction(0))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def clean_float(value: float) -> float:
    """`value` without a negative zero; raises NoValue for NaN."""
    if value != value:
        raise NoValue(NOT_A_NUMBER)
    return value + 0.0


def checked_integer(kind: Kind, value: int) -> int:
    """`value`; raises NoValue when it is outside the range of `kind`."""
    least, greatest = RANGES[kind]
    if not least <= value <= greatest:
        raise NoValue(f"the result is outside the range of {kind.value}")
    return value


NOT_A_NUMBER = "the result is not a number (NaN)"
DIVISION_BY_ZERO = "division by zero"


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[[Kind, Any, Any], Value]:
    def meaning(kind: Kind, left: Any, right: Any) -> Value:
        result = operation(left, right)
        return clean_float(result) if kind is Kind.FLOAT else checked_integer(kind, result)

    return meaning


def _negate(kind: Kind, value: Any) -> Value:
    return clean_float(-value) if kind is Kind.FLOAT else checked_integer(kind, -value)


def _divide(kind: Kind, left: Any, right: Any) -> Value:
    if right == 0:
        raise NoValue(DIVISION_BY_ZERO)
    if kind is Kind.FLOAT:
        return clean_float(left / right)
    return checked_integer(kind, _truncated_quotient(left, right))


def _remainder(kind: Kind, left: int, right: int) -> Value:
    if right == 0:
        raise NoValue(DIVISION_BY_ZERO)
    return checked_integer(kind, left - right * _truncated_quotient(left, right))


def _truncated_quotient(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _power(kind: Kind, base: Any, exponent: Any) -> Value:
    if kind is Kind.FLOAT:
        return clean_float(_float_power(base, exponent))
    if exponent < 0:
        raise NoValue("a negative exponent of an integer")
    if exponent > 64 and abs(base) > 1:
        raise NoValue(f"the result is outside the range of {kind.value}")
    # Beyond 64 only -1, 0 and 1 are left, whose powers depend on the parity alone.
    return checked_integer(kind, base ** (exponent if exponent <= 64 else 64 + exponent % 2))


def _float_power(base: float, exponent: float) -> float:
    """IEEE 754 `pow`: infinite where it overflows and for a negative power of 0."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        if base == 0:
            return math.inf
        raise NoValue(NOT_A_NUMBER) from None


MASK = 2**64 - 1


def _wrap(kind: Kind, bits: int) -> int:
    """The low 64 of `bits` read as `kind`."""
    bits &= MASK
    return bits - 2**64 if kind is Kind.NUMBER and bits >> 63 else bits


def _bits(operation: Callable[[int, int], int]) -> Callable[[Kind, Any, Any], Value]:
    return lambda kind, left, right: _wrap(kind, operation(left, right))


def _logic(operation: Callable[[bool, bool], bool]) -> Callable[[Kind, Any, Any], Value]:
    return lambda _, left, right: int(operation(left != 0, right != 0))


def _substring(_: Kind, text: str, start: int, length: int) -> Value:
    if start < 0 or length < 0:
        raise NoValue("a negative start or length of substr")
    return text[start : start + length]


def _ord(*_: Any) -> Value:
    raise LookupError("the number of a symbol is the evaluator's own: it computes 'ord' itself")


def _range(*_: Any) -> Value:
    raise LookupError("'range' has many values: use range_values")


def to_text(kind: Kind, value: Any) -> str:
    """`value` as `to_string` writes it: the shortest digits that read back as the same float."""
    return repr(value) if kind is Kind.FLOAT else str(value)


INTEGER_TEXT = re.compile(r"([+-]?)(0x[0-9a-fA-F]+|0b[01]+|[0-9]+)", re.ASCII)
FLOAT_TEXT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.ASCII)
BASES = {"0x": 16, "0b": 2}


def _integer_from_text(kind: Kind) -> Callable[[Kind, str], Value]:
    def meaning(_: Kind, text: str) -> Value:
        found = INTEGER_TEXT.fullmatch(text)
        if not found:
            raise NoValue(f"{text!r} is not {'an' if kind is Kind.UNSIGNED else 'a'} {kind.value}")
        sign, digits = found.groups()
        value = int(digits, BASES.get(digits[:2], 10))
        return checked_integer(kind, -value if sign == "-" else value)

    return meaning


def _float_from_text(_: Kind, text: str) -> Value:
    if not FLOAT_TEXT.fullmatch(text):
        raise NoValue(f"{text!r} is not a float")
    return clean_float(float(text))


def _integer_to(kind: Kind) -> Callable[[Kind, int], Value]:
    return lambda _, value: checked_integer(kind, value)


def _float_to(kind: Kind) -> Callable[[Kind, float], Value]:
    def meaning(_: Kind, value: float) -> Value:
        if math.isinf(value):
            raise NoValue(f"the result is outside the range of {kind.value}")
        return checked_integer(kind, int(value))

    return meaning


def _to_float(_: Kind, value: int) -> Value:
    return float(value)


@lru_cache(maxsize=512)
def _pattern(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as problem:
        raise NoValue(f"{pattern!r} is not a regular expression: {problem}") from None


def _match(pattern: str, text: str) -> bool:
    return _pattern(pattern).fullmatch(text) is not None


N, U, F, S = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL


def _same(count: int, *kinds: Kind) -> tuple[Signature, ...]:
    """For each kind, the signature with `count` operands and a result of that kind."""
    return tuple(Signature((kind,) * count, kind) for kind in kinds)


def _infix(name: str, meaning: Callable[..., Value], *kinds: Kind) -> Function:
    return Function(name, Notation.INFIX, _same(2, *kinds), False, meaning)


def _prefix(name: str, meaning: Callable[..., Value], *kinds: Kind) -> Function:
    return Function(name, Notation.PREFIX, _same(1, *kinds), False, meaning)


def _functor(name: str, meaning: Callable[..., Value], *signatures: Signature) -> Function:
    return Function(name, Notation.CALL, signatures, False, meaning)


def _variadic(name: str, meaning: Callable[..., Value], *kinds: Kind) -> Function:
    return Function(name, Notation.CALL, _same(2, *kinds), True, meaning)


_ALL = (
    _infix("+", _arithmetic(lambda a, b: a + b), N, U, F),
    _infix("-", _arithmetic(lambda a, b: a - b), N, U, F),
    _infix("*", _arithmetic(lambda a, b: a * b), N, U, F),
    _infix("/", _divide, N, U, F),
    _infix("%", _remainder, N, U),
    _infix("^", _power, N, U, F),
    _prefix("neg", _negate, N, U, F),
    _infix("band", _bits(lambda a, b: a & b), N, U),
    _infix("bor", _bits(lambda a, b: a | b), N, U),
    _infix("bxor", _bits(lambda a, b: a ^ b), N, U),
    _prefix("bnot", lambda kind, a: _wrap(kind, ~a), N, U),
    _infix("bshl", _bits(lambda a, b: a << (b & 63)), N, U),
    _infix("bshr", _bits(lambda a, b: a >> (b & 63)), N, U),
    _infix("bshru", _bits(lambda a, b: (a & MASK) >> (b & 63)), N, U),
    _infix("land", _logic(lambda a, b: a and b), N, U),
    _infix("lor", _logic(lambda a, b: a or b), N, U),
    _infix("lxor", _logic(lambda a, b: a != b), N, U),
    _prefix("lnot", lambda _, a: int(a == 0), N, U),
    _variadic("min", lambda _, *values: min(values), N, U, F, S),
    _variadic("max", lambda _, *values: max(values), N, U, F, S),
    _variadic("cat", lambda _, *texts: "".join(texts), S),
    _functor("strlen", lambda _, text: len(text), Signature((S,), N)),
    _functor("substr", _substring, Signature((S, N, N), S)),
    _functor("ord", _ord, Signature((S,), N)),
    _functor("to_string", to_text, *(Signature((kind,), S) for kind in (N, U, F, S))),
    _functor("to_number", _integer_from_text(N), Signature((S,), N)),
    _functor("to_unsigned", _integer_from_text(U), Signature((S,), U)),
    _functor("to_float", _float_from_text, Signature((S,), F)),
    _functor("itof", _to_float, Signature((N,), F)),
    _functor("itou", _integer_to(U), Signature((N,), U)),
    _functor("utoi", _integer_to(N), Signature((U,), N)),
    _functor("utof", _to_float, Signature((U,), F)),
    _functor("ftoi", _float_to(N), Signature((F,), N)),
    _functor("ftou", _float_to(U), Signature((F,), U)),
    _functor("range", _range, *_same(2, N, U, F), *_same(3, N, U, F)),
)

FUNCTIONS: Mapping[str, Function] = {function.name: function for function in _ALL}

TOTAL = frozenset(FUNCTIONS) - {
    *("+", "-", "*", "/", "%", "^", "neg", "range", "substr"),
    *("to_number", "to_unsigned", "to_float", "itou", "utoi", "ftoi", "ftou"),
}
"""Functions that have a value for all operands."""

TESTS: Mapping[str, TestFunction] = {
    "contains": TestFunction("contains", (S, S), lambda part, text: part in text),
    "match": TestFunction("match", (S, S), _match),
}
