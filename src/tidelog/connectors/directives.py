"""`.input`, `.output` and `.printsize` carried out: from a directive and a folder to rows, and from rows to files."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import pyarrow as pa

from tidelog.connectors.atomic import Publication
from tidelog.connectors.files import GZIP_MAGIC, unpacked
from tidelog.connectors.parameters import (
    Channel,
    Request,
    check_applies,
    format_of_request,
    path_inside,
    request_of,
)
from tidelog.connectors.protocol import Format, connector, format_of
from tidelog.errors import Diagnostic, InputError, OutputError, ProgramError
from tidelog.language.syntax_tree import Directive
from tidelog.schema import Schema

Output = tuple[Directive, Schema, pa.Table]

NO_TEXTS: Mapping[str, str] = {}

OTHER_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".facts.gz", ".csv.gz", ".tsv.gz", ".jsonl.gz")
"""What is looked for, in the folder of facts, when `<relation>.facts` is not there."""

SUFFIX_OF: dict[Format, str] = {
    Format.DELIMITED: ".csv",
    Format.JSON: ".json",
    Format.JSON_LINES: ".jsonl",
    Format.PARQUET: ".parquet",
    Format.SQLITE: ".sqlite",
}
"""How a file of outputs ends when the directive does not say."""


def read_input(
    directive: Directive,
    schema: Schema,
    facts_folder: Path,
    *,
    texts: Mapping[str, str] = NO_TEXTS,
    stdin: BinaryIO | None = None,
) -> pa.Table:
    """The rows that an `.input` asks for. `texts` are the program's, so that errors can show the line."""
    request = request_of(directive, schema, texts)
    if request.channel is Channel.STDIN:
        data = (stdin or sys.stdin.buffer).read()
        text = unpacked(data, "<stdin>") if data.startswith(GZIP_MAGIC) else data
        table: pa.Table = _delimited().read_delimited(text, schema, request.options, "<stdin>")
        return table
    if request.filename:
        path, format = path_inside(facts_folder, request.filename, directive, texts), format_of_request(request)
    elif request.channel is Channel.FILE:
        path = _default_file(request, schema, facts_folder, directive, texts)
        format = format_of(path)
        findings = list(check_applies(directive, format))
        if findings:
            raise ProgramError(findings, texts)
    else:
        format = format_of_request(request)
        path = path_inside(facts_folder, request.name + SUFFIX_OF[format], directive, texts)
    if not os.path.isfile(path):
        raise InputError(f"{_absence(path)}; it should hold the facts of {schema}", str(path))
    return connector(format).source(path, request.options).read(schema)


def _default_file(
    request: Request, schema: Schema, folder: Path, directive: Directive, texts: Mapping[str, str]
) -> Path:
    """`<relation>.facts`, or the one other file of that name."""
    expected = path_inside(folder, f"{request.name}.facts", directive, texts)
    if os.path.isfile(expected):
        return expected
    named = [expected.with_name(request.name + suffix) for suffix in OTHER_SUFFIXES]
    others = [path for path in named if os.path.isfile(path)]
    match others:
        case [path]:
            return path
        case []:
            missing = "" if os.path.isdir(folder) else f" (there is no folder {folder})"
            raise InputError(
                f"{_absence(expected)}{missing}; it should hold the facts of {schema}, one a line, tab separated. "
                'Name another one with filename="…" in the .input directive',
                str(expected),
            )
        case _:
            names = ", ".join(path.name for path in others)
            raise InputError(
                f'the facts of {schema.relation} could be in {names}: say which with filename="{others[0].name}"',
                str(folder),
            )


def _absence(path: Path) -> str:
    """Why there is no file to read at `path`."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return "there is no such file"
    except OSError as reason:
        return f"cannot be read: {reason.strerror}"
    return "is a folder, not a file" if os.path.isdir(path) else "is not a plain file"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the rows of a relation go; `target` is the file, None for what is printed."""

    request: Request
    schema: Schema
    format: Format
    target: Path | None


def destinations(
    asked: Sequence[tuple[Directive, Schema]], folder: Path, texts: Mapping[str, str] = NO_TEXTS
) -> list[Destination]:
    """Where each output goes. Raises what can be known before rows are there: a parameter, a name, a folder."""
    found: list[Destination] = []
    takers: dict[tuple[Path, str], tuple[Request, str]] = {}
    for directive, schema in asked:
        destination = _destination(directive, schema, folder, texts)
        found.append(destination)
        if destination.target is None:
            continue
        request = destination.request
        place = (destination.target, request.name if destination.format is Format.SQLITE else "")
        taker = takers.setdefault(place, (request, schema.relation))
        if taker != (request, schema.relation):
            message = f"'{destination.target.relative_to(folder)}' is already the output of {taker[1]}"
            hint = 'give one of them another filename="…"'
            raise ProgramError([Diagnostic("D283", message, directive.span, hint)], texts)
    if takers:
        _check_folder(folder)
    return found


