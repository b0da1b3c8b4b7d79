"""Every value is interned once: a column inside the engine is int32 ids, and equal ids are equal values.

Numbers, unsigned and floats are 64-bit words in a table for each kind; symbols are UTF-8 text in one buffer. Ids are
dense, from 0 in order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.errors import LimitError
from tidelog.facts.columns import (
    DTYPES,
    ArrowColumn,
    column_of,
    column_of_letters,
    column_of_numbers,
    letters_of,
    numbers_of,
)
from tidelog.kernels import jit
from tidelog.kernels.interning import (
    EMPTY,
    copy_texts,
    intern_column,
    intern_texts,
    moved,
    rehash_texts,
    words_of,
)
from tidelog.schema import Kind, Value

Ids = npt.NDArray[np.int32]
Words = npt.NDArray[Any]

_MOST_IDS = 2**31 - 2
_SMALLEST = 64
_LETTERS_PER_ROW = 16

_MANY_WORDS = 256
"""From so many words on it is worth to see how near to one another they are."""


class Values:
    """The interned values of all kinds; shared by the relations of one backend, and of those made from it."""

    def __init__(self) -> None:
        self._words = {kind: WordTable() for kind in DTYPES}
        self.symbols = TextTable()
        self._ones: dict[tuple[Kind, Value], int] = {}
        self._tables: dict[int, tuple[ref[pa.Table], npt.NDArray[np.int32]]] = {}

    def remember(self, table: pa.Table, rows: npt.NDArray[np.int32]) -> None:
        """Notes that `table` was made of these rows of ids, all different, as long as somebody has it."""
        key = id(table)
        self._tables[key] = ref(table, lambda _: self._tables.pop(key, None)), rows

    def rows_behind(self, table: pa.Table) -> npt.NDArray[np.int32] | None:
        """The rows of ids that `table` was made of, all different; None if it comes from elsewhere."""
        held, rows = self._tables.get(id(table), (None, None))
        return rows if held is not None and held() is table else None

    def size(self, kind: Kind) -> int:
        """How many different values of `kind` there are: ids lie below it."""
        return int(self.symbols.count if kind is Kind.SYMBOL else self._words[kind].count)

    def encode_rows(self, kinds: Sequence[Kind], columns: Sequence[ArrowColumn], count: int) -> npt.NDArray[np.int32]:
        """Rows of ids of `count` rows in Arrow columns of the kinds' types."""
        rows = np.empty((count, len(kinds)), np.int32)
        for number, (kind, column) in enumerate(zip(kinds, columns, strict=True)):
            if kind is Kind.SYMBOL:
                rows[:, number] = self.encode(kind, column)
            else:
                self.identify_into(rows, number, kind, numbers_of(kind, column))
        return rows

    def encode(self, kind: Kind, column: ArrowColumn) -> Ids:
        """Ids of an Arrow column of the kind's type."""
        if kind is not Kind.SYMBOL:
            return self.identify(kind, numbers_of(kind, column))
        pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        ids = [self.symbols.intern(*letters_of(piece)) for piece in pieces]
        return ids[0] if len(ids) == 1 else np.concatenate([np.empty(0, np.int32), *ids])

    def decode_column(self, kind: Kind, rows: npt.NDArray[np.int32], number: int) -> ArrowColumn:
        """The values of one column of rows of ids as an Arrow column."""
        if kind is Kind.SYMBOL or not jit.is_compiled():
            return self.decode(kind, np.ascontiguousarray(rows[:, number]))
        words = np.empty(rows.shape[0], np.uint64)
        words_of(self._words[kind].values, np.ascontiguousarray(rows), number, words)
        return column_of_numbers(kind, words.view(DTYPES[kind]))

    def decode(self, kind: Kind, ids: Ids) -> ArrowColumn:
        """The values of `ids` as an Arrow column."""
        return self.symbols.texts(ids) if kind is Kind.SYMBOL else column_of_numbers(kind, self.numbers(kind, ids))

    def identify(self, kind: Kind, numbers: Words) -> Ids:
        """Ids of numbers, in the dtype of their kind."""
        ids = np.empty((numbers.size, 1), np.int32)
        self.identify_into(ids, 0, kind, numbers)
        return ids.reshape(-1)

    def identify_into(self, rows: npt.NDArray[np.int32], column: int, kind: Kind, numbers: Words) -> None:
        """As `identify`, into a column of rows of ids."""
        if kind is Kind.FLOAT:
            numbers = numbers + 0.0  # a negative zero becomes zero
        self._words[kind].intern(np.ascontiguousarray(numbers, dtype=DTYPES[kind]).view(np.uint64), rows, column)

    def numbers(self, kind: Kind, ids: Ids) -> Words:
        """The numbers behind `ids`, in the dtype of their kind."""
        return self._words[kind].values.view(DTYPES[kind]).take(ids)

    def table(self, kind: Kind) -> WordTable:
        """The words of a kind that is not text."""
        return self._words[kind]

    def identify_one(self, kind: Kind, value: Value) -> int:
        """The id of one value, looked up once: constants of rules are asked for in every round."""
        known = self._ones.get((kind, value))
        if known is None:
            known = self._ones[kind, value] = int(self.identify_all(kind, [value])[0])
        return known

    def identify_all(self, kind: Kind, values: Sequence[Value]) -> Ids:
        """The ids of Python values."""
        return self.encode(kind, column_of(kind, values))


