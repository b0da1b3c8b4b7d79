"""Rows made of Python values, into Arrow columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from operator import itemgetter
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tidelog.connectors.marshalled_rows import marshalled_table
from tidelog.connectors.problems import Problem, input_error, misfit, out_of_range, show
from tidelog.connectors.protocol import PLAIN, Nulls, Options
from tidelog.facts.columns import arrow_schema, column_of, column_of_numbers, values_of
from tidelog.language.functions import RANGES
from tidelog.schema import Kind, Row, Schema, Value


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows came from, for error reports: a file and, where rows have one, the line of each."""

    file: str = ""
    lines: Sequence[int] = ()

    def problem(self, row: int, message: str) -> Problem:
        """The problem of the row at index `row`."""
        return Problem(message, self.lines[row]) if self.lines else Problem(f"row {row + 1}: {message}")


IN_PYTHON = Origin()


def table_of_rows(
    rows: Sequence[object], schema: Schema, origin: Origin = IN_PYTHON, options: Options = PLAIN
) -> pa.Table:
    """The table of `rows`: tuples or lists by position, mappings by name, or single values when the arity is 1."""
    if schema.arity == 0 or not rows:
        return _carefully(rows, schema, origin, options)
    table = marshalled_table(rows, schema)
    if table is None:
        table = _table_of_tuples(_as_tuples(rows, options.column_names(schema)), schema)
    return table if table is not None else _carefully(rows, schema, origin, options)


def table_of_columns(columns: Sequence[pa.Array[Any] | pa.ChunkedArray[Any]], schema: Schema) -> pa.Table:
    """The table of columns whose types are right already."""
    return pa.Table.from_arrays(list(columns), schema=arrow_schema(schema))


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of a table as tuples of Python values, in order."""
    if not table.num_columns:
        return [()] * table.num_rows
    return list(zip(*map(values_of, table.columns), strict=True))


def nullary(count: int) -> pa.Table:
    """A table of `count` rows without columns."""
    return pa.table({"": pa.nulls(count)}).select([])


def _as_tuples(rows: Sequence[object], names: Sequence[str]) -> Sequence[object]:
    """`rows` as tuples when all are dictionaries that have the names; else as they are."""
    if set(map(type, rows)) != {dict}:
        return rows
    try:
        values = list(map(itemgetter(*names), rows))  # type: ignore[arg-type]
    except KeyError:
        return rows
    return [(value,) for value in values] if len(names) == 1 else values


def _table_of_tuples(rows: Sequence[object], schema: Schema) -> pa.Table | None:
    """The table of rows that are all tuples or lists of exactly the right types; None when some row is not."""
    if not set(map(type, rows)) <= {tuple, list}:
        return None
    if set(map(len, rows)) != {schema.arity}:  # type: ignore[arg-type]
        return None
    columns: list[pa.Array[Any]] = []
    for position, kind in enumerate(schema.kinds):
        column = exact_column(list(map(itemgetter(position), rows)), kind)  # type: ignore[arg-type]
        if column is None:
            return None
        columns.append(column)
    return table_of_columns(columns, schema)


EXACT_TYPES: dict[Kind, frozenset[type]] = {
    Kind.NUMBER: frozenset({int}),
    Kind.UNSIGNED: frozenset({int}),
    Kind.FLOAT: frozenset({float, int}),
    Kind.SYMBOL: frozenset({str}),
}


def exact_column(values: Sequence[object], kind: Kind) -> pa.Array[Any] | None:
    """The column of `values` when every one is a plain value of `kind`, else None.

    Arrow alone would take 1.5 for 1 and None for null, so the Python types are looked at first.
    """
    if not EXACT_TYPES[kind].issuperset(map(type, values)):
        return None
    try:
        if kind is not Kind.FLOAT:
            return cast("pa.Array[Any]", column_of(kind, values))  # type: ignore[arg-type]
        floats = np.array(values, np.float64) + 0.0  # turns -0.0 into 0.0
    except (OverflowError, UnicodeEncodeError):
        return None
    return None if np.isnan(floats).any() else column_of_numbers(kind, floats)


def _carefully(rows: Sequence[object], schema: Schema, origin: Origin, options: Options) -> pa.Table:
    """The table of `rows`, looked at value by value; raises with every row that does not fit."""
    names = options.column_names(schema)
    columns: list[list[Value]] = [[] for _ in names]
    problems: list[Problem] = []
    kept = 0
    for index, row in enumerate(rows):
        try:
            fields = _fields(row, schema, names)
            if options.nulls is Nulls.SKIP and None in fields:
                continue
            values = [_field(field, schema, position) for position, field in enumerate(fields)]
        except ValueError as problem:
            problems.append(origin.problem(index, str(problem)))
            continue
        kept += 1
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    if problems:
        raise input_error(problems, origin.file)
    if not names:
        return nullary(kept)
    arrays = [column_of(kind, column) for column, kind in zip(columns, schema.kinds, strict=True)]
    return table_of_columns(arrays, schema)


def _fields(row: object, schema: Schema, names: Sequence[str]) -> Sequence[object]:
    match row:
        case Mapping():
            missing = [name for name in names if name not in row]
            if missing:
                given = ", ".join(map(str, row)) or "nothing"
                raise ValueError(f"'{missing[0]}' is missing: {schema} takes {', '.join(names)}, found {given}")
            return [row[name] for name in names]
        case tuple() | list():
            if len(row) != schema.arity:
                raise ValueError(f"expected {count(schema.arity)} for {schema}, found {len(row)}: {show(row)}")
            return row
        case _ if schema.arity == 1:
            return [row]
        case _:
            raise ValueError(f"expected a row of {count(schema.arity)} for {schema}, found {show(row)}")


def _field(value: object, schema: Schema, position: int) -> Value:
    try:
        return value_of(value, schema.attributes[position].kind)
    except ValueError as reason:
        raise ValueError(misfit(schema, position, f"{'NULL' if value is None else show(value)}{reason}")) from None


def value_of(value: object, kind: Kind) -> Value:
    """`value` as the plain Python value of `kind` that it equals; ValueError carries the reason when there is none."""
    if value is None or isinstance(value, bool):
        raise ValueError(" (bool)" if value is not None else "")
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED if isinstance(value, Integral):
            low, high = RANGES[kind]
            if not low <= int(value) <= high:
                raise ValueError(out_of_range(kind))
            return int(value)
        case Kind.FLOAT if isinstance(value, Real):
            return _float_of(value)
        case Kind.SYMBOL if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError(", which holds half a surrogate pair and is not text") from None
            return str(value)
        case _:
            raise ValueError(f" ({type(value).__name__})")


def _float_of(value: Real) -> float:
    try:
        result = float(value) + 0.0
    except OverflowError:
        raise ValueError(", which is too large for a float") from None
    if math.isnan(result):
        raise ValueError(", and NaN is never a value")
    if isinstance(value, Integral) and int(result) != int(value):
        raise ValueError(", which a float cannot hold exactly")
    return result


def count(fields: int) -> str:
    """`fields` as a person says it."""
    return "1 field" if fields == 1 else f"{fields} fields"
