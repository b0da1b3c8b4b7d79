"""What the parameters of `.input` and `.output` say, checked: `IO`, `filename`, `delimiter` and so on."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tidelog.connectors.protocol import SUFFIXES, Format, JsonShape, Nulls, Options, Quoting
from tidelog.errors import Diagnostic, ProgramError
from tidelog.language.syntax_tree import Directive, DirectiveKind
from tidelog.schema import Schema


class Channel(Enum):
    """Where rows come from or go to, by its name in `IO=`."""

    FILE = "file"
    STDIN = "stdin"
    STDOUT = "stdout"
    PRINTSIZE = "stdoutprintsize"
    SQLITE = "sqlite"
    JSON = "json"
    JSON_LINES = "jsonl"
    PARQUET = "parquet"


CHANNELS: dict[str, Channel] = {**{channel.value: channel for channel in Channel}, "jsonfile": Channel.JSON}
NOT_FOR: dict[DirectiveKind, frozenset[Channel]] = {
    DirectiveKind.INPUT: frozenset({Channel.STDOUT, Channel.PRINTSIZE}),
    DirectiveKind.OUTPUT: frozenset({Channel.STDIN}),
}
FORMATS: dict[Channel, Format] = {
    Channel.STDIN: Format.DELIMITED,
    Channel.STDOUT: Format.DELIMITED,
    Channel.PRINTSIZE: Format.DELIMITED,
    Channel.SQLITE: Format.SQLITE,
    Channel.JSON: Format.JSON,
    Channel.JSON_LINES: Format.JSON_LINES,
    Channel.PARQUET: Format.PARQUET,
}

TEXTS = frozenset({Format.DELIMITED, Format.JSON, Format.JSON_LINES})
ALL = frozenset(Format)
APPLIES: dict[str, frozenset[Format]] = {
    "IO": ALL,
    "name": ALL,
    "filename": ALL,
    "attributeNames": ALL,
    "delimiter": frozenset({Format.DELIMITED}),
    "headers": frozenset({Format.DELIMITED}),
    "rfc4180": frozenset({Format.DELIMITED}),
    "compress": TEXTS,
    "format": frozenset({Format.JSON, Format.JSON_LINES}),
    "dbname": frozenset({Format.SQLITE}),
    "nulls": ALL - {Format.DELIMITED},
}
"""Every parameter, with the formats it says something about."""

TRUTHS = {"true": True, "false": False}
PACKINGS = {"gzip": True, "true": True, "false": False}
SHAPES = {shape.value: shape for shape in JsonShape}
NULLS = {policy.value: policy for policy in Nulls}
VALUES: dict[str, Mapping[str, object]] = {
    "IO": CHANNELS,
    "headers": TRUTHS,
    "rfc4180": TRUTHS,
    "compress": PACKINGS,
    "format": SHAPES,
    "nulls": NULLS,
}


@dataclass(frozen=True, slots=True)
class Request:
    """What a directive asks for one relation. `filename` is empty when it does not say."""

    channel: Channel
    filename: str
    name: str
    options: Options


def request_of(directive: Directive, schema: Schema, texts: Mapping[str, str]) -> Request:
    """What `directive` asks for the relation; ProgramError with every parameter that cannot be taken."""
    findings = [*check_directive(directive), *_check_names(directive, schema)]
    if findings:
        raise ProgramError(findings, texts)
    quoting = Quoting.RFC4180 if TRUTHS[directive.parameter("rfc4180", "false")] else Quoting.RAW
    shape = directive.parameter("format")
    name = directive.parameter("name", schema.relation)
    filename = directive.parameter("dbname") or directive.parameter("filename")
    packed = "gzip" if filename.endswith(".gz") else "false"
    return Request(
        channel=_channel(directive),
        filename=filename,
        name=name,
        options=Options(
            delimiter=_delimiter(directive, quoting),
            quoting=quoting,
            headers=TRUTHS[directive.parameter("headers", "false")],
            names=_names(directive),
            compress=PACKINGS[directive.parameter("compress", packed)],
            shape=SHAPES[shape] if shape else None,
            table=name,
            nulls=NULLS[directive.parameter("nulls", "refuse")],
        ),
    )


def check_directives(directives: Iterable[Directive]) -> Iterator[Diagnostic]:
    """What is wrong with each directive, and with all together: standard input can be read once."""
    readers: list[str] = []
    for directive in directives:
        yield from check_directive(directive)
        if directive.kind is not DirectiveKind.INPUT or directive.parameter("IO") != Channel.STDIN.value:
            continue
        for relation in directive.relations:
            if readers:
                message = f"standard input is already read for {readers[0]}, nothing would be left for {relation}"
                yield _finding(directive)("D284", message, "read one of them from a file")
            readers.append(relation)


def check_directive(directive: Directive) -> Iterator[Diagnostic]:
    """One diagnostic for each parameter that is unknown, has a value that cannot be, or does not go with the rest."""
    finding = _finding(directive)
    seen: set[str] = set()
    for name, value in directive.parameters:
        if name not in APPLIES:
            yield finding("D280", f"unknown parameter '{name}' of .{directive.kind.value}", _closest(name, APPLIES))
        elif name in VALUES and value not in VALUES[name]:
            expected = ", ".join(VALUES[name])
            close = difflib.get_close_matches(value, VALUES[name], 1)
            hint = f"did you mean '{close[0]}'?" if close else ""
            yield finding("D281", f"{name}={value}: expected one of {expected}", hint)
        elif name in seen:
            yield finding("D281", f"'{name}' is given twice", "keep one of them")
        seen.add(name)
    if directive.parameter("IO", "file") not in CHANNELS:
        return
    channel = _channel(directive)
    if channel in NOT_FOR.get(directive.kind, frozenset()):
        yield finding("D281", f"IO={channel.value} cannot be used with .{directive.kind.value}", "")
    if {"dbname", "filename"} <= seen:
        yield finding("D281", "both 'dbname' and 'filename' are given", "keep one of them")
    yield from _check_delimiter(directive, finding)
    filename = directive.parameter("filename")
    format = FORMATS.get(channel) or (SUFFIXES.get(_suffix(filename), Format.DELIMITED) if filename else None)
    if format is not None:
        yield from check_applies(directive, format)


def check_applies(directive: Directive, format: Format) -> Iterator[Diagnostic]:
    """One diagnostic for each parameter that says nothing about `format`."""
    for name, _ in directive.parameters:
        if name in APPLIES and format not in APPLIES[name]:
            kinds = ", ".join(sorted(f"IO={each.value}" for each in APPLIES[name]))
            yield _finding(directive)("D281", f"'{name}' means nothing for {format.name.lower()}", f"it is for {kinds}")


def format_of_request(request: Request) -> Format:
    """The format of the rows: what `IO` says, or the suffix of the file; delimited text where that says nothing."""
    return FORMATS.get(request.channel) or SUFFIXES.get(_suffix(request.filename), Format.DELIMITED)


def path_inside(folder: Path, filename: str, directive: Directive, texts: Mapping[str, str]) -> Path:
    """The file that a parameter names, taken relative to `folder`; ProgramError when it lies outside of it.

    The text of a program does not decide what is read or written outside the folders that the user named. The path
    begins with `folder` as it was given, so that errors show it so.
    """
    root = Path(os.path.abspath(folder))
    path = Path(os.path.normpath(root / filename))
    if "\0" in filename or path == root or not path.is_relative_to(root):
        message = f"'{filename}' is not a file inside {folder}"
        hint = "files are taken relative to the folder of facts or of outputs and never leave it"
        raise ProgramError([_finding(directive)("D282", message, hint)], texts)
    return folder / path.relative_to(root)


def _finding(directive: Directive) -> Callable[[str, str, str], Diagnostic]:
    return lambda code, message, hint: Diagnostic(code, message, directive.span, hint)


def _closest(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"


def _channel(directive: Directive) -> Channel:
    if directive.kind is DirectiveKind.PRINTSIZE:
        return Channel.PRINTSIZE
    return CHANNELS[directive.parameter("IO", "file")]


ESCAPES = {"\\t": "\t", "\\\\": "\\", '\\"': '"', "\\'": "'"}


def _delimiter(directive: Directive, quoting: Quoting) -> str:
    default = "," if quoting is Quoting.RFC4180 else "\t"
    text = directive.parameter("delimiter", default)
    return "".join(ESCAPES.get(text[at : at + 2], text[at]) for at in _letters(text))


def _letters(text: str) -> Iterator[int]:
    """Where each letter of `text` starts, an escape taken as one."""
    at = 0
    while at < len(text):
        yield at
        at += 2 if text[at : at + 2] in ESCAPES else 1


def _check_delimiter(directive: Directive, finding: Callable[[str, str, str], Diagnostic]) -> Iterator[Diagnostic]:
    quoting = Quoting.RFC4180 if directive.parameter("rfc4180") == "true" else Quoting.RAW
    delimiter = _delimiter(directive, quoting)
    if not delimiter:
        yield finding("D281", "the delimiter is empty", 'leave it out for a tab, or write one: delimiter=","')
    elif "\n" in delimiter or "\r" in delimiter:
        yield finding("D281", "the delimiter holds a line end, which ends rows", "")
    elif quoting is Quoting.RFC4180 and '"' in delimiter:
        yield finding("D281", "with rfc4180=true the delimiter cannot hold a double quote", "")


def _names(directive: Directive) -> tuple[str, ...]:
    """The names in `attributeNames`, which commas or tabs separate."""
    text = directive.parameter("attributeNames")
    return tuple(name.strip() for name in text.replace("\\t", ",").replace("\t", ",").split(",")) if text else ()


def _check_names(directive: Directive, schema: Schema) -> Iterator[Diagnostic]:
    names = _names(directive)
    if names and len(names) != schema.arity:
        yield _finding(directive)(
            "D281", f"attributeNames has {len(names)} names, {schema} has {schema.arity} attributes", ""
        )


def _suffix(filename: str) -> str:
    return Path(filename.removesuffix(".gz")).suffix
