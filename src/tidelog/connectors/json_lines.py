"""JSON lines: a row on each line, as an object by attribute name or as an array by position."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.json

from tidelog.connectors.conform import conform
from tidelog.connectors.files import contents, packing
from tidelog.connectors.json_values import encoded_rows, plain_text, strict_decoder
from tidelog.connectors.problems import Problem, input_error
from tidelog.connectors.protocol import JsonShape, Options
from tidelog.connectors.python_rows import Origin, table_of_rows
from tidelog.facts.columns import arrow_schema
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class JsonLinesFile:
    """A file of JSON lines, as a source and as a sink."""

    path: Path
    options: Options

    def read(self, schema: Schema) -> pa.Table:
        return read_json_lines(contents(self.path), schema, self.options, str(self.path))

    def write(self, rows: pa.Table, schema: Schema) -> None:
        with open(self.path, "wb") as file:
            write_json_lines(rows, schema, self.options, file)


def source(path: Path, options: Options) -> JsonLinesFile:
    return JsonLinesFile(path, options)


def sink(path: Path, options: Options) -> JsonLinesFile:
    return JsonLinesFile(path, options)


def read_json_lines(data: bytes, schema: Schema, options: Options, file: str) -> pa.Table:
    """The rows in `data`; blank lines are skipped, keys that are no attribute are ignored."""
    table = _read_fast(data, schema, options)
    return table if table is not None else _read_carefully(data, schema, options, file)


def _read_fast(data: bytes, schema: Schema, options: Options) -> pa.Table | None:
    """The rows in `data` read by Arrow, which knows objects only; None when some line needs a closer look."""
    # Arrow takes NaN and Infinity for JSON.
    if schema.arity == 0 or b"NaN" in data or b"Infinity" in data:
        return None
    fields = list(zip(options.column_names(schema), arrow_schema(schema).types, strict=True))
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(data),  # type: ignore[arg-type]
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
            ),
        )
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    if any(column.null_count for column in table.columns):
        return None
    return conform(table, schema)


def _read_carefully(data: bytes, schema: Schema, options: Options, file: str) -> pa.Table:
    decode = strict_decoder().decode
    rows: list[object] = []
    lines: list[int] = []
    problems: list[Problem] = []
    for number, line in enumerate(plain_text(data, file).split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(decode(line))
            lines.append(number)
        except json.JSONDecodeError as reason:
            problems.append(Problem(f"not JSON: {reason.msg}", number, reason.colno))
        except ValueError as reason:
            problems.append(Problem(str(reason), number))
    if problems:
        raise input_error(problems, file)
    return table_of_rows(rows, schema, Origin(file, lines), options)


def write_json_lines(rows: pa.Table, schema: Schema, options: Options, file: BinaryIO) -> None:
    """Writes a line for each row, objects unless the options ask for lists."""
    with packing(file, options) as packed:
        for lines in encoded_rows(rows, schema, options.column_names(schema), options.shape or JsonShape.OBJECT, "\n"):
            packed.write(lines)
