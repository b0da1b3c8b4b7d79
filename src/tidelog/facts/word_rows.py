"""Pairs by one of their columns, the other ids of a key as words of bits. Arrays are what `kernels.word_rows` says.

Keys are divided into parts, which threads may lay out and add at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import numpy.typing as npt

from tidelog.facts.large_arrays import empty, zeros
from tidelog.facts.membership import Rows
from tidelog.kernels.digits import sort_by_digits
from tidelog.kernels.rows import largest_of_pairs
from tidelog.kernels.word_rows import forget_words, lay_out_words, merge_words, pack_pairs, remove_from_words

Keys = npt.NDArray[np.int32]

_SMALLEST = 64
_SIZES = 32
_FEW_WORDS = 1 << 8
_MANY_WORDS = 1 << 20
_STRETCH = 1 << 6

_FEW_PAIRS = 1 << 10
"""Pairs that are sorted faster by comparing them than digit by digit."""


class WordRun:
    """Pairs that came together, laid out once: the next ones take their place."""

    def __init__(self, key: int) -> None:
        self._key = key
        self.keys: Keys = np.zeros(0, np.int32)
        self.keys_of_parts: list[Keys] = []
        self.size = 0
        """How many pairs came."""
        self.starts = np.zeros(_SMALLEST, np.int32)
        self.counts = np.zeros(_SMALLEST, np.int32)
        self.sizes = np.zeros(_SMALLEST, np.int32)
        self.words = np.zeros(0, np.int32)
        self.bits = np.zeros(0, np.int64)
        self._rooms: list[_Room] = []

    def fill(self, pairs: Rows) -> None:
        """Holds `pairs`, which are all different, and nothing else."""
        self.begin(pairs, parts=1)
        self.fill_part(0)
        self.end()

    def begin(self, pairs: Rows, parts: int) -> None:
        """Holds nothing but is ready for `pairs`, in so many parts, a power of two: each is filled, then it ends."""
        self.clear()
        self._pairs = pairs
        self.keys_of_parts = [self.keys] * parts
        self._rooms += [_Room() for _ in range(parts - len(self._rooms))]
        largest = largest_of_pairs(pairs)
        self.size = pairs.shape[0]
        self.reach = int(largest[self._key]) + 1
        self._low_bits = max(6, int(largest[1 - self._key]).bit_length())
        if self.reach > self.starts.size:
            self.starts, self.counts, self.sizes = _table(3, 2 * self.reach)
        room = parts * pairs.shape[0]  # what is never written to takes no memory
        if room > self.words.size:
            self.words, self.bits = empty((2 * room,), np.int32), empty((2 * room,), np.int64)

    def fill_part(self, part: int) -> None:
        """Lays out the pairs of that part."""
        size, parts, room = self._pairs.shape[0], len(self.keys_of_parts), self._rooms[part]
        room.reserve(size)
        count = pack_pairs(self._pairs, self._key, self._low_bits, part, parts, room.packed)
        packed = _sorted(room.packed[:count], room.spare[:count], self._low_bits + (self.reach - 1).bit_length())
        found = lay_out_words(
            packed, self._low_bits, part * size, room.keys, self.starts, self.counts, self.sizes, self.words, self.bits
        )
        self.keys_of_parts[part] = room.keys[:found]

    def end(self) -> None:
        """Holds all parts."""
        parts = self.keys_of_parts
        self.keys = parts[0] if len(parts) == 1 else np.concatenate(parts)
        del self._pairs

    def clear(self) -> None:
        """Holds nothing."""
        forget_words(self.keys, self.counts, self.sizes)
        self.keys = self.keys[:0]

    def remove(self, pairs: Rows) -> None:
        """Takes out those of `pairs` that are there."""
        remove_from_words(pairs, self._key, self.starts, self.counts, self.sizes, self.words, self.bits)


def _table(rows: int, keys: int) -> npt.NDArray[np.int32]:
    """A zero for each of so many keys in each row: in one array, since large ones have large pages."""
    return zeros(rows * keys, np.int32).reshape(rows, keys)


class _Room:
    """Where a part is sorted. It is kept: fresh memory would take as long as sorting."""

    def __init__(self) -> None:
        self.packed = self.spare = np.empty(0, np.int64)
        self.keys: Keys = np.empty(0, np.int32)

    def reserve(self, pairs: int) -> None:
        """Has room for so many pairs at least."""
        if pairs > self.packed.size:
            self.packed, self.spare = empty((2 * pairs,), np.int64), empty((2 * pairs,), np.int64)
            self.keys = empty((2 * pairs,), np.int32)


def _sorted(packed: npt.NDArray[np.int64], spare: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.int64]:
    """Packed pairs of so many bits in order of key and word, in either array."""
    if packed.size < _FEW_PAIRS:
        packed.sort()
        return packed
    return spare if sort_by_digits(packed, spare, 6, bits) else packed


@dataclass(slots=True)
class _Places:
    """Places for rows of words that nobody else gives out: those that were left, and a stretch at the end."""

    left: Keys = field(default_factory=lambda: np.full(_SIZES, -1, np.int32))
    tail: int = 0
    limit: int = 0
    stretch: int = _STRETCH
    reached: int = 0
    """Keys of the part that were added so far."""


class WordRows:
    """Pairs that grow in number."""

    def __init__(self, key: int) -> None:
        self._key = key
        self.starts = np.zeros(_SMALLEST, np.int32)
        self.counts = np.zeros(_SMALLEST, np.int32)
        self.sizes = np.zeros(_SMALLEST, np.int32)
        self.words = np.zeros(_FEW_WORDS, np.int32)
        self.bits = np.zeros(_FEW_WORDS, np.int64)
        self._rooms = np.zeros(_SMALLEST, np.int32)
        self._places = [_Places()]
        self._end = 0
        self._lock = Lock()

    def add(self, run: WordRun) -> None:
        """Adds pairs that are not there yet."""
        self.begin(run)
        for part in range(len(run.keys_of_parts)):
            self.add_part(run, part)
        self.end(run)

    def begin(self, run: WordRun) -> None:
        """Is ready for the pairs of a run that has begun: each part of it is added, then it ends. There is room for a
        word of each pair: what `end` has to add, no other thread helps with."""
        self._reach(run.reach)
        if self._end + run.size > self.words.size:
            self._make_room(self._end + run.size)
        self._places += [_Places() for _ in range(len(run.keys_of_parts) - len(self._places))]
        for places in self._places:
            places.reached = 0

    def add_part(self, run: WordRun, part: int) -> None:
        """Adds the pairs of that part, as far as there is room."""
        keys, places = run.keys_of_parts[part], self._places[part]
        while places.reached < keys.size:
            places.reached, places.tail = merge_words(
                keys, places.reached, run.starts, run.counts, run.sizes, run.words, run.bits,
                self.starts, self.counts, self._rooms, self.sizes, self.words, self.bits,
                places.left, places.tail, places.limit,
            )  # fmt: skip
            if places.reached < keys.size and not self._lengthen(places):
                return

    def end(self, run: WordRun) -> None:
        """Adds what there was no room for."""
        for part, keys in enumerate(run.keys_of_parts):
            while self._places[part].reached < keys.size:
                self._make_room(self.words.size + 1)
                self.add_part(run, part)

    def clear(self) -> None:
        """Forgets every pair. The next ones find as much room as these had."""
        self.counts[:] = self.sizes[:] = 0

    def remove(self, pairs: Rows) -> None:
        """Takes out those of `pairs` that are there."""
        remove_from_words(pairs, self._key, self.starts, self.counts, self.sizes, self.words, self.bits)

    def _reach(self, keys: int) -> None:
        """Makes room for so many keys, and for as many again."""
        if keys > self.starts.size:
            known = self.starts, self.counts, self.sizes, self._rooms
            self.starts, self.counts, self.sizes, self._rooms = table = _table(len(known), 2 * keys)
            table[:, : known[0].size] = known

    def _lengthen(self, places: _Places) -> bool:
        """Gives a longer stretch at the end; whether there was room for it.

        A row that moves may need more than that: then this is done again.
        """
        with self._lock:
            begin = places.tail if places.limit == self._end else self._end
            if begin + places.stretch > self.words.size:
                return False
            places.tail, places.limit = begin, begin + places.stretch
            self._end = places.limit
            places.stretch *= 2
            return True

    def _make_room(self, needed: int) -> None:
        """Makes room for so many words, several times as long as before; what is never written to takes no memory."""
        size = self.words.size
        while size < needed:
            size *= 16 if size < _MANY_WORDS else 4
        words, bits = empty((size,), np.int32), empty((size,), np.int64)
        words[: self._end], bits[: self._end] = self.words[: self._end], self.bits[: self._end]
        self.words, self.bits = words, bits
