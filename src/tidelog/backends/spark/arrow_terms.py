"""What Spark's Python workers run: terms over Arrow batches, evaluated by the local engine.

Each maker returns a function over columns that gives a struct of values and reasons. It travels to the workers, which
need Tidelog installed. Spark reads what kind of function it is from its annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import numpy as np
import pyarrow as pa

from tidelog.backends.local.batch import Batch, Missing, layout_of
from tidelog.backends.local.expressions import compute_ids
from tidelog.backends.local.expressions import test as holds
from tidelog.backends.spark.layout import CARRIED
from tidelog.facts.columns import ARROW_TYPES, ArrowColumn, column_of, values_of
from tidelog.facts.values import Values
from tidelog.language.functions import NoValue, aggregate, range_values
from tidelog.language.syntax_tree import AggregateFunction, Comparison, Term, Test
from tidelog.schema import Kind, Row
from tidelog.span import Span

_AT_ONCE = 1 << 14
"""Values of a range that go into one batch."""


def evaluate_term(
    term: Term, names: tuple[str, ...], kinds: Mapping[str, Kind], spans: tuple[Span, ...]
) -> Callable[..., ArrowColumn]:
    """A function of the columns `names` that gives the value of `term`."""

    def evaluate(*columns: pa.Array) -> pa.Array:  # type: ignore[type-arg]
        values = Values()
        batch = _batch(columns, names, kinds, values)
        ids, missing = compute_ids(term, batch, dict(kinds), values)
        kind = kinds[term.name] if hasattr(term, "name") else term.kind  # type: ignore[union-attr]
        assert kind is not None
        value = values.decode(kind, np.ascontiguousarray(ids)).cast(CARRIED[kind])
        return _with_reasons(value, missing, spans)  # type: ignore[no-any-return]

    return evaluate


def evaluate_condition(
    condition: Comparison | Test, names: tuple[str, ...], kinds: Mapping[str, Kind], spans: tuple[Span, ...]
) -> Callable[..., ArrowColumn]:
    """A function of the columns `names` that says whether `condition` holds."""

    def evaluate(*columns: pa.Array) -> pa.Array:  # type: ignore[type-arg]
        values = Values()
        batch = _batch(columns, names, kinds, values)
        held, missing = holds(condition, batch, dict(kinds), values)
        return _with_reasons(pa.array(held.tolist(), pa.bool_()), missing, spans)  # type: ignore[no-any-return]

    return evaluate


def aggregate_lists(function: AggregateFunction, kind: Kind) -> Callable[[ArrowColumn], ArrowColumn]:
    """A function of a column of lists that gives the aggregate of each, a float."""

    def evaluate(lists: pa.Array) -> pa.Array:  # type: ignore[type-arg]
        results: list[float | None] = []
        reasons: list[str | None] = []
        for each in lists.to_pylist():
            numbers = [int(value) for value in each or ()] if kind is Kind.UNSIGNED else each
            try:
                results.append(aggregate(function, kind, numbers))  # type: ignore[arg-type]
                reasons.append(None)
            except NoValue as none:
                results.append(None)
                reasons.append(f"0 {none.reason}")
        return pa.StructArray.from_arrays(
            [pa.array(results, pa.float64()), pa.array(reasons, pa.string())], names=["value", "reason"]
        )

    return evaluate


def count_ranges(kind: Kind, bounds: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function of batches whose last `bounds` columns are the bounds of ranges.

    It gives each row without them once for every value, with the value and the reason why there is none.
    """

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = batch.select(batch.schema.names[: batch.num_columns - bounds])
            for number, limits in enumerate(_rows(batch.columns[-bounds:], kind)):
                row = kept.slice(number, 1)
                try:
                    yield from _counted(row, range_values(kind, *limits), kind)
                except NoValue as none:
                    yield _repeated(row, pa.array([None], CARRIED[kind]), f"0 {none.reason}")

    return count


def _counted(row: pa.RecordBatch, values: Iterator[object], kind: Kind) -> Iterator[pa.RecordBatch]:
    while some := list(islice(values, _AT_ONCE)):
        column = pa.array(some, ARROW_TYPES[kind]).cast(CARRIED[kind])
        yield _repeated(row, column, None)


def _repeated(row: pa.RecordBatch, values: ArrowColumn, reason: str | None) -> pa.RecordBatch:
    """`row` once for each value."""
    again = row.take(column_of(Kind.NUMBER, [0] * len(values)))
    reasons = pa.array([reason] * len(values), pa.string())
    return pa.RecordBatch.from_arrays(
        [*again.columns, values, reasons], names=[*row.schema.names, "t_value", "t_reason"]
    )


def _rows(columns: list[ArrowColumn], kind: Kind) -> Iterator[Row]:
    return zip(*(values_of(column.cast(ARROW_TYPES[kind])) for column in columns), strict=True)


def _batch(
    columns: tuple[ArrowColumn, ...], names: tuple[str, ...], kinds: Mapping[str, Kind], values: Values
) -> Batch:
    rows = np.zeros((len(columns[0]), max(1, len(names))), np.int32)
    for number, name in enumerate(names):
        rows[:, number] = values.encode(kinds[name], columns[number].cast(ARROW_TYPES[kinds[name]]))
    return Batch(rows, layout_of(names))


def _with_reasons(value: ArrowColumn, missing: Missing | None, spans: tuple[Span, ...]) -> ArrowColumn:
    if missing is None:
        reasons = pa.nulls(len(value), pa.string())
    else:
        text = f"{spans.index(missing.problem.span)} {missing.problem.reason}"
        reasons = pa.array([text if gone else None for gone in missing.rows.tolist()], pa.string())
    return pa.StructArray.from_arrays([value, reasons], names=["value", "reason"])
