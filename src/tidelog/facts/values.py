"""Every value is interned once: a column inside the engine is int32 ids, and equal ids are equal values.

Numbers, unsigned and floats are 64-bit words in a table for each kind; symbols are UTF-8 text in one buffer. Ids are
dense, from 0 in order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.errors import LimitError
from tidelog.facts.columns import ARROW_TYPES
from tidelog.kernels import jit
from tidelog.kernels.interning import EMPTY, intern_texts, intern_words, rehash_texts, rehash_words
from tidelog.schema import Kind, Value

Ids = npt.NDArray[np.int32]
Words = npt.NDArray[Any]
ArrowColumn: TypeAlias = Any
"""An Arrow array; its published types are too narrow for what it takes."""

DTYPES: dict[Kind, npt.DTypeLike] = {Kind.NUMBER: np.int64, Kind.UNSIGNED: np.uint64, Kind.FLOAT: np.float64}
"""How a numeric kind looks decoded."""

_MOST_IDS = 2**31 - 2
_SMALLEST = 64


class Values:
    """The interned values of all kinds; shared by the relations of one backend."""

    def __init__(self) -> None:
        self._words = {kind: WordTable() for kind in DTYPES}
        self.symbols = TextTable()

    def size(self, kind: Kind) -> int:
        """How many different values of `kind` there are: ids lie below it."""
        return int(self.symbols.count if kind is Kind.SYMBOL else self._words[kind].count)

    def encode(self, kind: Kind, column: ArrowColumn) -> Ids:
        """Ids of an Arrow column of the kind's type."""
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if kind is Kind.SYMBOL:
            return self.symbols.intern(column)
        return self.identify(kind, column.to_numpy(zero_copy_only=False))

    def decode(self, kind: Kind, ids: Ids) -> ArrowColumn:
        """The values of `ids` as an Arrow column."""
        if kind is Kind.SYMBOL:
            return self.symbols.texts().take(pa.array(ids))
        return pa.array(self.numbers(kind, ids), ARROW_TYPES[kind])

    def identify(self, kind: Kind, numbers: Words) -> Ids:
        """Ids of numbers, in the dtype of their kind."""
        if kind is Kind.FLOAT:
            numbers = numbers + 0.0  # a negative zero becomes zero
        return self._words[kind].intern(np.ascontiguousarray(numbers, dtype=DTYPES[kind]).view(np.uint64))

    def numbers(self, kind: Kind, ids: Ids) -> Words:
        """The numbers behind `ids`, in the dtype of their kind."""
        return self._words[kind].values.view(DTYPES[kind])[ids]

    def identify_one(self, kind: Kind, value: Value) -> int:
        """The id of one value."""
        if kind is Kind.SYMBOL:
            return int(self.symbols.intern(pa.array([value], pa.large_string()))[0])
        return int(self.identify(kind, np.array([value], dtype=DTYPES[kind]))[0])

    def identify_all(self, kind: Kind, values: Iterable[Value]) -> Ids:
        """The ids of Python values."""
        return self.encode(kind, pa.array(values, ARROW_TYPES[kind]))


class WordTable:
    """64-bit words and their ids."""

    def __init__(self) -> None:
        self.count = 0
        self.values = np.empty(_SMALLEST, np.uint64)
        self._slots = np.full(2 * _SMALLEST, EMPTY, np.int32)
        self._lock = Lock()

    def intern(self, words: npt.NDArray[np.uint64]) -> Ids:
        """The id of each word; new words get new ids."""
        ids = np.empty(words.size, np.int32)
        jit.work(words.size)
        with self._lock:
            reached, self.count = intern_words(self._slots, self.values, self.count, words, 0, ids)
            while reached < words.size:
                self._grow()
                reached, self.count = intern_words(self._slots, self.values, self.count, words, reached, ids)
        return ids

    def _grow(self) -> None:
        room = _next_room(self.values.size)
        values = np.empty(room, np.uint64)
        values[: self.count] = self.values[: self.count]
        slots = np.full(2 * room, EMPTY, np.int32)
        rehash_words(slots, values, self.count)
        self.values, self._slots = values, slots


class TextTable:
    """Texts and their ids, as UTF-8 in one buffer."""

    def __init__(self) -> None:
        self.count = 0
        self._codes = np.empty(_SMALLEST, np.uint64)
        self._ends = np.zeros(_SMALLEST + 1, np.int64)
        self._letters = np.empty(16 * _SMALLEST, np.uint8)
        self._slots = np.full(2 * _SMALLEST, EMPTY, np.int32)
        self._lock = Lock()

    def intern(self, texts: ArrowColumn) -> Ids:
        """The id of each text of a large_string array; new texts get new ids."""
        offsets = np.frombuffer(texts.buffers()[1], np.int64, len(texts) + 1, texts.offset * 8) if len(texts) else None
        ids = np.empty(len(texts), np.int32)
        if offsets is None:
            return ids
        data = texts.buffers()[2]
        text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
        jit.work(len(texts))
        with self._lock:
            reached = 0
            while True:
                reached, self.count = intern_texts(
                    self._slots, self._codes, self._ends, self._letters, self.count, offsets, text, reached, ids
                )
                if reached == len(texts):
                    return ids
                self._grow(int(offsets[reached + 1] - offsets[reached]))

    def texts(self) -> ArrowColumn:
        """All texts by id. The array shares its memory with the table, which only ever appends."""
        return pa.LargeStringArray.from_buffers(self.count, *map(_buffer, (self._ends, self._letters)))

    def _grow(self, needed: int) -> None:
        """Makes room for more texts, of which the next has `needed` bytes."""
        used = int(self._ends[self.count])
        if used + needed > self._letters.size:
            letters = np.empty(2 * (used + needed), np.uint8)
            letters[:used] = self._letters[:used]
            self._letters = letters
        if self.count >= min(self._codes.size, self._slots.size // 2):
            room = _next_room(self._codes.size)
            self._codes = np.concatenate([self._codes, np.empty(room - self._codes.size, np.uint64)])
            self._ends = np.concatenate([self._ends, np.zeros(room + 1 - self._ends.size, np.int64)])
            self._slots = np.full(2 * room, EMPTY, np.int32)
            rehash_texts(self._slots, self._codes, self.count)


def _buffer(array: Any) -> Any:
    return pa.py_buffer(array)


def _next_room(room: int) -> int:
    if room >= _MOST_IDS:
        raise LimitError(f"more than {_MOST_IDS:,} different values of one kind: split the data or use Spark")
    return 2 * room
