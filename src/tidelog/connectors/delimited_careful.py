"""The second reading of delimited text: line by line, knowing where each field stands.

It gives the same rows as the fast reader where that can read, reads what that cannot (long delimiters, `+7`, carriage
returns inside symbols), and says line and column of what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from tidelog.connectors.problems import Problem, misfit, out_of_range, show
from tidelog.connectors.protocol import Options, Quoting
from tidelog.connectors.python_rows import count, nullary, table_of_columns
from tidelog.errors import InputError
from tidelog.facts.columns import column_of
from tidelog.language.functions import RANGES
from tidelog.schema import Kind, Schema, Value


@dataclass(frozen=True, slots=True)
class Layout:
    """How lines are made up: how many fields, which of them is each attribute, and where the first line of rows is."""

    width: int
    places: tuple[int, ...]
    start: int
    first_line: int

    def blank_is_row(self, schema: Schema) -> bool:
        """Whether an empty line is a row: it is when it can only be the empty symbol."""
        return self.width == 1 and schema.kinds == (Kind.SYMBOL,)


@dataclass(frozen=True, slots=True)
class Record:
    """One line of fields, or several lines where quotes hold line ends.

    `starts` has line and column of each field; it is empty where they follow from the lengths of the fields.
    """

    line: int
    fields: list[str]
    starts: list[tuple[int, int]]

    def start(self, place: int, options: Options) -> tuple[int, int]:
        """Line and column where the field at `place` starts, counted from 1."""
        if self.starts:
            return self.starts[place]
        return self.line, 1 + sum(len(field) + len(options.delimiter) for field in self.fields[:place])


def read_carefully(
    data: bytes, schema: Schema, options: Options, layout: Layout, file: str
) -> tuple[pa.Table, list[Problem]]:
    """The rows in `data` from the layout's start on, and the lines that do not fit."""
    columns: list[list[Value]] = [[] for _ in layout.places]
    problems: list[Problem] = []
    text = data[layout.start :].decode("utf-8", "surrogateescape")
    blank_is_row = layout.blank_is_row(schema)
    for record in _records(text, options, layout.first_line, file):
        if record.fields == [""] and not blank_is_row:
            continue
        values = _values(record, schema, options, layout)
        if isinstance(values, Problem):
            problems.append(values)
            continue
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    arrays = [column_of(kind, column) for column, kind in zip(columns, schema.kinds, strict=True)]
    return table_of_columns(arrays, schema), problems


def read_nullary(data: bytes, schema: Schema, options: Options, file: str) -> pa.Table:
    """One row without columns for each line `()`."""
    lines = data.decode("utf-8", "replace").split("\n")[1 if options.headers else 0 :]
    rows = 0
    for number, line in enumerate(lines, 2 if options.headers else 1):
        match line.strip():
            case "":
                continue
            case "()":
                rows += 1
            case found:
                raise InputError(f"expected () for {schema}, found {show(found)}", file, number, 1)
    return nullary(rows)


def first_record(data: bytes, options: Options, file: str) -> tuple[list[str], int]:
    """The fields of the first line, and where in `data` the second begins."""
    line_end = re.search(rb"\r\n|\n|\r" if options.quoting is Quoting.RFC4180 else rb"\n", data)
    start = line_end.end() if line_end else len(data)
    line = data[:start].decode("utf-8", "replace")
    return next(_records(line, options, 1, file)).fields, start


def _records(text: str, options: Options, first_line: int, file: str) -> Iterator[Record]:
    if options.quoting is Quoting.RFC4180:
        return _quoted_records(text, options.delimiter, first_line, file)
    return _raw_records(text, options.delimiter, first_line)


def _raw_records(text: str, delimiter: str, first_line: int) -> Iterator[Record]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, first_line):
        yield Record(number, line.removesuffix("\r").split(delimiter), [])