class WordTable:
    """64-bit words and their ids."""

    def __init__(self) -> None:
        self.count = 0
        self.values = np.empty(_SMALLEST, np.uint64)
        self._slots = np.full(2 * _SMALLEST, EMPTY, np.int32)
        self._lock = Lock()

    @property
    def slots(self) -> Ids:
        """What finds the id of a word (see `kernels.interning`)."""
        return self._slots

    def make_room(self) -> None:
        """Makes room for more words."""
        self._slots, self.values = moved(self._slots, self.values, self.count, _next_room(self.values.size))

    def intern(self, words: npt.NDArray[np.uint64], rows: npt.NDArray[np.int32], column: int) -> None:
        """Writes the id of each word to a column of `rows`; new words get new ids."""
        jit.work(words.size)
        with self._lock:
            reached, self.count, self._slots, self.values = intern_column(
                self._slots, self.values, self.count, words, rows, column, _MANY_WORDS, _MOST_IDS
            )
        if reached < words.size:
            raise _too_many()


class TextTable:
    """Texts and their ids, as UTF-8 in one buffer."""

    def __init__(self) -> None:
        self.count = 0
        self._codes = np.empty(_SMALLEST, np.uint64)
        self._ends = np.zeros(_SMALLEST + 1, np.int64)
        self._letters = np.empty(16 * _SMALLEST, np.uint8)
        self._slots = np.full(2 * _SMALLEST, EMPTY, np.int32)
        self._lock = Lock()

    def intern(self, offsets: npt.NDArray[np.int64], letters: npt.NDArray[np.uint8]) -> Ids:
        """The id of each text letters[offsets[i] : offsets[i + 1]]; new texts get new ids."""
        ids = np.empty(offsets.size - 1, np.int32)
        jit.work(ids.size + int(offsets[-1] - offsets[0]) // _LETTERS_PER_ROW)
        with self._lock:
            reached = 0
            while True:
                reached, self.count = intern_texts(
                    self._slots, self._codes, self._ends, self._letters, self.count, offsets, letters, reached, ids
                )
                if reached == ids.size:
                    return ids
                self._grow(int(offsets[reached + 1] - offsets[reached]))

    def texts(self, ids: Ids) -> ArrowColumn:
        """The texts of `ids` as an Arrow column."""
        ends = np.zeros(ids.size + 1, np.int64)
        np.cumsum((self._ends[1:] - self._ends[:-1])[ids], out=ends[1:])
        letters = np.empty(int(ends[-1]), np.uint8)
        jit.work(ids.size + letters.size // _LETTERS_PER_ROW)
        copy_texts(self._ends, self._letters, ids, ends, letters)
        return column_of_letters(ids.size, ends, letters)

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


def _next_room(room: int) -> int:
    if room >= _MOST_IDS:
        raise _too_many()
    return 2 * room


def _too_many() -> LimitError:
    return LimitError(f"more than {_MOST_IDS:,} different values of one kind: split the data or use Spark")
