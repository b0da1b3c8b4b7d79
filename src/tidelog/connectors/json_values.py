"""What both JSON formats share: strict decoding, and rows as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.connectors.protocol import JsonShape
from tidelog.errors import InputError
from tidelog.facts.columns import text_scalar
from tidelog.schema import Kind, Schema


def strict_decoder() -> json.JSONDecoder:
    """A decoder that takes JSON only: no NaN and no Infinity."""
    return json.JSONDecoder(parse_constant=_refuse)


def _refuse(constant: str) -> object:
    raise ValueError(f"not JSON: {constant} is no JSON value (an infinity can be written 1e999)")


def plain_text(data: bytes, file: str) -> str:
    """The text in `data`, which JSON says is UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        line = data.count(b"\n", 0, reason.start) + 1
        raise InputError(f"not UTF-8: byte 0x{data[reason.start]:02x}", file, line) from None


BATCH = 1 << 17
TEXT = pa.large_string()
Texts: TypeAlias = "pa.Array[Any]"


def encoded_rows(rows: pa.Table, schema: Schema, names: Sequence[str], shape: JsonShape, end: str) -> Iterator[bytes]:
    """The rows as JSON text, each with `end` after it, many at a time.

    Infinities become 1e999, the nearest thing JSON has: readers take it for infinity.
    """
    opening, closing = ("{", "}") if shape is JsonShape.OBJECT else ("[", "]")
    if schema.arity == 0:
        yield f"{opening}{closing}{end}".encode() * rows.num_rows
        return
    keys = [f"{json.dumps(name, ensure_ascii=False)}:" if shape is JsonShape.OBJECT else "" for name in names]
    before = [opening + keys[0], *(f",{key}" for key in keys[1:])]
    for batch in rows.to_batches(max_chunksize=BATCH):
        if batch.num_rows:
            parts: list[Texts | str] = []
            for text, column, kind in zip(before, batch.columns, schema.kinds, strict=True):
                parts += [text, _encoded(column, kind)]
            yield _joined([*parts, closing + end]).buffers()[2].to_pybytes()  # type: ignore[union-attr]


def _encoded(column: Texts, kind: Kind) -> Texts:
    """Each value of `column` as JSON text."""
    texts = column.cast(TEXT)
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return texts
        case Kind.FLOAT:
            return cast(Texts, pc.replace_substring(texts, "inf", "1e999"))
        case Kind.SYMBOL:
            if pc.any(pc.match_substring_regex(texts, CONTROL)).as_py():
                encode = json.JSONEncoder(ensure_ascii=False).encode
                return pa.array([encode(text) for text in texts.to_pylist()], type=TEXT)
            escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
            return _joined(['"', cast(Texts, escaped), '"'])


CONTROL = "[\\x00-\\x1f]"


def _joined(parts: Sequence[Texts | str]) -> Texts:
    """The parts of each row as one text."""
    texts = [text_scalar(part) if isinstance(part, str) else part for part in parts]
    return cast(Texts, pc.binary_join_element_wise(*texts, text_scalar("")))
