"""Takes values, returns codes of 64 bits: equal values have equal codes, and numbers are ordered as their codes are.

The rest of the engine interns values to dense ids. Here a value is looked up once, in the index itself, so that a
number is its own code and only texts are interned: one search less for each column of each tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.facts.columns import ArrowColumn, column_of_texts, letters_of, numbers_of
from tidelog.facts.values import TextTable
from tidelog.schema import Kind, Row, Schema, Value

CodeArray = npt.NDArray[np.int64]

_SIGN = -(2**63)
_ALL_BUT_SIGN = 2**63 - 1


class Codes:
    """The codes of values, and back. Texts are numbered in order of arrival, so their codes have no order."""

    def __init__(self) -> None:
        self._texts = TextTable()
        self._known: dict[str, int] = {}

    def of_table(self, rows: pa.Table, schema: Schema) -> CodeArray:
        """The codes of the rows of an Arrow table."""
        codes = np.empty((rows.num_rows, schema.arity), np.int64)
        for position, kind in enumerate(schema.kinds):
            codes[:, position] = self._of_column(kind, rows.column(position))
        return codes

    def of_value(self, value: Value, kind: Kind) -> int:
        """The code of one value."""
        match kind:
            case Kind.NUMBER:
                return int(value)
            case Kind.UNSIGNED:
                return int(value) + _SIGN
            case Kind.FLOAT:
                return int(_ordered(np.array([float(value) + 0.0]).view(np.int64))[0])
            case Kind.SYMBOL:
                known = self._known.get(str(value))
                if known is None:
                    offsets, letters = letters_of(column_of_texts([str(value)]))
                    known = self._known[str(value)] = int(self._texts.intern(offsets, letters)[0])
                return known

    def rows(self, codes: CodeArray, kinds: Sequence[Kind]) -> list[Row]:
        """The rows behind `codes`, in Python's own types."""
        if not kinds:
            return [()] * len(codes)
        return list(zip(*(self._values(codes[:, at], kind) for at, kind in enumerate(kinds)), strict=True))

    def _of_column(self, kind: Kind, column: ArrowColumn) -> CodeArray:
        if kind is Kind.SYMBOL:
            pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            interned = [self._texts.intern(*letters_of(piece)) for piece in pieces]
            return np.concatenate(interned).astype(np.int64) if interned else np.empty(0, np.int64)
        numbers = numbers_of(kind, column)
        match kind:
            case Kind.FLOAT:
                return _ordered((numbers + 0.0).view(np.int64))
            case Kind.UNSIGNED:
                return np.bitwise_xor(numbers.view(np.int64), np.int64(_SIGN))
            case _:
                return np.asarray(numbers, np.int64)

    def _values(self, codes: CodeArray, kind: Kind) -> Iterable[Value]:
        if kind is not Kind.SYMBOL:
            numbers: list[Value] = _numbers(codes, kind).tolist()
            return numbers
        cuts, letters = letters_of(self._texts.texts(codes.astype(np.int32)))
        whole = letters.tobytes()
        return [whole[begin:end].decode() for begin, end in pairwise(cuts.tolist())]


def _numbers(codes: CodeArray, kind: Kind) -> npt.NDArray[np.generic]:
    match kind:
        case Kind.FLOAT:
            return _ordered(codes).view(np.float64)
        case Kind.UNSIGNED:
            return np.asarray(np.bitwise_xor(codes, np.int64(_SIGN)).view(np.uint64))
        case _:
            return codes


def _ordered(bits: CodeArray) -> CodeArray:
    """The bits of floats as integers of the same order; done twice, the bits again."""
    return np.asarray(np.bitwise_xor(bits, (bits >> 63) & np.int64(_ALL_BUT_SIGN)), np.int64)
