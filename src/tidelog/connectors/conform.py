"""Arrow tables from outside, brought to the schema of a relation without losing or inventing a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.connectors.problems import NOUNS, Problem, input_error, misfit, show
from tidelog.connectors.protocol import PLAIN, Nulls, Options
from tidelog.connectors.python_rows import nullary, table_of_columns
from tidelog.errors import InputError
from tidelog.facts.columns import ARROW_TYPES, arrow_schema
from tidelog.schema import Kind, Schema

_ENCODED = (pa.DictionaryType, pa.RunEndEncodedType)


def conform(table: pa.Table, schema: Schema, file: str = "", options: Options = PLAIN) -> pa.Table:
    """The rows of `table` with the relation's own column types.

    Integers, floats and decimals become any numeric kind when the value stays the same; text stays text. Nothing is
    parsed from text and nothing is printed to it.
    """
    plain = _taken_as_it_is(schema)
    if plain is not None and table.schema.equals(plain) and not options.names:
        whole = table.columns
        if not any(column.null_count for column in whole):
            return table_of_columns(whole, schema)
    positions = places_of(options.column_names(schema), table.column_names, schema, file)
    if schema.arity == 0:
        return nullary(table.num_rows)
    columns = [_decoded(table.column(position)) for position in positions]
    if any(column.null_count for column in columns):
        columns = _without_nulls(columns, schema, file, options.nulls)
    return table_of_columns(
        [_conform_column(column, schema, position, file) for position, column in enumerate(columns)], schema
    )


@lru_cache(maxsize=256)
def _taken_as_it_is(schema: Schema) -> pa.Schema | None:
    """How a table from outside looks whose columns are taken without a look at each, but for nulls: most insertions are
    small, and looking takes longer than taking the rows. None if floats must be looked at, or there are no columns."""
    if not schema.arity or Kind.FLOAT in schema.kinds:
        return None
    return pa.schema([field.with_nullable(True) for field in arrow_schema(schema)])


def places_of(wanted: Sequence[str], found: Sequence[str], schema: Schema, file: str) -> Sequence[int]:
    """Where each wanted column is: by name if all names are there, else by position if there are as many columns."""
    if all(name in found for name in wanted):
        twice = [name for name in wanted if found.count(name) > 1]
        if twice:
            raise InputError(f"there are {found.count(twice[0])} columns named '{twice[0]}' for {schema}", file)
        return [found.index(name) for name in wanted]
    if len(found) == len(wanted):
        return range(len(wanted))
    missing = ", ".join(f"'{name}'" for name in wanted if name not in found)
    raise InputError(
        f"{schema} needs {len(wanted)} columns, found {len(found)} ({', '.join(map(str, found))}); missing: {missing}",
        file,
    )


def _decoded(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """`column` without dictionary or run-length encoding."""
    kind = column.type
    if isinstance(kind, _ENCODED):
        return column.cast(kind.value_type)
    return column


def _without_nulls(
    columns: list[pa.ChunkedArray[Any]], schema: Schema, file: str, nulls: Nulls
) -> list[pa.ChunkedArray[Any]]:
    """`columns` without the rows in which one of them is null; an error when nulls are refused."""
    missing = [column.is_null().to_numpy() for column in columns]
    if nulls is Nulls.REFUSE:
        problems = [
            Problem(f"row {int(mask.argmax()) + 1}: {misfit(schema, position, 'NULL')} ({int(mask.sum())} in all)")
            for position, mask in enumerate(missing)
            if mask.any()
        ]
        raise input_error(problems, file)
    whole = pa.array(~np.logical_or.reduce(missing))
    return [column.filter(whole) for column in columns]


def _conform_column(column: pa.ChunkedArray[Any], schema: Schema, position: int, file: str) -> pa.ChunkedArray[Any]:
    kind = schema.attributes[position].kind
    target = ARROW_TYPES[kind]
    if column.type.equals(target):
        return _settled(column, schema, position, file) if kind is Kind.FLOAT else column
    if not _takes(kind, column.type):
        raise InputError(misfit(schema, position, f"a column of {column.type}{_advice(kind, column.type)}"), file)
    try:
        fitted = column.cast(target)
    except pa.ArrowInvalid:
        row = _first_failing(column, lambda part: part.cast(target))
        found = show(column[row].as_py())
        raise InputError(f"row {row + 1}: {misfit(schema, position, found)}", file) from None
    return _settled(fitted, schema, position, file) if kind is Kind.FLOAT else fitted


def _takes(kind: Kind, found: pa.DataType) -> bool:
    if pa.types.is_null(found):
        return True
    if kind is Kind.SYMBOL:
        return any(
            test(found)
            for test in (
                pa.types.is_string,
                pa.types.is_large_string,
                pa.types.is_string_view,
                pa.types.is_binary,
                pa.types.is_large_binary,
            )
        )
    return pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found)


def _advice(kind: Kind, found: pa.DataType) -> str:
    if pa.types.is_temporal(found) or pa.types.is_boolean(found):
        return f"; turn it into {NOUNS[kind]} first, times and truths are no values here"
    return ""


def _first_failing(column: pa.ChunkedArray[Any], attempt: Callable[[pa.ChunkedArray[Any]], object]) -> int:
    """The first row that `attempt` cannot take, by halving; there is one."""
    start, size = 0, len(column)
    while size > 1:
        half = size // 2
        try:
            attempt(column.slice(start, half))
        except pa.ArrowInvalid:
            size = half
        else:
            start, size = start + half, size - half
    return start


def _settled(column: pa.ChunkedArray[Any], schema: Schema, position: int, file: str) -> pa.ChunkedArray[Any]:
    """A float column whose negative zeros became zeros; NaN is an error."""
    floats = column.to_numpy() + 0.0
    nan = np.isnan(floats)
    if nan.any():
        found = "NaN, which is never a value"
        raise InputError(f"row {int(nan.argmax()) + 1}: {misfit(schema, position, found)}", file)
    return pa.chunked_array([pa.array(floats)])
