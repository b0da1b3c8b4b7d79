"""Delimited text: Soufflé's fact files, and CSV as RFC 4180 has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tidelog.connectors.conform import places_of
from tidelog.connectors.delimited_careful import Layout, first_record, read_carefully, read_nullary
from tidelog.connectors.delimited_writer import write_delimited
from tidelog.connectors.files import contents
from tidelog.connectors.problems import Problem, input_error
from tidelog.connectors.protocol import Options, Quoting
from tidelog.connectors.python_rows import table_of_columns
from tidelog.facts.columns import ARROW_TYPES, column_of_numbers, empty_table, numbers_of
from tidelog.schema import Kind, Schema

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
INTEGERS = frozenset({Kind.NUMBER, Kind.UNSIGNED})


@dataclass(frozen=True, slots=True)
class DelimitedFile:
    """A file of delimited text, as a source and as a sink."""

    path: Path
    options: Options

    def read(self, schema: Schema) -> pa.Table:
        return read_delimited(contents(self.path), schema, self.options, str(self.path))

    def write(self, rows: pa.Table, schema: Schema) -> None:
        with open(self.path, "wb") as file:
            write_delimited(rows, schema, self.options, file)


def source(path: Path, options: Options) -> DelimitedFile:
    return DelimitedFile(path, options)


def sink(path: Path, options: Options) -> DelimitedFile:
    return DelimitedFile(path, options)


def read_delimited(data: bytes, schema: Schema, options: Options, file: str) -> pa.Table:
    """The rows in `data`; `file` is what errors call it.

    Lines end with LF or CRLF; the last may have no end. Blank lines are skipped, except where a line holds a single
    symbol: there it is the empty text. Space around numbers is ignored. Numbers are decimal.
    """
    data = data.removeprefix(BYTE_ORDER_MARK)
    if schema.arity == 0:
        return read_nullary(data, schema, options, file)
    layout = _layout(data, schema, options, file)
    if layout.start >= len(data):
        return empty_table(schema)
    table = _read_fast(data, schema, options, layout)
    return table if table is not None else _read_by_blocks(data, schema, options, layout, file)


def _read_by_blocks(data: bytes, schema: Schema, options: Options, layout: Layout, file: str) -> pa.Table:
    """The rows in `data`, where only the blocks of lines that the fast reader refuses are read line by line."""
    tables: list[pa.Table] = []
    problems: list[Problem] = []
    for lines, place in _blocks(data, options, layout):
        table = _read_fast(lines, schema, options, place)
        if table is None:
            table, found = read_carefully(lines, schema, options, place, file)
            problems += found
        tables.append(table)
    if problems:
        raise input_error(problems, file)
    return pa.concat_tables(tables)


BLOCK = 1 << 20


def _blocks(data: bytes, options: Options, layout: Layout) -> Iterator[tuple[bytes, Layout]]:
    """`data` cut at line ends, each piece with its own first line; one piece where quotes may hold line ends."""
    start, line = layout.start, layout.first_line
    while start < len(data):
        cut = data.find(b"\n", start + BLOCK) + 1 if options.quoting is Quoting.RAW else 0
        end = cut or len(data)
        piece = data[start:end]
        yield piece, replace(layout, start=0, first_line=line)
        start, line = end, line + piece.count(b"\n")


def _layout(data: bytes, schema: Schema, options: Options, file: str) -> Layout:
    """Which field of a line is which attribute: what the header says, if there is one."""
    if not options.headers or not data:
        return Layout(schema.arity, tuple(range(schema.arity)), start=0, first_line=1)
    header, start = first_record(data, options, file)
    places = tuple(places_of(options.column_names(schema), header, schema, f"{file}:1"))
    return Layout(len(header), places, start, first_line=2)


STAND_INS = (b"\x1f", b"\x1e", b"\x1d", b"\x01")


def _regular(data: bytes, options: Options, layout: Layout) -> tuple[pa.Buffer, str] | None:
    """The lines of rows and a delimiter of one byte, such that the fast reader sees the fields that we see.

    None when there is no such thing.
    """
    raw = options.quoting is Quoting.RAW
    # The fast reader ends a line at a lone carriage return; in a plain fact file that is part of a symbol.
    if raw and b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    # The fast reader takes the end of the file for the end of a quote.
    if not raw and data.count(b'"') % 2:
        return None
    if len(options.delimiter) == 1 and options.delimiter.isascii():
        return pa.py_buffer(data).slice(layout.start), options.delimiter
    stand_in = next((byte for byte in STAND_INS if byte not in data), None)
    if not raw or stand_in is None:
        return None
    return pa.py_buffer(data[layout.start :].replace(options.delimiter.encode(), stand_in)), stand_in.decode()


def _read_fast(data: bytes, schema: Schema, options: Options, layout: Layout) -> pa.Table | None:
    """The rows in `data` read by Arrow's CSV reader; None when some line needs a closer look."""
    regular = _regular(data, options, layout)
    if regular is None:
        return None
    lines, delimiter = regular
    as_text = INTEGERS if b"0x" in data or b"0X" in data else frozenset()
    types = [ARROW_TYPES[Kind.SYMBOL] if kind in as_text else ARROW_TYPES[kind] for kind in schema.kinds]
    chosen = [str(place) for place in layout.places]
    quoted = options.quoting is Quoting.RFC4180
    try:
        table = csv.read_csv(
            pa.BufferReader(lines),  # type: ignore[arg-type]
            read_options=csv.ReadOptions(column_names=[str(place) for place in range(layout.width)]),
            parse_options=csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                double_quote=quoted,
                escape_char=False,
                newlines_in_values=quoted,
                ignore_empty_lines=not layout.blank_is_row(schema),
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict(zip(chosen, types, strict=True)),
                include_columns=chosen,
                null_values=[],
                strings_can_be_null=False,
            ),
            memory_pool=pa.system_memory_pool(),  # the default one keeps what it once had
        )
        columns = [_settle(column, kind) for column, kind in zip(table.columns, schema.kinds, strict=True)]
    except pa.ArrowInvalid:
        return None
    return None if None in columns else table_of_columns([c for c in columns if c is not None], schema)


def _settle(column: pa.ChunkedArray[Any], kind: Kind) -> pa.ChunkedArray[Any] | None:
    """`column` in the type of its kind; None when Arrow took something for a number that is not one here."""
    if kind in INTEGERS and column.type == ARROW_TYPES[Kind.SYMBOL]:
        # Arrow reads 0xFFFFFFFFFFFFFFFF as -1.
        return None if pc.any(pc.match_substring_regex(column, "[xX]")).as_py() else column.cast(ARROW_TYPES[kind])
    if kind is Kind.FLOAT:
        floats = numbers_of(kind, column) + 0.0  # turns -0.0 into 0.0
        return None if np.isnan(floats).any() else pa.chunked_array([column_of_numbers(kind, floats)])
    return column
