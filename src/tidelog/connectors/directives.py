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
    if not path.is_file():
        raise InputError(f"there is no such file; it should hold the facts of {schema}", str(path))
    return connector(format).source(path, request.options).read(schema)


def _default_file(
    request: Request, schema: Schema, folder: Path, directive: Directive, texts: Mapping[str, str]
) -> Path:
    """`<relation>.facts`, or the one other file of that name."""
    expected = path_inside(folder, f"{request.name}.facts", directive, texts)
    if expected.is_file():
        return expected
    others = [path for suffix in OTHER_SUFFIXES if (path := expected.with_name(request.name + suffix)).is_file()]
    match others:
        case [path]:
            return path
        case []:
            missing = "" if folder.is_dir() else f" (there is no folder {folder})"
            raise InputError(
                f"there is no such file{missing}; it should hold the facts of {schema}, one a line, tab separated. "
                'Name another one with filename="…" in the .input directive',
                str(expected),
            )
        case _:
            names = ", ".join(path.name for path in others)
            raise InputError(
                f'the facts of {schema.relation} could be in {names}: say which with filename="{others[0].name}"',
                str(folder),
            )


@dataclass(slots=True)
class _Written:
    """What has been written so far: each file or table with what asked for it, each database's open transaction."""

    places: dict[tuple[Path, str], tuple[Request, str]] = field(default_factory=dict)
    databases: dict[Path, Any] = field(default_factory=dict)
    printed: io.BytesIO = field(default_factory=io.BytesIO)


def write_outputs(
    outputs: Sequence[Output],
    folder: Path,
    *,
    texts: Mapping[str, str] = NO_TEXTS,
    stdout: TextIO | None = None,
) -> None:
    """Writes every output, or none: files appear under their names, and text is printed, only when all are written."""
    written = _Written()
    try:
        with Publication() as publication:
            for directive, schema, table in outputs:
                _write(directive, schema, table, folder, texts, publication, written)
    except OSError as reason:
        raise _unwritable(Path(reason.filename2 or reason.filename or folder), reason) from reason
    _print(written.printed.getvalue(), stdout or sys.stdout)


def _write(
    directive: Directive,
    schema: Schema,
    table: pa.Table,
    folder: Path,
    texts: Mapping[str, str],
    publication: Publication,
    written: _Written,
) -> None:
    request = request_of(directive, schema, texts)
    if request.channel is Channel.PRINTSIZE:
        written.printed.write(f"{request.name}\t{table.num_rows}\n".encode())
        return
    if request.channel is Channel.STDOUT:
        _print_rows(request, schema, table, written.printed)
        return
    format = format_of_request(request)
    packed = ".gz" if request.options.compress else ""
    filename = request.filename or f"{request.name}{SUFFIX_OF[format]}{packed}"
    target = path_inside(folder, filename, directive, texts)
    _check_links(target, folder)
    place = (target, request.name if format is Format.SQLITE else "")
    asked = written.places.setdefault(place, (request, schema.relation))
    if asked != (request, schema.relation):
        message = f"'{filename}' is already the output of {asked[1]}"
        hint = 'give one of them another filename="…"'
        raise ProgramError([Diagnostic("D283", message, directive.span, hint)], texts)
    if format is Format.SQLITE:
        _write_database(request, schema, table, target, publication, written)
    elif target not in publication.targets:
        try:
            connector(format).sink(publication.stage(target), request.options).write(table, schema)
        except OSError as reason:
            raise _unwritable(target, reason) from reason


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


def _check_links(target: Path, folder: Path) -> None:
    """Refuses a target that a symbolic link takes out of the folder."""
    if not Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(folder)) or target.is_symlink():
        raise OutputError(f"{target}: a symbolic link stands in the way; outputs stay inside {folder}")


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
