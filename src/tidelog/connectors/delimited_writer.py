"""Rows as delimited text, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.connectors.files import packing
from tidelog.connectors.problems import show
from tidelog.connectors.protocol import Options, Quoting
from tidelog.errors import OutputError
from tidelog.facts.columns import column_of_texts, text_scalar
from tidelog.schema import Attribute, Kind, Schema

BATCH = 1 << 17
TEXT = pa.large_string()
NUMERIC = frozenset("0123456789+-.einf")
Texts: TypeAlias = "pa.Array[Any]"


def write_delimited(rows: pa.Table, schema: Schema, options: Options, file: BinaryIO) -> None:
    """Writes a header if asked for and then one line for each row.

    Floats are written with the fewest digits that read back as the same value.
    """
    with packing(file, options) as packed:
        for part in _parts(rows, schema, options):
            packed.write(part)


def _parts(rows: pa.Table, schema: Schema, options: Options) -> Iterator[bytes | pa.Buffer]:
    if options.headers and schema.arity:
        names = [column_of_texts([name]) for name in options.column_names(schema)]
        yield _joined([_written(name, "headers", schema, options) for name in names], options.delimiter)
    if schema.arity == 0:
        yield b"()\n" * rows.num_rows
        return
    for batch in rows.to_batches(max_chunksize=BATCH):
        if batch.num_rows:
            columns = zip(batch.columns, schema.attributes, strict=True)
            yield _joined(
                [_fields(column, attribute, schema, options) for column, attribute in columns], options.delimiter
            )


def _fields(column: Texts, attribute: Attribute, schema: Schema, options: Options) -> Texts:
    texts = column.cast(TEXT)
    if attribute.kind is Kind.SYMBOL or not NUMERIC.isdisjoint(options.delimiter):
        return _written(texts, attribute.name, schema, options)
    return texts


def _joined(fields: list[Texts], delimiter: str) -> pa.Buffer:
    """The text of all lines: an Arrow column of text is its rows one after the other."""
    buffer = _join(_join(*fields, text_scalar(delimiter)), text_scalar(""), text_scalar("\n")).buffers()[2]
    assert buffer is not None
    return buffer


def _join(*parts: Texts | pa.Scalar[Any]) -> Texts:
    """The parts of each row as one text, the last part between them."""
    return cast(Texts, pc.binary_join_element_wise(*parts))  # type: ignore[type-var]


def _written(texts: Texts, attribute: str, schema: Schema, options: Options) -> Texts:
    """`texts` as fields: quoted where they must be, refused where they cannot be quoted."""
    if options.quoting is Quoting.RFC4180:
        return _quoted(texts, options.delimiter)
    for what, unfit in (
        ("a line end", _holds_line_end(texts)),
        ("the delimiter", _runs_into(texts, options.delimiter)),
    ):
        if pc.any(unfit).as_py():
            value = texts.filter(unfit)[0].as_py()
            raise OutputError(
                f"{schema.relation}: the value {show(value)} of '{attribute}' holds {what}, "
                "which a plain fact file cannot; use rfc4180=true, or IO=jsonl, in the .output directive"
            )
    return texts


def _holds_line_end(texts: Texts) -> Texts:
    return pc.or_(pc.match_substring(texts, "\n"), pc.match_substring(texts, "\r"))


def _runs_into(texts: Texts, delimiter: str) -> Texts:
    """Which texts hold the delimiter, or end with the start of it, so that a reader would find it too early."""
    found = pc.match_substring(texts, delimiter)
    for length in range(1, len(delimiter)):
        found = pc.or_(found, pc.ends_with(texts, delimiter[:length]))
    return found


def _quoted(texts: Texts, delimiter: str) -> Texts:
    """`texts` with double quotes around those that hold a quote, a delimiter or a line end, and around empty ones."""
    special = pc.or_(pc.match_substring_regex(texts, '["\r\n]|^$'), _runs_into(texts, delimiter))
    if not pc.any(special).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    quote = text_scalar('"')
    return cast(Texts, pc.if_else(special, _join(quote, doubled, quote, text_scalar("")), texts))
