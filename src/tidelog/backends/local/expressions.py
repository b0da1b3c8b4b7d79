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

from tidelog.backends.local.batch import Batch, Missing, Problem
from tidelog.facts.columns import DTYPES
from tidelog.facts.membership import Mask, RowSet
from tidelog.facts.values import Ids, Values
from tidelog.kernels import jit
from tidelog.kernels.rows import run_starts
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
from tidelog.plan.walk import names_in
from tidelog.schema import Kind, Value
from tidelog.span import Span

Numbers = npt.NDArray[Any]

_MANY_ROWS = 1 << 10
_LONG_RUNS = 4
"""Rows, and rows in a run on average, from which on a look for runs takes less than computing a value for each row."""


@dataclass(frozen=True, slots=True)
class Computed:
    """The value of a term for each row: numbers in the dtype of `kind`, ids for symbols and where `is_ids` says so.

    `missing` marks rows that have no value (None: every row has one). A constant has shape ().
    """

    kind: Kind
    array: Numbers
    is_ids: bool
    missing: Missing | None = None


def compute(term: Term, batch: Batch, kinds: dict[str, Kind], values: Values) -> Computed:
    """The value of `term` for each row of `batch`."""
    match term:
        case Variable(name):
            return Computed(kinds[name], batch.column(name), is_ids=True)
        case Constant(value, kind=Kind() as kind):
            return Computed(kind, np.array(values.identify_one(kind, value), np.int32), is_ids=True)
        case Cast(inner):
            return compute(inner, batch, kinds, values)
        case Call(_, arguments, kind=Kind() as kind):
            computed = [compute(argument, batch, kinds, values) for argument in arguments]
            return _with_missing_of(computed, _call(term, kind, computed, values))
        case _:
            raise AssertionError(f"{term} cannot stand in a plan")


def compute_ids(term: Term, batch: Batch, kinds: dict[str, Kind], values: Values) -> tuple[Ids, Missing | None]:
    """The value of `term` for each row as ids, and the rows without a value."""
    lengths, some = _without_repetition(term, batch)
    computed = compute(term, some, kinds, values)
    ids, missing = _for_all(_ids_of(computed, values), some), _spread(computed.missing, some.size)
    if lengths is None:
        return ids, missing
    return ids.repeat(lengths), None if missing is None else Missing(missing.rows.repeat(lengths), missing.problem)


