"""Rows from Python objects: tuples, dictionaries, NumPy, pandas, polars and everything that speaks Arrow; and back."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tidelog.connectors.conform import conform, places_of
from tidelog.connectors.problems import show
from tidelog.connectors.protocol import PLAIN, Options
from tidelog.connectors.python_rows import Origin, exact_column, rows_of, table_of_columns, table_of_rows
from tidelog.errors import InputError, UsageError
from tidelog.schema import Row, Schema

if TYPE_CHECKING:
    import pandas
    import polars


def to_table(rows: object, schema: Schema, options: Options = PLAIN) -> pa.Table:
    """`rows` as a table of the relation's Arrow schema; InputError names row (counted from 1) and attribute.

    Columns of frames and keys of dictionaries are taken by name if all names are there, else by position.
    """
    match rows:
        case pa.Table():
            return conform(rows, schema, options=options)
        case pa.RecordBatch():
            return conform(pa.Table.from_batches([rows]), schema, options=options)
        case pa.RecordBatchReader():
            return conform(rows.read_all(), schema, options=options)
        case pa.Array() | pa.ChunkedArray():
            return _single_column(rows, schema, options)
        case np.ndarray():
            return _from_numpy(rows, schema, options)
        case Mapping():
            return _from_columns(rows, schema, options)
        case str() | bytes() | bytearray():
            raise InputError(f"expected rows for {schema}, found a single {type(rows).__name__}")
        case _ if type(rows).__module__.partition(".")[0] == "pandas":
            return _from_pandas(rows, schema, options)
        case _ if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
            return _from_capsule(rows, schema, options)
        case Iterable():
            listed = rows if isinstance(rows, list) else list(rows)
            if len(listed) == schema.arity > 1 and not isinstance(listed[0], tuple | list | Mapping):
                raise _one_row(rows, schema)
            return table_of_rows(listed, schema, options=options)
        case _:
            raise InputError(f"expected rows for {schema}, found {type(rows).__name__}, which cannot be iterated")


def to_rows(table: pa.Table) -> list[Row]:
    """The rows of `table` as tuples."""
    return rows_of(table)


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """The rows of `table` as a pandas frame."""
    _library("pandas")
    return table.to_pandas()


def to_polars(table: pa.Table) -> polars.DataFrame:
    """The rows of `table` as a polars frame."""
    frame: polars.DataFrame = _library("polars").from_arrow(table)
    return frame


LIBRARIES: dict[str, str] = {"pandas": "tidelog[pandas]", "polars": "tidelog[polars]"}


def _library(name: str) -> Any:
    """The optional library, loaded now."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(f"{name} is not installed: run pip install '{LIBRARIES[name]}'") from None


def _single_column(column: pa.Array[Any] | pa.ChunkedArray[Any], schema: Schema, options: Options) -> pa.Table:
    """The table of a relation with one attribute; a column of structs is a table of its own."""
    if isinstance(column.type, pa.StructType):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in chunks]  # type: ignore[arg-type]
        return conform(pa.Table.from_batches(batches, pa.schema(list(column.type))), schema, options=options)
    return conform(pa.table([column], names=["values"]), schema, options=options)


def _from_numpy(rows: np.ndarray[Any, Any], schema: Schema, options: Options) -> pa.Table:
    if rows.dtype.names:
        return _from_columns({name: rows[name] for name in rows.dtype.names}, schema, options)
    if rows.dtype.kind not in "iuf":
        return table_of_rows(rows.tolist(), schema, options=options)
    if rows.ndim == 1 and schema.arity == 1:
        rows = rows.reshape(-1, 1)
    if rows.ndim != 2 or rows.shape[1] != schema.arity:
        raise InputError(f"expected an array of shape (rows, {schema.arity}) for {schema}, found {rows.shape}")
    if schema.arity == 0:
        return table_of_rows([()] * rows.shape[0], schema)
    columns = [pa.array(np.ascontiguousarray(rows[:, position])) for position in range(schema.arity)]
    return conform(pa.table(columns, names=list(options.column_names(schema))), schema, options=options)


def _from_columns(columns: Mapping[Any, Any], schema: Schema, options: Options) -> pa.Table:
    """The table of columns by name: arrays of any library, or lists of Python values."""
    names = list(columns)
    places = places_of(options.column_names(schema), names, schema, "")
    chosen = [columns[names[place]] for place in places]
    if any(isinstance(column, str | bytes) or not isinstance(column, Iterable) for column in chosen):
        raise _one_row(dict(columns), schema)
    lists = [column if isinstance(column, list | tuple) else _listed(column) for column in chosen]
    lengths = {len(column) for column in lists}
    if len(lengths) > 1:
        shown = ", ".join(f"{names[place]}: {len(column)}" for place, column in zip(places, lists, strict=True))
        raise InputError(f"the columns for {schema} differ in length ({shown})")
    arrays = [column for column in lists if isinstance(column, pa.Array | pa.ChunkedArray)]
    if len(arrays) == len(lists):
        return conform(pa.table(arrays, names=list(options.column_names(schema))), schema, options=options)
    values = [column if isinstance(column, list | tuple) else column.to_pylist() for column in lists]
    exact = [exact_column(column, kind) for column, kind in zip(values, schema.kinds, strict=True)]
    fitting = [column for column in exact if column is not None]
    if fitting and len(fitting) == len(exact):
        return table_of_columns(fitting, schema)
    return table_of_rows(list(zip(*values, strict=True)), schema, Origin(), options)


def _one_row(row: object, schema: Schema) -> InputError:
    """The error for one row in the place of rows."""
    return InputError(f"expected rows for {schema}, found one row: give a list of rows, [{show(row)}]")


def _listed(column: Any) -> Any:
    """`column` as an Arrow array, or as a list where Arrow finds no one type for it."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    try:
        return pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        return list(column)


def _from_pandas(frame: Any, schema: Schema, options: Options) -> pa.Table:
    """The table of a pandas frame or series, without its index."""
    if not hasattr(frame, "columns"):
        return _from_columns({"values": _listed(frame)}, schema, options)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a column of objects of several types
        places = places_of(options.column_names(schema), [str(name) for name in frame.columns], schema, "")
        chosen = frame.iloc[:, list(places)]
        return table_of_rows(list(chosen.itertuples(index=False, name=None)), schema, options=options)
    return conform(table, schema, options=options)


def _from_capsule(rows: Any, schema: Schema, options: Options) -> pa.Table:
    """The table of anything that speaks the Arrow C data interface."""
    try:
        table = (
            pa.table(rows) if hasattr(rows, "__arrow_c_stream__") else pa.Table.from_batches([pa.record_batch(rows)])
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError):  # a column and no table
        column = pa.chunked_array(rows) if hasattr(rows, "__arrow_c_stream__") else pa.array(rows)
        return _single_column(column, schema, options)
    return conform(table, schema, options=options)
