"""Terms and conditions over a whole batch at once.

Numbers are computed in NumPy. What NumPy has no exact word for (text, conversions, powers) goes through
`language.functions`, once for each different combination of operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.batch import Batch
from tidelog.facts.membership import Mask, RowSet
from tidelog.facts.values import DTYPES, Ids, Values
from tidelog.language.functions import (
    DIVISION_BY_ZERO,
    NOT_A_NUMBER,
    NoValue,
    apply,
    compare,
    holds,
)
from tidelog.language.syntax_tree import (
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Term,
    Test,
    Variable,
)
from tidelog.schema import Kind, Value

Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Computed:
    """The value of a term for each row: numbers in the dtype of `kind`, ids for symbols and where `is_ids` says so.

    `invalid` marks rows that have no value (None: every row has one), for `reason`. A constant has shape ().
    """

    kind: Kind
    array: Numbers
    is_ids: bool
    invalid: Mask | None = None
    reason: str = ""


def compute(term: Term, batch: Batch, kinds: dict[str, Kind], values: Values) -> Computed:
    """The value of `term` for each row of `batch`."""
    match term:
        case Variable(name):
            return Computed(kinds[name], batch.column(name), is_ids=True)
        case Constant(value, kind=Kind() as kind):
            return Computed(kind, np.array(values.identify_one(kind, value), np.int32), is_ids=True)
        case Cast(inner):
            return compute(inner, batch, kinds, values)
        case Call(function, arguments, kind=Kind() as kind, operands=operands):
            computed = [compute(argument, batch, kinds, values) for argument in arguments]
            return _with_invalid_of(computed, _call(function, kind, operands, computed, values))
        case _:
            raise AssertionError(f"{term} cannot stand in a plan")


def compute_ids(term: Term, batch: Batch, kinds: dict[str, Kind], values: Values) -> tuple[Ids, Mask | None, str]:
    """The value of `term` for each row as ids, the rows without a value, and why they have none."""
    computed = compute(term, batch, kinds, values)
    ids = np.broadcast_to(_ids_of(computed, values), (batch.size,))
    return ids, _spread(computed.invalid, batch.size), computed.reason


def compute_numbers(term: Term, batch: Batch, kinds: dict[str, Kind], values: Values) -> tuple[Numbers, Mask | None, str]:
    """The value of a numeric `term` for each row, the rows without a value, and why they have none."""
    computed = compute(term, batch, kinds, values)
    numbers = np.broadcast_to(_numbers_of(computed, values), (batch.size,))
    return numbers, _spread(computed.invalid, batch.size), computed.reason


def test(
    condition: Comparison | Test, batch: Batch, kinds: dict[str, Kind], values: Values
) -> tuple[Mask, Mask | None, str]:
    """For each row whether `condition` holds, the rows for which it has no value, and why they have none."""
    match condition:
        case Comparison(operator, left, right):
            sides = [compute(left, batch, kinds, values), compute(right, batch, kinds, values)]
            result = _with_invalid_of(sides, _compare(operator, sides, values))
        case Test(function, arguments, negated):
            computed = [compute(argument, batch, kinds, values) for argument in arguments]
            result = _for_each_different(lambda *texts: holds(function, texts) != negated, None, computed, values)
            result = _with_invalid_of(computed, result)
    held = np.broadcast_to(result.array.astype(np.bool_), (batch.size,))
    return held, _spread(result.invalid, batch.size), result.reason


def _compare(operator: ComparisonOperator, sides: list[Computed], values: Values) -> Computed:
    left, right = sides
    kind = left.kind
    if operator in (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL) and left.is_ids and right.is_ids:
        same = left.array == right.array
        return Computed(kind, same if operator is ComparisonOperator.EQUAL else ~np.asarray(same), is_ids=False)
    if kind is Kind.SYMBOL:
        return _for_each_different(lambda a, b: compare(operator, a, b), None, sides, values)
    function = _COMPARISONS[operator]
    return Computed(kind, np.asarray(function(_numbers_of(left, values), _numbers_of(right, values))), is_ids=False)


_COMPARISONS: dict[ComparisonOperator, Callable[..., Any]] = {
    ComparisonOperator.EQUAL: np.equal,
    ComparisonOperator.NOT_EQUAL: np.not_equal,
    ComparisonOperator.LESS: np.less,
    ComparisonOperator.LESS_EQUAL: np.less_equal,
    ComparisonOperator.GREATER: np.greater,
    ComparisonOperator.GREATER_EQUAL: np.greater_equal,
}


def _call(
    function: str, kind: Kind, operands: tuple[Kind, ...], arguments: list[Computed], values: Values
) -> Computed:
    if function == "ord":
        return Computed(kind, _ids_of(arguments[0], values).astype(np.int64), is_ids=False)
    if kind is not Kind.SYMBOL and len(arguments) == 2 and operands[0] is kind:
        vectorised = (_FLOAT_CALLS if kind is Kind.FLOAT else _INTEGER_CALLS).get(function)
        if vectorised is not None:
            left, right = (_numbers_of(argument, values) for argument in arguments)
            with np.errstate(all="ignore"):
                array, invalid, reason = vectorised(np.asarray(left), np.asarray(right), kind)
            return Computed(kind, array, is_ids=False, invalid=invalid if invalid.any() else None, reason=reason)
    return _for_each_different(lambda *each: apply(function, operands, kind, each), kind, arguments, values)


Vectorised = Callable[[Numbers, Numbers, Kind], tuple[Numbers, Mask, str]]


def _out_of_range(kind: Kind) -> str:
    return f"the result is outside the range of {kind.value}"


def _add(left: Numbers, right: Numbers, kind: Kind) -> tuple[Numbers, Mask, str]:
    total = left + right
    wrapped = total < left if kind is Kind.UNSIGNED else ((left ^ total) & (right ^ total)) < 0
    return total, wrapped, _out_of_range(kind)


def _subtract(left: Numbers, right: Numbers, kind: Kind) -> tuple[Numbers, Mask, str]:
    total = left - right
    wrapped = right > left if kind is Kind.UNSIGNED else ((left ^ right) & (left ^ total)) < 0
    return total, wrapped, _out_of_range(kind)


def _multiply(left: Numbers, right: Numbers, kind: Kind) -> tuple[Numbers, Mask, str]:
    product = left * right
    # The float product is right to 53 bits: only where it is near the edge of the range must the exact one be looked at.
    size = np.abs(left.astype(np.float64) * right.astype(np.float64))
    wrapped = size > 2.0**62
    if wrapped.any():
        low, high = (0, 2**64 - 1) if kind is Kind.UNSIGNED else (-(2**63), 2**63 - 1)
        lefts, rights = np.broadcast_arrays(left, right)
        wrapped = np.array(wrapped)
        for place in zip(*np.nonzero(wrapped), strict=True):
            wrapped[place] = not low <= int(lefts[place]) * int(rights[place]) <= high
    return product, wrapped, _out_of_range(kind)


def _divide(left: Numbers, right: Numbers, kind: Kind) -> tuple[Numbers, Mask, str]:
    zero = right == 0
    divisor = np.where(zero, np.ones_like(right), right)
    quotient = left // divisor
    if kind is Kind.NUMBER:
        quotient = quotient + ((quotient * divisor != left) & ((left < 0) != (divisor < 0)))
        edge = (left == np.iinfo(np.int64).min) & (divisor == -1)
        if edge.any():
            return quotient, zero | edge, DIVISION_BY_ZERO if zero.any() else _out_of_range(kind)
    return quotient, zero, DIVISION_BY_ZERO


def _remainder(left: Numbers, right: Numbers, kind: Kind) -> tuple[Numbers, Mask, str]:
    zero = right == 0
    # The remainder by -1 is 0, like that by 1, but the processor traps at the least number.
    safe = zero | (right == -1) if kind is Kind.NUMBER else zero
    return np.fmod(left, np.where(safe, np.ones_like(right), right)), zero, DIVISION_BY_ZERO


def _integers(operation: Callable[..., Any]) -> Vectorised:
    return lambda left, right, _kind: (operation(left, right), np.zeros((), np.bool_), "")


def _floats(operation: Callable[..., Any]) -> Vectorised:
    def of(left: Numbers, right: Numbers, _kind: Kind) -> tuple[Numbers, Mask, str]:
        result = operation(left, right) + 0.0
        return result, np.isnan(result), NOT_A_NUMBER

    return of


def _divide_floats(left: Numbers, right: Numbers, _kind: Kind) -> tuple[Numbers, Mask, str]:
    result = left / right + 0.0
    zero = right == 0
    return result, zero | np.isnan(result), DIVISION_BY_ZERO if np.any(zero) else NOT_A_NUMBER


_INTEGER_CALLS: dict[str, Vectorised] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
    "band": _integers(np.bitwise_and),
    "bor": _integers(np.bitwise_or),
    "bxor": _integers(np.bitwise_xor),
    "min": _integers(np.minimum),
    "max": _integers(np.maximum),
}

_FLOAT_CALLS: dict[str, Vectorised] = {
    "+": _floats(np.add),
    "-": _floats(np.subtract),
    "*": _floats(np.multiply),
    "/": _divide_floats,
    "min": _floats(np.minimum),
    "max": _floats(np.maximum),
}


def _for_each_different(
    function: Callable[..., Value | bool], kind: Kind | None, arguments: list[Computed], values: Values
) -> Computed:
    """`function` of each different combination of operands, spread over the rows. `kind` None stands for a test."""
    columns = np.broadcast_arrays(*(np.atleast_1d(_ids_of(argument, values)) for argument in arguments))
    combinations = RowSet(len(columns))
    numbers = combinations.number(np.stack(columns, axis=1).astype(np.int32), np.arange(len(columns)))
    different = combinations.rows[: combinations.count]
    operands = [
        values.decode(argument.kind, np.ascontiguousarray(different[:, number])).to_pylist()
        for number, argument in enumerate(arguments)
    ]
    results: list[Any] = []
    invalid = np.zeros(combinations.count, np.bool_)
    reason = ""
    blank = False if kind is None else "" if kind is Kind.SYMBOL else 0
    for row, each in enumerate(zip(*operands, strict=True)):
        try:
            results.append(function(*each))
        except NoValue as missing:
            results.append(blank)
            invalid[row] = True
            reason = reason or missing.reason
    if kind is None:
        array: Numbers = np.array(results, np.bool_)
    elif kind is Kind.SYMBOL:
        array = values.identify_all(kind, results)
    else:
        array = np.array(results, DTYPES[kind])
    spread = invalid[numbers] if reason else None
    return Computed(kind or Kind.NUMBER, array[numbers], kind is Kind.SYMBOL, spread, reason)


def _with_invalid_of(arguments: list[Computed], result: Computed) -> Computed:
    """`result`, invalid also where one of its arguments is."""
    invalid, reason = result.invalid, result.reason
    for argument in reversed(arguments):
        if argument.invalid is not None:
            invalid = argument.invalid if invalid is None else argument.invalid | invalid
            reason = argument.reason
    return Computed(result.kind, result.array, result.is_ids, invalid, reason)


def _numbers_of(computed: Computed, values: Values) -> Numbers:
    return values.numbers(computed.kind, computed.array) if computed.is_ids else computed.array


def _ids_of(computed: Computed, values: Values) -> Numbers:
    if computed.is_ids:
        return computed.array
    return values.identify(computed.kind, np.atleast_1d(computed.array)).reshape(computed.array.shape)


def _spread(invalid: Mask | None, size: int) -> Mask | None:
    return None if invalid is None else np.broadcast_to(invalid, (size,))
