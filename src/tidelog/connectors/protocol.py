"""The seam to the outside: where rows come from, where they go, and which file speaks which format."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Protocol, cast

import pyarrow as pa

from tidelog.errors import UsageError
from tidelog.schema import Schema


class Source(Protocol):
    """Where the rows of a relation come from."""

    def read(self, schema: Schema) -> pa.Table:
        """All rows, as a table of the relation's Arrow schema; InputError names the place of what does not fit."""
        ...


class Sink(Protocol):
    """Where the rows of a relation go."""

    def write(self, rows: pa.Table, schema: Schema) -> None:
        """Puts all rows there; OutputError says which value the format cannot hold."""
        ...


class Format(Enum):
    """A way to write rows down, by its name in `IO=`."""

    DELIMITED = "file"
    JSON = "json"
    JSON_LINES = "jsonl"
    PARQUET = "parquet"
    SQLITE = "sqlite"


class Quoting(Enum):
    RAW = "raw"  # fields as they are, like Soufflé: no field holds the delimiter or a line end
    RFC4180 = "rfc4180"  # fields may stand in double quotes


class JsonShape(Enum):
    LIST = "list"
    OBJECT = "object"


class Nulls(Enum):
    """What to do with a row in which a value is missing."""

    REFUSE = "refuse"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Options:
    """How rows are written down. Each format looks only at what concerns it.

    `names` are the column names outside, in the order of the attributes; empty when they are those of the schema.
    `table` is the SQLite table; empty for one named as the relation. `shape` None leaves it to the format.
    """

    delimiter: str = "\t"
    quoting: Quoting = Quoting.RAW
    headers: bool = False
    names: tuple[str, ...] = ()
    compress: bool = False
    shape: JsonShape | None = None
    table: str = ""
    nulls: Nulls = Nulls.REFUSE

    def column_names(self, schema: Schema) -> tuple[str, ...]:
        """What the columns are called outside."""
        return self.names or schema.names


PLAIN = Options()
CSV = Options(delimiter=",", quoting=Quoting.RFC4180)

SUFFIXES: dict[str, Format] = {
    ".facts": Format.DELIMITED,
    ".csv": Format.DELIMITED,
    ".tsv": Format.DELIMITED,
    ".txt": Format.DELIMITED,
    ".json": Format.JSON,
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".parquet": Format.PARQUET,
    ".db": Format.SQLITE,
    ".sqlite": Format.SQLITE,
    ".sqlite3": Format.SQLITE,
}


class Connector(Protocol):
    """What the file of each format offers."""

    def source(self, path: Path, options: Options) -> Source: ...

    def sink(self, path: Path, options: Options) -> Sink: ...


CONNECTORS: dict[Format, str] = {
    Format.DELIMITED: "tidelog.connectors.delimited",
    Format.JSON: "tidelog.connectors.json_document",
    Format.JSON_LINES: "tidelog.connectors.json_lines",
    Format.PARQUET: "tidelog.connectors.parquet",
    Format.SQLITE: "tidelog.connectors.sqlite",
}
"""Loaded when first asked for: their libraries take longer to import than a small program to run."""


def connector(format: Format) -> Connector:
    """What reads and writes `format`."""
    return cast(Connector, importlib.import_module(CONNECTORS[format]))


def open_source(path: Path, options: Options = PLAIN) -> Source:
    """The rows in the file `path`, in the format its suffix stands for."""
    return connector(format_of(path)).source(path, options)


def open_sink(path: Path, options: Options = PLAIN) -> Sink:
    """A place for rows in the file `path`, in the format its suffix stands for; `.gz` asks for packing."""
    packed = replace(options, compress=options.compress or path.suffix == ".gz")
    return connector(format_of(path)).sink(path, packed)


def format_of(path: Path) -> Format:
    """The format that the suffix of `path` stands for; `.gz` at the end is looked through."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix not in SUFFIXES:
        raise UsageError(f"'{path.name}': unknown kind of file; expected one of {', '.join(SUFFIXES)}")
    return SUFFIXES[suffix]
