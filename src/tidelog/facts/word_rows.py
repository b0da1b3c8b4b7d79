"""Pairs by one of their columns, the other ids of a key as words of bits. Arrays are what `kernels.word_rows` says."""

from __future__ import annotations

import numpy as np

from tidelog.facts.membership import Rows
from tidelog.kernels.word_rows import forget_words, lay_out_words, merge_words, pack_pairs, remove_from_words

_SMALLEST = 64
_SIZES = 32
_FEW_WORDS = 1 << 8
_MANY_WORDS = 1 << 20


class WordRun:
    """Pairs that came together, laid out once: the next ones take their place."""

    def __init__(self, key: int) -> None:
        self._key = key
        self.keys = np.zeros(0, np.int32)
        self.starts = np.zeros(_SMALLEST, np.int32)
        self.counts = np.zeros(_SMALLEST, np.int32)
        self.sizes = np.zeros(_SMALLEST, np.int32)
        self.words = np.zeros(0, np.int32)
        self.bits = np.zeros(0, np.int64)

    def fill(self, pairs: Rows) -> None:
        """Holds `pairs`, which are all different, and nothing else."""
        forget_words(self.keys, self.counts, self.sizes)
        packed = np.empty(pairs.shape[0], np.int64)
        pack_pairs(pairs, self._key, packed)
        packed.sort()
        reach = int(packed[-1] >> 32) + 1 if packed.size else 0
        if reach > self.starts.size:
            self.starts, self.counts, self.sizes = (np.zeros(2 * reach, np.int32) for _ in range(3))
        if packed.size > self.words.size:
            self.words, self.bits = np.empty(2 * packed.size, np.int32), np.empty(2 * packed.size, np.int64)
        keys = np.empty(packed.size, np.int32)
        count = lay_out_words(packed, keys, self.starts, self.counts, self.sizes, self.words, self.bits)
        self.keys = keys[:count]

    def clear(self) -> None:
        """Holds nothing."""
        forget_words(self.keys, self.counts, self.sizes)
        self.keys = self.keys[:0]

    def remove(self, pairs: Rows) -> None:
        """Takes out those of `pairs` that are there."""
        remove_from_words(pairs, self._key, self.starts, self.counts, self.sizes, self.words, self.bits)


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
        self._left = np.full(_SIZES, -1, np.int32)
        self._tail = 0

    def add(self, run: WordRun) -> None:
        """Adds pairs that are not there yet."""
        if not run.keys.size:
            return
        self._reach(int(run.keys[-1]) + 1)
        reached = 0
        while True:
            reached, self._tail = merge_words(
                run.keys, reached, run.starts, run.counts, run.sizes, run.words, run.bits,
                self.starts, self.counts, self._rooms, self.sizes, self.words, self.bits, self._left, self._tail,
            )  # fmt: skip
            if reached == run.keys.size:
                return
            self._make_room()

    def clear(self) -> None:
        """Forgets every pair. The next ones find as much room as these had."""
        self.counts[:] = self.sizes[:] = 0

    def remove(self, pairs: Rows) -> None:
        """Takes out those of `pairs` that are there."""
        remove_from_words(pairs, self._key, self.starts, self.counts, self.sizes, self.words, self.bits)

    def _reach(self, keys: int) -> None:
        """Makes room for so many keys."""
        if keys > self.starts.size:
            more = np.zeros(max(keys, 2 * self.starts.size) - self.starts.size, np.int32)
            self.starts, self.counts, self.sizes, self._rooms = (
                np.concatenate([each, more]) for each in (self.starts, self.counts, self.sizes, self._rooms)
            )

    def _make_room(self) -> None:
        """Makes the room for words several times as long; what is never written to takes no memory.

        A row that moves may need more than that: then this is done again.
        """
        size = (16 if self.words.size < _MANY_WORDS else 4) * self.words.size
        words, bits = np.empty(size, np.int32), np.empty(size, np.int64)
        words[: self._tail], bits[: self._tail] = self.words[: self._tail], self.bits[: self._tail]
        self.words, self.bits = words, bits
