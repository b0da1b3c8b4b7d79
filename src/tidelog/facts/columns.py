"""Rows outside the engine: Arrow tables whose column types follow the schema.

Columns cross between Arrow and NumPy by their buffers. Arrow's own conversions load pandas where it is installed, which
takes longer than a small program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.schema import Kind, Schema, Value

ArrowColumn: TypeAlias = Any
"""An Arrow array; its published types are too narrow for what it takes."""

ARROW_TYPES: dict[Kind, pa.DataType] = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.uint64(),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.large_string(),
}

_FIRST_LOOK, _AT_ONCE = 16, 1 << 16
"""Rows that are looked at before others, and how many at a time, so that what is needed in between stays small."""

DTYPES: dict[Kind, type[np.generic[Any]]] = {Kind.NUMBER: np.int64, Kind.UNSIGNED: np.uint64, Kind.FLOAT: np.float64}
"""How a numeric kind looks in NumPy."""


@lru_cache(maxsize=256)
def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of the table of a relation; no column holds nulls."""
    return pa.schema(
        [pa.field(attribute.name, ARROW_TYPES[attribute.kind], nullable=False) for attribute in schema.attributes]
    )


def empty_table(schema: Schema) -> pa.Table:
    """The table of a relation without rows."""
    return pa.Table.from_arrays([column_of(kind, ()) for kind in schema.kinds], schema=arrow_schema(schema))


def column_of(kind: Kind, values: Sequence[Value]) -> ArrowColumn:
    """An Arrow column of Python values that are known to be of `kind`."""
    if kind is Kind.SYMBOL:
        return column_of_texts(values)  # type: ignore[arg-type]
    return column_of_numbers(kind, np.array(values, DTYPES[kind]))


def column_of_numbers(kind: Kind, numbers: npt.NDArray[Any]) -> ArrowColumn:
    """An Arrow column that shares the memory of `numbers`."""
    return _from_buffers(ARROW_TYPES[kind], numbers.size, np.ascontiguousarray(numbers, DTYPES[kind]))


def column_of_texts(texts: Iterable[str]) -> ArrowColumn:
    """An Arrow column of texts."""
    encoded = [text.encode() for text in texts]
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    return column_of_letters(len(encoded), ends, np.frombuffer(b"".join(encoded), np.uint8))


def column_of_letters(count: int, ends: npt.NDArray[np.int64], letters: npt.NDArray[np.uint8]) -> ArrowColumn:
    """An Arrow column of `count` texts: UTF-8 `letters`, cut at `ends`, the first of which is 0."""
    return _from_buffers(pa.large_string(), count, ends, letters)


def text_scalar(text: str) -> ArrowColumn:
    """One text as an Arrow scalar."""
    return column_of_texts([text])[0]


def values_of(column: ArrowColumn) -> list[Value]:
    """The values of an Arrow column in Python's own types."""
    kind = next(kind for kind, arrow_type in ARROW_TYPES.items() if arrow_type.equals(column.type))
    values: list[Value] = column.to_pylist() if kind is Kind.SYMBOL else numbers_of(kind, column).tolist()
    return values


def numbers_of(kind: Kind, column: ArrowColumn) -> npt.NDArray[Any]:
    """The numbers of an Arrow column of that kind's type, in its memory where it lies in one piece."""
    dtype = DTYPES[kind]
    pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    arrays = [np.frombuffer(_second(piece), dtype, len(piece), 8 * piece.offset) for piece in pieces if len(piece)]
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)


def letters_of(piece: ArrowColumn) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Where each text of one Arrow array begins and the last ends, and the UTF-8 letters they are cut from."""
    if not len(piece):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    _, ends, letters = piece.buffers()
    cuts = np.frombuffer(ends, np.int64, len(piece) + 1, 8 * piece.offset)
    return cuts, np.frombuffer(letters, np.uint8) if letters is not None and letters.size else np.empty(0, np.uint8)


def _second(piece: ArrowColumn) -> Any:
    return piece.buffers()[1]


def _from_buffers(kind: pa.DataType, count: int, *arrays: npt.NDArray[Any]) -> ArrowColumn:
    buffers: list[Any] = [None, *(pa.py_buffer(array) for array in arrays)]  # type: ignore[arg-type]
    return pa.Array.from_buffers(kind, count, buffers)


def is_ascending(rows: pa.Table, kinds: tuple[Kind, ...]) -> bool:
    """Whether each row is greater than the one before it, as in most exported files: then all are different.

    Texts are not looked at: comparing them takes longer than interning them.
    """
    if Kind.SYMBOL in kinds or not _first_ascend(rows, kinds):
        return False
    last: list[npt.NDArray[Any]] = []
    for batch in rows.to_batches(max_chunksize=_AT_ONCE):
        columns = [numbers_of(kind, batch.column(number)) for number, kind in enumerate(kinds)]
        joined = [np.concatenate(pair) for pair in zip(last, columns, strict=True)] if last else columns
        if not _ascend(joined):
            return False
        last = [column[-1:] for column in joined]
    return True


def _first_ascend(rows: pa.Table, kinds: tuple[Kind, ...]) -> bool:
    """As `_ascend` of the first rows. A few before the others, because the answer is mostly no after two or three."""
    if not rows.num_rows:
        return True
    firsts = [numbers_of(kind, rows.column(number).chunk(0))[:_FIRST_LOOK] for number, kind in enumerate(kinds)]
    shown = zip(*(column.tolist() for column in firsts), strict=False)  # chunks of columns may differ in length
    return all(before < row for before, row in pairwise(shown))


def _ascend(columns: Sequence[npt.NDArray[Any]]) -> bool:
    greater = columns[-1][1:] > columns[-1][:-1]
    for column in reversed(columns[:-1]):
        greater = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & greater)
    return bool(greater.all())