def _destination(directive: Directive, schema: Schema, folder: Path, texts: Mapping[str, str]) -> Destination:
    request = request_of(directive, schema, texts)
    format = format_of_request(request)
    if request.channel in (Channel.PRINTSIZE, Channel.STDOUT):
        return Destination(request, schema, format, None)
    packed = ".gz" if request.options.compress else ""
    filename = request.filename or f"{request.name}{SUFFIX_OF[format]}{packed}"
    target = path_inside(folder, filename, directive, texts)
    _check_links(target, folder)
    return Destination(request, schema, format, target)


def _check_links(target: Path, folder: Path) -> None:
    """Refuses a target that a symbolic link takes out of the folder."""
    if not Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(folder)) or os.path.islink(target):
        raise OutputError(f"{target}: a symbolic link stands in the way; outputs stay inside {folder}")


def _check_folder(folder: Path) -> None:
    """Refuses a folder in which no file can be made, or that cannot be made itself."""
    place = next(each for each in (folder, *folder.absolute().parents) if os.path.lexists(each))
    if not os.path.isdir(place):
        raise OutputError(f"{folder}: cannot be written: {place} is not a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise OutputError(f"{folder}: cannot be written: no permission to write into {place}")


@dataclass(slots=True)
class _Written:
    """What has been written so far: each database's open transaction, and what is to be printed."""

    databases: dict[Path, Any] = field(default_factory=dict)
    printed: io.BytesIO = field(default_factory=io.BytesIO)


def write_outputs(
    outputs: Sequence[Output],
    folder: Path,
    *,
    texts: Mapping[str, str] = NO_TEXTS,
    stdout: TextIO | None = None,
) -> None:
    """Writes every output, or none: files appear under their names, and text is printed, only when all are written.

    Rows are sorted by value, first column first, so that what two runs wrote can be compared line by line.
    """
    places = destinations([(directive, schema) for directive, schema, _ in outputs], folder, texts)
    written = _Written()
    try:
        with Publication() as publication:
            for destination, (_, _, table) in zip(places, outputs, strict=True):
                _write(destination, table, publication, written)
    except OSError as reason:
        raise _unwritable(Path(reason.filename2 or reason.filename or folder), reason) from reason
    _print(written.printed.getvalue(), stdout or sys.stdout)


def _write(destination: Destination, table: pa.Table, publication: Publication, written: _Written) -> None:
    request, schema, target = destination.request, destination.schema, destination.target
    if request.channel is Channel.PRINTSIZE:
        written.printed.write(f"{request.name}\t{table.num_rows}\n".encode())
    elif target is None:
        _print_rows(request, schema, in_order(table), written.printed)
    elif destination.format is Format.SQLITE:
        _write_database(request, schema, in_order(table), target, publication, written)
    elif target not in publication.targets:
        try:
            sink = connector(destination.format).sink(publication.stage(target), request.options)
            sink.write(in_order(table), schema)
        except OSError as reason:
            raise _unwritable(target, reason) from reason


def in_order(table: pa.Table) -> pa.Table:
    """The rows of `table` sorted by value, columns from left to right."""
    if table.num_rows < 2 or not table.num_columns:
        return table
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _unwritable(target: Path, reason: OSError) -> OutputError:
    return OutputError(f"{target}: cannot be written: {reason.strerror or reason}")


def _write_database(
    request: Request,
    schema: Schema,
    table: pa.Table,
    target: Path,
    publication: Publication,
    written: _Written,
) -> None:
    transaction = written.databases.get(target)
    if transaction is None:
        publication.folder(target.parent)
        transaction = _sqlite().SqliteTransaction(target)
        written.databases[target] = transaction
        publication.enlist(transaction)
    transaction.write(table, schema, request.options)


def _print_rows(request: Request, schema: Schema, table: pa.Table, printed: BinaryIO) -> None:
    """Prints rows between rulers, as Soufflé does."""
    printed.write(f"---------------\n{request.name}\n".encode())
    options = request.options
    if options.headers:
        printed.write((options.delimiter.join(options.column_names(schema)) + "\n").encode())
    printed.write(b"===============\n")
    _delimited().write_delimited(table, schema, replace(options, headers=False), printed)
    printed.write(b"===============\n")


def _print(data: bytes, stdout: TextIO) -> None:
    if not data:
        return
    raw = getattr(stdout, "buffer", None)
    if raw is None:
        stdout.write(data.decode())
    else:
        stdout.flush()
        raw.write(data)
    stdout.flush()


def _delimited() -> Any:
    return connector(Format.DELIMITED)


def _sqlite() -> Any:
    return connector(Format.SQLITE)
