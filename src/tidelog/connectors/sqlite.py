"""Tables of SQLite databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tidelog.connectors.conform import places_of
from tidelog.connectors.protocol import Options
from tidelog.connectors.python_rows import Origin, rows_of, table_of_rows
from tidelog.errors import InputError, OutputError
from tidelog.language.functions import RANGES
from tidelog.schema import Kind, Schema


@dataclass(frozen=True, slots=True)
class SqliteTable:
    """A table of a database file, as a source and as a sink."""

    path: Path
    options: Options

    def read(self, schema: Schema) -> pa.Table:
        return read_sqlite(self.path, schema, self.options)

    def write(self, rows: pa.Table, schema: Schema) -> None:
        transaction = SqliteTransaction(self.path)
        try:
            transaction.write(rows, schema, self.options)
            transaction.commit()
        except BaseException:
            transaction.abandon()
            raise


def source(path: Path, options: Options) -> SqliteTable:
    return SqliteTable(path, options)


def sink(path: Path, options: Options) -> SqliteTable:
    return SqliteTable(path, options)


def read_sqlite(path: Path, schema: Schema, options: Options) -> pa.Table:
    """The rows of the table (or view) named in the options, or as the relation."""
    if not path.is_file():
        raise InputError("there is no such database", str(path))
    table = options.table or schema.relation
    place = f"{path}, table {table}"
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error as reason:
        raise InputError(f"cannot be opened: {reason}", str(path)) from None
    try:
        connection.execute("BEGIN")
        found = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted(table)})")]
        if not found:
            raise InputError(f"there is no table '{table}'{_others(connection)}", str(path))
        places = places_of(options.column_names(schema), found, schema, place)
        columns = ", ".join(quoted(found[position]) for position in places)
        rows = connection.execute(f"SELECT {columns} FROM {quoted(table)}").fetchall()
    except sqlite3.Error as reason:
        raise InputError(f"cannot be read: {reason}", place) from None
    finally:
        connection.close()
    return table_of_rows(rows, schema, Origin(place), options)


def _others(connection: sqlite3.Connection) -> str:
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    return f"; there are {', '.join(sorted(names))}" if names else "; the database is empty"


COLUMN_TYPES: dict[Kind, str] = {
    Kind.NUMBER: "INTEGER",
    Kind.UNSIGNED: "INTEGER",
    Kind.FLOAT: "REAL",
    Kind.SYMBOL: "TEXT",
}


class SqliteTransaction:
    """Tables of one database that are replaced together at `commit`, or stay as they were."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_new = not path.exists()
        try:
            self._connection = sqlite3.connect(path, isolation_level=None)
        except sqlite3.Error as reason:
            raise OutputError(f"{path}: cannot be opened: {reason}") from None
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as reason:
            self.abandon()
            raise OutputError(f"{path}: cannot be written: {reason}") from None

    def write(self, rows: pa.Table, schema: Schema, options: Options) -> None:
        """Replaces the table named in the options, or as the relation, by one with `rows`."""
        if schema.arity == 0:
            raise OutputError(f"{schema}: SQLite has no tables without columns; use IO=file or IO=jsonl")
        _check_unsigned(rows, schema)
        table = quoted(options.table or schema.relation)
        try:
            self._connection.execute(f"DROP TABLE IF EXISTS {table}")
            self._connection.execute(f"CREATE TABLE {table} ({_columns(options.column_names(schema), schema)})")
            places = ", ".join("?" * schema.arity)
            self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows_of(rows))
        except sqlite3.Error as reason:
            raise OutputError(f"{self._path}: {schema.relation} cannot be written: {reason}") from None

    def commit(self) -> None:
        """Makes what was written stay."""
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as reason:
            raise OutputError(f"{self._path}: cannot be written: {reason}") from None
        self._connection.close()

    def abandon(self) -> None:
        """Takes back what was written since the start."""
        self._connection.close()
        if self._is_new:
            self._path.unlink(missing_ok=True)


def _columns(names: Sequence[str], schema: Schema) -> str:
    pairs = zip(names, schema.kinds, strict=True)
    return ", ".join(f"{quoted(name)} {COLUMN_TYPES[kind]} NOT NULL" for name, kind in pairs)


def _check_unsigned(rows: pa.Table, schema: Schema) -> None:
    """SQLite's integers are signed: larger ones would come back as floats."""
    for column, attribute in zip(rows.columns, schema.attributes, strict=True):
        if attribute.kind is Kind.UNSIGNED and len(column) and column.to_numpy().max() > RANGES[Kind.NUMBER][1]:
            raise OutputError(
                f"{schema}: '{attribute.name}' has values above {RANGES[Kind.NUMBER][1]}, which SQLite's integers "
                "cannot hold; use IO=file, jsonl or parquet"
            )


def quoted(name: str) -> str:
    """`name` as SQL writes any name."""
    return '"' + name.replace('"', '""') + '"'
