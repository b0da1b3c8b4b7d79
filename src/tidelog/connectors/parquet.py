"""Parquet files: columns by name, or by position where the names are others but as many."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidelog.connectors.conform import conform, places_of
from tidelog.connectors.protocol import Options
from tidelog.errors import InputError, OutputError
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file, as a source and as a sink."""

    path: Path
    options: Options

    def read(self, schema: Schema) -> pa.Table:
        return read_parquet(self.path, schema, self.options)

    def write(self, rows: pa.Table, schema: Schema) -> None:
        if schema.arity == 0:
            raise OutputError(f"{schema}: Parquet does not count rows without columns; use IO=file or IO=jsonl")
        pq.write_table(rows.rename_columns(list(self.options.column_names(schema))), self.path)


def source(path: Path, options: Options) -> ParquetFile:
    return ParquetFile(path, options)


def sink(path: Path, options: Options) -> ParquetFile:
    return ParquetFile(path, options)


def read_parquet(path: Path, schema: Schema, options: Options) -> pa.Table:
    """The rows in the file, only the columns that are needed; a value that does not fit is named with its row."""
    file = str(path)
    try:
        with pq.ParquetFile(path) as opened:
            names = opened.schema_arrow.names
            places = places_of(options.column_names(schema), names, schema, file)
            # A dot in a name would be taken for a path into a nested column.
            whole = schema.arity == 0 or any("." in name for name in names)
            table = opened.read() if whole else opened.read(columns=[names[place] for place in places])
    except (pa.ArrowException, OSError) as reason:
        raise InputError(f"cannot be read as Parquet: {_first_line(reason)}", file) from None
    return conform(table, schema, file, options)


def _first_line(reason: BaseException) -> str:
    return (str(reason).splitlines() or [type(reason).__name__])[0]
