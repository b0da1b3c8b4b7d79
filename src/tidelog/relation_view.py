"""Takes the rows of a relation, returns them as a user wants them: tuples, frames, files, a table to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tidelog.connectors import frames
from tidelog.connectors.atomic import Publication
from tidelog.connectors.protocol import PLAIN, Format, Options, connector, format_of, open_sink
from tidelog.errors import OutputError, UsageError
from tidelog.language.syntax_tree import Atom, Constant
from tidelog.query import answers
from tidelog.schema import Kind, Row, Schema, Value

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

ROWS_SHOWN = 10
WIDEST_CELL = 40


class RelationView:
    """The rows of a relation, or the answers of a query: a set without a promised order.

    A view is live: each read sees the facts as they are then.
    """

    def __init__(self, schema: Schema, read: Callable[[], pa.Table], count: Callable[[], int]) -> None:
        self._schema = schema
        self._read = read
        self._count = count

    @property
    def schema(self) -> Schema:
        """The names, types and kinds of the columns."""
        return self._schema

    def rows(self) -> list[Row]:
        """Every row as a tuple."""
        return frames.to_rows(self._read())

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __len__(self) -> int:
        return self._count()

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, tuple) or len(row) != self._schema.arity:
            return False
        if not all(map(_fits, row, self._schema.kinds)):
            return False
        constants = tuple(Constant(value, kind) for value, kind in zip(row, self._schema.kinds, strict=True))
        atom = Atom(self._schema.relation, constants)
        return bool(answers(atom, self._schema, self._read()).num_rows)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table; no column holds nulls."""
        return self._read()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        stream: object = self._read().__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]
        return stream

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame; pandas must be installed."""
        return frames.to_pandas(self._read())

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars DataFrame; polars must be installed."""
        return frames.to_polars(self._read())

    def write(self, path: str | Path, options: Options = PLAIN) -> None:
        """Writes the rows to `path` in the format its suffix names; the file appears whole or not at all."""
        _write(self._read(), self._schema, Path(path), options)

    def __repr__(self) -> str:
        try:
            rows = self._read()
        except UsageError as reason:
            return f"<{self._schema}: {reason}>"
        if not self._schema.arity:
            return _caption(self._schema, rows.num_rows)
        cells = [list(self._schema.names), *_shown_cells(rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        right = [kind is not Kind.SYMBOL for kind in self._schema.kinds]
        lines = [_aligned(line, widths, right) for line in cells]
        rule = ["  ".join("-" * width for width in widths)]
        return "\n".join([_caption(self._schema, rows.num_rows), *lines[:1], *rule, *lines[1:], *_more(rows.num_rows)])

    def _repr_html_(self) -> str:
        rows = self._read()
        head = "".join(
            f'<th title="{escape(column.type)}">{escape(column.name)}</th>' for column in self._schema.attributes
        )
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in _shown_cells(rows)
        )
        more = "".join(f"<div>{escape(line)}</div>" for line in _more(rows.num_rows))
        caption = escape(_caption(self._schema, rows.num_rows))
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _write(rows: pa.Table, schema: Schema, target: Path, options: Options) -> None:
    packed = replace(options, compress=options.compress or target.suffix == ".gz")
    format = format_of(target)
    if format is Format.SQLITE:  # a table in a file that may hold others: a transaction keeps it whole
        open_sink(target, packed).write(rows, schema)
        return
    try:
        with Publication() as publication:
            connector(format).sink(publication.stage(target), packed).write(rows, schema)
    except OSError as reason:
        raise OutputError(f"{target}: cannot be written: {reason.strerror or reason}") from reason


def _fits(value: Value, kind: Kind) -> bool:
    """Whether `value` could stand in a column of `kind`."""
    match kind:
        case Kind.SYMBOL:
            return isinstance(value, str)
        case Kind.FLOAT:
            return isinstance(value, float | int)
        case Kind.NUMBER:
            return isinstance(value, int) and -(2**63) <= value < 2**63
        case Kind.UNSIGNED:
            return isinstance(value, int) and 0 <= value < 2**64


def _caption(schema: Schema, count: int) -> str:
    return f"{schema}: {count:,} {'row' if count == 1 else 'rows'}"


def _shown_cells(rows: pa.Table) -> list[list[str]]:
    """The first rows as text, long values cut."""
    count = min(rows.num_rows, ROWS_SHOWN)  # a table without columns does not know where its rows end
    return [[_cell(value) for value in row] for row in frames.to_rows(rows.slice(0, count))]


def _cell(value: Value) -> str:
    text = str(value).replace("\n", "\\n").replace("\t", "\\t")
    return text if len(text) <= WIDEST_CELL else text[: WIDEST_CELL - 1] + "…"


def _aligned(cells: list[str], widths: list[int], right: list[bool]) -> str:
    pairs = zip(cells, widths, right, strict=True)
    return "  ".join(cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in pairs).rstrip()


def _more(count: int) -> list[str]:
    return [f"… and {count - ROWS_SHOWN:,} more"] if count > ROWS_SHOWN else []
