"""Which partition a value belongs to: one function, as a Spark expression and over NumPy arrays."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as sf

from tidelog.schema import Kind, Value

Partitions = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.int64]

_PRIMES = tuple(
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_SEED = 42
_LOW_BITS = 1 << 31


@dataclass(frozen=True, slots=True)
class Partitioner:
    """Partitions for the values of all columns. The first ones belong to `heavy` values alone, see `skew`."""

    partitions: int
    heavy: tuple[tuple[Value, int], ...] = ()
    heavy_kind: Kind = Kind.NUMBER
    reserved: int = 0

    def of_column(self, kind: Kind, column: Column) -> Column:
        """The partition of the value in a column."""
        light = self._light(hash_of_column(kind, column))
        if not self.heavy or kind is not self.heavy_kind:
            return light
        pairs = [sf.lit(part) for value, number in self.heavy for part in (value, number)]
        return sf.coalesce(sf.try_element_at(sf.create_map(*pairs), column), light)

    def of_row(self, kinds: Sequence[Kind], columns: Sequence[Column]) -> Column:
        """The partition of all columns together."""
        hashes = [hash_of_column(kind, column) for kind, column in zip(kinds, columns, strict=True)]
        return self._light(reduce(lambda row, each: sf.xxhash64(row.bitwiseXOR(each)), hashes, sf.lit(_SEED)))

    def of_numbers(self, kind: Kind, numbers: npt.NDArray[Any]) -> Partitions:
        """The partition of each number."""
        return self._with_heavy(kind, numbers, self.of_hashes(hash_of_numbers(kind, numbers)))

    def of_texts(self, texts: Sequence[str]) -> Partitions:
        """The partition of each text."""
        found = self.of_hashes(hash_of_texts(texts))
        if self.heavy and self.heavy_kind is Kind.SYMBOL:
            known = dict(self.heavy)
            for place, text in enumerate(texts):
                found[place] = known.get(text, found[place])
        return found

    def of_hashes(self, hashes: Hashes) -> Partitions:
        """The partition of values that are not heavy, or of rows, by their hash."""
        return (hashes % (self.partitions - self.reserved) + self.reserved).astype(np.int32)

    def _light(self, hashed: Column) -> Column:
        return (sf.pmod(hashed, sf.lit(self.partitions - self.reserved)) + self.reserved).cast("int")

    def _with_heavy(self, kind: Kind, numbers: npt.NDArray[Any], found: Partitions) -> Partitions:
        if self.heavy and kind is self.heavy_kind:
            for value, number in self.heavy:
                found[numbers == value] = number
        return found


def hash_of_column(kind: Kind, column: Column) -> Column:
    """64 bits that depend on the value; the same as `hash_of_numbers` and `hash_of_texts` give."""
    match kind:
        case Kind.SYMBOL:
            return sf.xxhash64(sf.crc32(column.cast("binary")))
        case Kind.UNSIGNED:
            return sf.xxhash64((column % sf.lit(_LOW_BITS)).cast("long"))
        case Kind.FLOAT:
            return sf.xxhash64(column + sf.lit(0.0))
        case Kind.NUMBER:
            return sf.xxhash64(column)


def hash_of_numbers(kind: Kind, numbers: npt.NDArray[Any]) -> Hashes:
    """64 bits for each number."""
    match kind:
        case Kind.UNSIGNED:
            words = numbers % np.uint64(_LOW_BITS)
        case Kind.FLOAT:
            words = (np.ascontiguousarray(numbers, np.float64) + 0.0).view(np.uint64)
        case _:
            words = np.ascontiguousarray(numbers, np.int64).view(np.uint64)
    return hash_words(words)


def hash_of_texts(texts: Sequence[str]) -> Hashes:
    """64 bits for each text."""
    return hash_words(np.fromiter((zlib.crc32(text.encode()) for text in texts), np.uint64, len(texts)))


def hash_of_rows(hashes: Sequence[Hashes], count: int) -> Hashes:
    """64 bits for each of `count` rows, from those of its columns."""
    rows = np.full(count, _SEED, np.int64)
    for each in hashes:
        rows = hash_words((rows ^ each).view(np.uint64))
    return rows


def hash_words(words: npt.NDArray[np.uint64]) -> Hashes:
    """The xxHash64 of each word with Spark's seed: what its function of that name gives for a number."""
    first, second, third, fourth, fifth = _PRIMES
    with np.errstate(over="ignore"):
        start = np.uint64(_SEED + 8) + fifth
        hashed = _rotated(start ^ (_rotated(words * second, 31) * first), 27) * first + fourth
        hashed = (hashed ^ (hashed >> np.uint64(33))) * second
        hashed = (hashed ^ (hashed >> np.uint64(29))) * third
        mixed: npt.NDArray[np.uint64] = hashed ^ (hashed >> np.uint64(32))
    return mixed.view(np.int64)


def _rotated(words: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.uint64]:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