def _quoted_records(text: str, delimiter: str, first_line: int, file: str) -> Iterator[Record]:
    separator = re.escape(delimiter)
    piece = re.compile(rf'(?:"((?:[^"]|"")*)")?((?:(?!{separator})[^\r\n])*)({separator}|\r\n|\n|\r|\Z)')
    line, line_start, at = first_line, 0, 0
    record = Record(line, [], [])
    while at < len(text) or record.fields:
        column = at - line_start + 1
        found = piece.match(text, at)
        assert found is not None, "the pattern matches at every place"
        quoted, rest, end = found.groups()
        if quoted is None and rest.startswith('"'):
            raise InputError("a quote is opened here and never closed", file, line, column)
        record.fields.append((quoted or "").replace('""', '"') + rest)
        record.starts.append((line, column))
        breaks = len(LINE_END.findall(quoted or ""))
        if breaks:
            line += breaks
            line_start = max(text.rfind("\n", 0, found.end(1)), text.rfind("\r", 0, found.end(1))) + 1
        at = found.end()
        if end != delimiter:
            yield record
            line, line_start = line + 1, at
            record = Record(line, [], [])
            if not end:
                return


LINE_END = re.compile(r"\r\n|\n|\r")


def _values(record: Record, schema: Schema, options: Options, layout: Layout) -> list[Value] | Problem:
    """The values of one line, or what is wrong with it."""
    if len(record.fields) != layout.width:
        found = f"expected {count(layout.width)} for {schema}, found {len(record.fields)}"
        return Problem(found + _advice(record, options), record.line, 1)
    values: list[Value] = []
    for position, place in enumerate(layout.places):
        field = record.fields[place]
        try:
            values.append(_parse(field, schema.attributes[position].kind))
        except ValueError as reason:
            shown = show(field.encode("utf-8", "surrogateescape")) if _is_broken(field) else show(field)
            return Problem(misfit(schema, position, f"{shown}{reason}"), *record.start(place, options))
    return values


NAMES = {"\t": "a tab", ",": "a comma", ";": "a semicolon", "|": "a bar", " ": "a space"}


def _advice(record: Record, options: Options) -> str:
    """What may help when the number of fields is wrong."""
    if options.quoting is Quoting.RAW and any(field.lstrip().startswith('"') for field in record.fields):
        return " (quotes are part of the text here; rfc4180=true reads quoted fields)"
    others = [each for each in NAMES if each != options.delimiter and each in record.fields[0]]
    if len(record.fields) == 1 and others:
        written = others[0].replace("\t", "\\t")
        return (
            f" (fields are separated by {NAMES.get(options.delimiter, show(options.delimiter))} here; "
            f'write delimiter="{written}" if it should be {NAMES[others[0]]})'
        )
    return ""


INTEGER = re.compile(r"[+-]?[0-9]+")
FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)


def _parse(field: str, kind: Kind) -> Value:
    """The value that `field` spells; ValueError carries the reason when it spells none."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            if field.isascii() and field.isdigit() and len(field) < 19:
                return int(field)
            digits = field.strip(" \t")
            if INTEGER.fullmatch(digits) is None:
                raise ValueError(" (write it in decimal)" if digits[:2] in ("0x", "0X") else "")
            low, high = RANGES[kind]
            # Python refuses to read numbers of thousands of digits, and no such number fits.
            if len(digits.lstrip("+-0")) > 20 or not low <= int(digits) <= high:
                raise ValueError(out_of_range(kind))
            return int(digits)
        case Kind.FLOAT:
            digits = field.strip(" \t")
            if FLOAT.fullmatch(digits) is None:
                raise ValueError
            value = float(digits) + 0.0
            if math.isnan(value):
                raise ValueError(", and NaN is never a value")
            return value
        case Kind.SYMBOL:
            if _is_broken(field):
                raise ValueError(", which is not UTF-8")
            return field


def _is_broken(field: str) -> bool:
    """Whether the bytes of `field` were not UTF-8."""
    return not field.isascii() and any("\udc80" <= letter <= "\udcff" for letter in field)
