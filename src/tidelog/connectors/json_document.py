"""JSON documents: one array that holds every row, as Soufflé reads and writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from tidelog.connectors.files import contents, packing
from tidelog.connectors.json_values import encoded_rows, plain_text, strict_decoder
from tidelog.connectors.problems import show
from tidelog.connectors.protocol import JsonShape, Options
from tidelog.connectors.python_rows import Origin, table_of_rows
from tidelog.errors import InputError
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file with one JSON array of rows, as a source and as a sink."""

    path: Path
    options: Options

    def read(self, schema: Schema) -> pa.Table:
        return read_json(contents(self.path), schema, self.options, str(self.path))

    def write(self, rows: pa.Table, schema: Schema) -> None:
        with open(self.path, "wb") as file:
            write_json(rows, schema, self.options, file)


def source(path: Path, options: Options) -> JsonFile:
    return JsonFile(path, options)


def sink(path: Path, options: Options) -> JsonFile:
    return JsonFile(path, options)


def read_json(data: bytes, schema: Schema, options: Options, file: str) -> pa.Table:
    """The rows of the array in `data`: objects by attribute name, or arrays by position. No text, no rows."""
    text = plain_text(data, file)
    if not text.strip():
        return table_of_rows([], schema)
    try:
        document = strict_decoder().decode(text)
    except json.JSONDecodeError as reason:
        raise InputError(f"not JSON: {reason.msg}", file, reason.lineno, reason.colno) from None
    except ValueError as reason:
        raise InputError(str(reason), file) from None
    if not isinstance(document, list):
        hint = "; one object per line is IO=jsonl" if isinstance(document, dict) else ""
        raise InputError(f"expected an array of rows for {schema}, found {show(document)}{hint}", file)
    return table_of_rows(document, schema, Origin(file), options)


def write_json(rows: pa.Table, schema: Schema, options: Options, file: BinaryIO) -> None:
    """Writes an array with a row on each line, lists unless the options ask for objects."""
    encoded = encoded_rows(rows, schema, options.column_names(schema), options.shape or JsonShape.LIST, ",\n")
    with packing(file, options) as packed:
        packed.write(b"[\n")
        last = b""
        for lines in encoded:
            packed.write(last)
            last = lines
        packed.write(last.removesuffix(b",\n") + b"\n]\n")
