"""Change files: text with signed facts, or rows with a column that says whether each is inserted or retracted."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.analysis.checked import CheckedProgram
from tidelog.connectors.change_text import read_change_text
from tidelog.connectors.files import contents
from tidelog.connectors.problems import show
from tidelog.connectors.protocol import CSV, PLAIN, Format, Options, connector
from tidelog.connectors.python_rows import nullary
from tidelog.errors import InputError, UsageError
from tidelog.facts.change import Change, net_change
from tidelog.facts.columns import column_of_texts
from tidelog.language.words import nearest
from tidelog.schema import Attribute, Kind, Schema


class ChangeFormat(Enum):
    """How a change is written down."""

    TEXT = "text"
    CSV = "csv"
    TSV = "tsv"
    JSON_LINES = "jsonl"
    PARQUET = "parquet"


SUFFIXES: dict[str, ChangeFormat] = {
    ".csv": ChangeFormat.CSV,
    ".tsv": ChangeFormat.TSV,
    ".facts": ChangeFormat.TSV,
    ".jsonl": ChangeFormat.JSON_LINES,
    ".ndjson": ChangeFormat.JSON_LINES,
    ".parquet": ChangeFormat.PARQUET,
}
"""Every other suffix stands for text; `.gz` at the end is looked through."""

INSERT = ("+", "insert", "i")
RETRACT = ("-", "retract", "delete", "d")
"""What stands in the operation column, in large or small letters."""


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """How change files are read. `format` None goes by the suffix, an empty `relation` by the name of the file."""

    operation_column: str = "op"
    relation: str = ""
    format: ChangeFormat | None = None


def read_change_file(path: Path, checked: CheckedProgram, options: ChangeOptions) -> Change:
    """The change that the file asks for; InputError says where it is wrong."""
    format = options.format or _format_of(path)
    if format is ChangeFormat.TEXT:
        return read_change(contents(path), str(path), checked, options)
    relation = options.relation or path.name.partition(".")[0]
    rowed = replace(options, format=format, relation=relation)
    if format is not ChangeFormat.PARQUET:
        return read_change(contents(path), str(path), checked, rowed)
    schema = _schema_with_operation(str(path), checked, rowed)
    return _change_of(connector(Format.PARQUET).source(path, PLAIN).read(schema), str(path), schema)


def read_change(data: bytes, file: str, checked: CheckedProgram, options: ChangeOptions) -> Change:
    """The change in `data`, which is text unless the options say otherwise; `file` is what errors call it."""
    if options.format in (None, ChangeFormat.TEXT):
        return net_change(read_change_text(_decoded(data, file), file, checked))
    schema = _schema_with_operation(file, checked, options)
    match options.format:
        case ChangeFormat.JSON_LINES:
            rows = _reader(Format.JSON_LINES).read_json_lines(data, schema, PLAIN, file)
        case ChangeFormat.PARQUET:
            raise UsageError(f"{file}: a Parquet file cannot be read from a stream: give its path")
        case _:
            plain = CSV if options.format is ChangeFormat.CSV else PLAIN
            layout = replace(plain, headers=_has_header(data, plain, schema, file))
            rows = _reader(Format.DELIMITED).read_delimited(data, schema, layout, file)
    return _change_of(rows, file, schema)


def _format_of(path: Path) -> ChangeFormat:
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    return SUFFIXES.get(suffix, ChangeFormat.TEXT)


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        line = data.count(b"\n", 0, reason.start) + 1
        raise InputError(f"not UTF-8: byte 0x{data[reason.start]:02x}", file, line) from None


def _schema_with_operation(file: str, checked: CheckedProgram, options: ChangeOptions) -> Schema:
    """The columns of the file: the operation, then those of its relation."""
    relation, operation = options.relation, options.operation_column
    if relation not in checked.schemas:
        near = nearest(relation, checked.schemas)
        hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(checked.schemas)}"
        known = f"no relation '{relation}'; {hint}" if relation else "it does not say which relation its rows are of"
        raise UsageError(f"{file}: {known}\n  hint: a file of rows is named after its relation, or --relation says it")
    schema = checked.schemas[relation]
    if operation in schema.names:
        raise UsageError(
            f"{file}: '{operation}' is a column of {schema}: name the one with the operations with --operation-column"
        )
    return Schema(relation, (Attribute(operation, "operation", Kind.SYMBOL), *schema.attributes))


def _has_header(data: bytes, options: Options, schema: Schema, file: str) -> bool:
    """Whether the first line names columns: it does when it names the operation and does not begin with one."""
    text = data.decode("utf-8-sig", "replace")
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        return False
    fields = first.split("\t") if options is PLAIN else next(csv.reader([first]))
    operation = schema.names[0]
    is_operation = fields[0].lower() in (*INSERT, *RETRACT)
    if operation in fields and (not is_operation or set(schema.names) <= set(fields)):
        return True
    if is_operation:
        return False
    raise InputError(
        f"expected a header with a column '{operation}', or rows that begin with an operation ({_operations()}), "
        f"found {show(first)}\n  hint: --operation-column names the column",
        file,
        1,
    )


def _change_of(rows: pa.Table, file: str, schema: Schema) -> Change:
    """The rows of the relation, those to insert apart from those to retract."""
    operations = rows.column(0)
    found = [str(word) for word in pc.unique(operations).to_pylist()]
    unknown = [word for word in found if word.lower() not in (*INSERT, *RETRACT)]
    if unknown:
        row = min(pc.index(operations, column_of_texts([word])[0]).as_py() for word in unknown)
        wrong = show(operations[row].as_py())
        raise InputError(
            f"row {row + 1}: expected an operation ({_operations()}) in '{schema.names[0]}', found {wrong}", file
        )
    inserted = _rows_with(rows, [word for word in found if word.lower() in INSERT])
    retracted = _rows_with(rows, [word for word in found if word.lower() in RETRACT])
    return net_change(
        Change(
            {schema.relation: inserted} if inserted.num_rows else {},
            {schema.relation: retracted} if retracted.num_rows else {},
        )
    )


def _rows_with(rows: pa.Table, words: list[str]) -> pa.Table:
    """The rows with one of `words` in the operation column, without that column."""
    kept = rows.filter(pc.is_in(rows.column(0), value_set=column_of_texts(words)))
    return kept.select(kept.column_names[1:]) if kept.num_columns > 1 else nullary(kept.num_rows)


def _operations() -> str:
    return ", ".join([*INSERT, *RETRACT])


def _reader(format: Format) -> Any:
    return connector(format)
