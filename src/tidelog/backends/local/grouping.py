"""Aggregates of a column by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import Mask
from tidelog.facts.values import Ids, Values
from tidelog.language.functions import RANGES, NoValue, aggregate
from tidelog.language.syntax_tree import AggregateFunction
from tidelog.schema import Kind

Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Groups:
    """The result for each group as ids; `present` marks groups that have one, `failed` those without a value."""

    ids: Ids
    present: Mask
    failed: Mask
    reason: str = ""


def aggregate_groups(
    function: AggregateFunction,
    kind: Kind,
    groups: Ids,
    count: int,
    column: Ids | None,
    column_kind: Kind,
    values: Values,
) -> Groups:
    """`function` over the values of `column` (None for a count) in each of `count` groups; `kind` is the result's."""
    sizes = np.bincount(groups, minlength=count)
    present = sizes > 0
    failed = np.zeros(count, np.bool_)
    match function:
        case AggregateFunction.COUNT:
            return Groups(values.identify(Kind.NUMBER, sizes.astype(np.int64)), np.ones(count, np.bool_), failed)
        case AggregateFunction.MIN | AggregateFunction.MAX:
            assert column is not None
            return Groups(_extreme(function, groups, count, column, column_kind, values), present, failed)
        case AggregateFunction.SUM if column_kind is not Kind.FLOAT:
            assert column is not None
            return _sum_integers(kind, groups, count, values.numbers(column_kind, column), values)
        case AggregateFunction.SUM | AggregateFunction.MEAN:
            assert column is not None
            return _each_group(function, kind, groups, count, values.numbers(column_kind, column), column_kind, values)


def _extreme(function: AggregateFunction, groups: Ids, count: int, column: Ids, kind: Kind, values: Values) -> Ids:
    """The id of the least or greatest value of each group; anything for a group without rows."""
    if kind in RANGES and column.size:
        return _extreme_integers(function, groups, count, values.numbers(kind, column), kind, values)
    different, where = np.unique(column, return_inverse=True)
    if kind is Kind.SYMBOL:
        texts: list[str] = values.decode(kind, different).to_pylist()
        order = np.array(sorted(range(len(texts)), key=lambda number: texts[number]), np.int64)
    else:
        order = np.argsort(values.numbers(kind, different))
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size)
    best = np.full(count, order.size if function is AggregateFunction.MIN else -1, np.int64)
    (np.minimum if function is AggregateFunction.MIN else np.maximum).at(best, groups, ranks[where])
    by_rank = different[order]
    return by_rank[np.clip(best, 0, order.size - 1)] if order.size else np.zeros(count, np.int32)


def _extreme_integers(
    function: AggregateFunction, groups: Ids, count: int, numbers: Numbers, kind: Kind, values: Values
) -> Ids:
    # A group without rows gets a value that is there already.
    best = np.full(count, numbers.max() if function is AggregateFunction.MIN else numbers.min(), numbers.dtype)
    (np.minimum if function is AggregateFunction.MIN else np.maximum).at(best, groups, numbers)
    return values.identify(kind, best)


def _sum_integers(kind: Kind, groups: Ids, count: int, numbers: Numbers, values: Values) -> Groups:
    """Exact sums: the two halves of the numbers apart cannot overflow below 2**31 rows."""
    highs = np.zeros(count, np.int64)
    lows = np.zeros(count, np.int64)
    shift = numbers.dtype.type(32)
    np.add.at(highs, groups, (numbers >> shift).astype(np.int64))
    np.add.at(lows, groups, (numbers & numbers.dtype.type(0xFFFFFFFF)).astype(np.int64))
    highs += lows >> 32
    lows &= 0xFFFFFFFF
    least, greatest = RANGES[kind]
    failed = (highs < least >> 32) | (highs > greatest >> 32)
    sums = np.where(failed, 0, (highs << 32) | lows).view(numbers.dtype)
    reason = f"the sum is outside the range of {kind.value}" if failed.any() else ""
    return Groups(values.identify(kind, sums), np.ones(count, np.bool_), failed, reason)


def _each_group(
    function: AggregateFunction,
    kind: Kind,
    groups: Ids,
    count: int,
    numbers: Numbers,
    number_kind: Kind,
    values: Values,
) -> Groups:
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=count))
    ordered = numbers[order].tolist()
    results = np.zeros(count, np.float64)
    present = np.zeros(count, np.bool_)
    failed = np.zeros(count, np.bool_)
    reason = ""
    start = 0
    for group, end in enumerate(ends.tolist()):
        try:
            result = aggregate(function, number_kind, ordered[start:end])
            present[group] = result is not None
            results[group] = result or 0.0
        except NoValue as missing:
            failed[group] = True
            reason = missing.reason
        start = end
    return Groups(values.identify(kind, results), present, failed, reason)