def _without_repetition(term: Term, batch: Batch) -> tuple[npt.NDArray[np.int64] | None, Batch]:
    """The first of each run of rows that agree on what `term` reads, and the lengths of these; None and `batch` itself
    where that is not much less. A join puts all rows that come of one side by side."""
    names = tuple(names_in(term)) if isinstance(term, Call) and batch.size >= _MANY_ROWS else ()
    if not names:
        return None, batch
    starts = np.empty(batch.size // _LONG_RUNS, np.int64)
    jit.work(batch.size)
    runs = run_starts(batch.rows, batch.names.places(names), starts)
    if runs < 0:
        return None, batch
    return np.diff(starts[:runs], append=batch.size), Batch(batch.rows[starts[:runs]], batch.names)


def compute_numbers(term: Term, batch: Batch, kinds: dict[str, Kind], values: Values) -> tuple[Numbers, Missing | None]:
    """The value of a numeric `term` for each row, and the rows without a value."""
    computed = compute(term, batch, kinds, values)
    return _for_all(_numbers_of(computed, values), batch), _spread(computed.missing, batch.size)


def test(
    condition: Comparison | Test, batch: Batch, kinds: dict[str, Kind], values: Values
) -> tuple[Mask, Missing | None]:
    """For each row whether `condition` holds, and the rows for which it has no value."""
    match condition:
        case Comparison(_, left, right):
            sides = [compute(left, batch, kinds, values), compute(right, batch, kinds, values)]
            result = _with_missing_of(sides, _compare(condition, sides, values))
        case Test(function, arguments, negated):
            computed = [compute(argument, batch, kinds, values) for argument in arguments]
            result = _for_each_different(
                lambda *texts: holds(function, texts) != negated, None, computed, values, condition.span
            )
            result = _with_missing_of(computed, result)
    return _for_all(result.array.astype(np.bool_), batch), _spread(result.missing, batch.size)


def _compare(condition: Comparison, sides: list[Computed], values: Values) -> Computed:
    left, right = sides
    operator = condition.operator
    kind = left.kind
    if operator in (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL) and left.is_ids and right.is_ids:
        same = left.array == right.array
        return Computed(kind, same if operator is ComparisonOperator.EQUAL else ~np.asarray(same), is_ids=False)
    if kind is Kind.SYMBOL:
        return _for_each_different(lambda a, b: compare(operator, a, b), None, sides, values, condition.span)
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


def _call(call: Call, kind: Kind, arguments: list[Computed], values: Values) -> Computed:
    function, operands = call.function, call.operands
    if function == "ord":
        return Computed(kind, _ids_of(arguments[0], values).astype(np.int64), is_ids=False)
    if kind is not Kind.SYMBOL and len(arguments) == 2 and operands[0] is kind:
        vectorised = (_FLOAT_CALLS if kind is Kind.FLOAT else _INTEGER_CALLS).get(function)
        if vectorised is not None:
            left, right = (_numbers_of(argument, values) for argument in arguments)
            with np.errstate(all="ignore"):
                array, rows, reason = vectorised(np.asarray(left), np.asarray(right), kind)
            missing = Missing(rows, Problem(reason, call.span)) if rows.any() else None
            return Computed(kind, array, is_ids=False, missing=missing)
    return _for_each_different(lambda *each: apply(function, operands, kind, each), kind, arguments, values, call.span)


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
    # The float product is right to 53 bits: only near the edge of the range must the exact one be looked at.
    size = np.abs(left.astype(np.float64) * right.astype(np.float64))
    wrapped = size > 2.0**62
    if wrapped.any():
        low, high = (0, 2**64 - 1) if kind is Kind.UNSIGNED else (-(2**63), 2**63 - 1)
        lefts, rights = np.broadcast_arrays(left, right)
        wrapped = np.array(wrapped)
        for place in np.argwhere(wrapped).tolist():
            each = tuple(place)
            wrapped[each] = not low <= int(lefts[each]) * int(rights[each]) <= high
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
        missing = np.isnan(result)
        return _without_nan(result, missing), missing, NOT_A_NUMBER

    return of


def _divide_floats(left: Numbers, right: Numbers, _kind: Kind) -> tuple[Numbers, Mask, str]:
    result = left / right + 0.0
    zero = right == 0
    missing = zero | np.isnan(result)
    return _without_nan(result, missing), missing, DIVISION_BY_ZERO if np.any(zero) else NOT_A_NUMBER


def _without_nan(result: Numbers, missing: Mask) -> Numbers:
    """`result` with 0 for the missing rows: functions of it are computed for them too, and NaN is never a value."""
    return np.where(missing, 0.0, result)


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
    function: Callable[..., Value | bool], kind: Kind | None, arguments: list[Computed], values: Values, span: Span
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
        except NoValue as none:
            results.append(blank)
            invalid[row] = True
            reason = reason or none.reason
    if kind is None:
        array: Numbers = np.array(results, np.bool_)
    elif kind is Kind.SYMBOL:
        array = values.identify_all(kind, results)
    else:
        array = np.array(results, DTYPES[kind])
    missing = Missing(invalid[numbers], Problem(reason, span)) if reason else None
    return Computed(kind or Kind.NUMBER, array[numbers], kind is Kind.SYMBOL, missing)


def _with_missing_of(arguments: list[Computed], result: Computed) -> Computed:
    """`result`, without a value also where one of its arguments has none; the first argument's reason counts."""
    missing = result.missing
    for argument in reversed(arguments):
        if argument.missing is not None:
            rows = argument.missing.rows if missing is None else argument.missing.rows | missing.rows
            missing = Missing(rows, argument.missing.problem)
    return Computed(result.kind, result.array, result.is_ids, missing)


def _numbers_of(computed: Computed, values: Values) -> Numbers:
    return values.numbers(computed.kind, computed.array) if computed.is_ids else computed.array


def _ids_of(computed: Computed, values: Values) -> Numbers:
    if computed.is_ids:
        return computed.array
    return values.identify(computed.kind, np.atleast_1d(computed.array)).reshape(computed.array.shape)


def _for_all(array: Numbers, batch: Batch) -> Numbers:
    """`array`, once for each row where it has but one value for all."""
    return array if array.shape == (batch.size,) else np.broadcast_to(array, (batch.size,))


def _spread(missing: Missing | None, size: int) -> Missing | None:
    return None if missing is None else Missing(np.broadcast_to(missing.rows, (size,)), missing.problem)
