"""Closures kept in compact form: what they can be asked, and what a change of their edges brings.

Rows are (group, source, target): edges never cross groups, so each group has a closure of its own. A closure is written
out only for those who read it; counting, membership and the neighbours of given nodes do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.errors import LimitError
from tidelog.facts.membership import Mask, Rows

Positions = npt.NDArray[np.int64]
Ranges = tuple[Positions, Positions, Rows]
"""Begins, lengths, payload: for each key a range of rows of one column."""

PAIRS_AT_ONCE = 1 << 16


class ClosureTooLarge(LimitError):
    """A closure would take more room in compact form than it may. It is as it was before the change."""


class Closure(Protocol):
    """All pairs of nodes that a path of one edge or more connects."""

    @property
    def count(self) -> int:
        """How many pairs there are."""
        ...

    def update(self, added: Rows, removed: Rows) -> ClosureDelta:
        """Adds and removes edges, all or none; returns what that changes.

        Edges to add that are present and edges to remove that are absent have no effect; one that is in both is
        present afterwards.
        """
        ...

    def contains(self, rows: Rows) -> Mask:
        """Which of the rows (group, source, target) are in the closure."""
        ...

    def successors(self, keys: Rows) -> Ranges:
        """For each key (group, node) the nodes that it reaches; keys that are the same share their range."""
        ...

    def predecessors(self, keys: Rows) -> Ranges:
        """For each key (group, node) the nodes that reach it."""
        ...

    def classes(self, keys: Rows) -> npt.NDArray[np.int32]:
        """For each key (group, node) a number, -1 if it is no node; keys of the same have the same neighbours."""
        ...

    @property
    def class_bound(self) -> int:
        """A number above those of all classes."""
        ...

    def count_successors(self, keys: Rows) -> Positions:
        """For each key (group, node) how many nodes it reaches."""
        ...

    def count_predecessors(self, keys: Rows) -> Positions:
        """For each key (group, node) how many nodes reach it."""
        ...

    def pairs(self) -> Iterator[Rows]:
        """All rows (group, source, target), about PAIRS_AT_ONCE at a time."""
        ...


class Side(IntEnum):
    """Before a change, or after it."""

    OLD = 0
    NEW = 1


class End(IntEnum):
    """The two ends of a pair."""

    SOURCE = 0
    TARGET = 1


@dataclass(frozen=True, slots=True)
class ClosureDelta:
    """Which pairs a change brought and which it took: how many, and on demand the rows.

    The rows can be had until the closure changes again.
    """

    appeared_count: int
    vanished_count: int
    _expand: Callable[[Side], Rows]
    _ends: Callable[[Side, End], Rows | None]

    def appeared(self) -> Rows:
        """The pairs (group, source, target) that were not in the closure before."""
        return self._expand(Side.NEW)

    def vanished(self) -> Rows:
        """The pairs (group, source, target) that are not in the closure any more."""
        return self._expand(Side.OLD)

    def appeared_ends(self, end: End) -> Rows | None:
        """The different nodes (group, node) at one end of the pairs that appeared; None if only the pairs can tell."""
        return self._ends(Side.NEW, end)

    def vanished_ends(self, end: End) -> Rows | None:
        """The different nodes (group, node) at one end of the pairs that vanished; None if only the pairs can tell."""
        return self._ends(Side.OLD, end)


NOTHING = ClosureDelta(0, 0, lambda _: np.empty((0, 3), np.int32), lambda *_: np.empty((0, 2), np.int32))


def pieces(lengths: Positions) -> Iterator[slice]:
    """Cuts a sequence into slices whose lengths add up to PAIRS_AT_ONCE at most, or hold one element."""
    ends = np.cumsum(lengths)
    start = 0
    while start < lengths.size:
        base = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, base + PAIRS_AT_ONCE, side="right")))
        yield slice(start, stop)
        start = stop


def begins_of(lengths: Positions) -> Positions:
    """Where each range begins when they lie side by side, and where the last one ends."""
    begins = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=begins[1:])
    return begins


def different_numbers(numbers: npt.NDArray[np.int32], bound: int) -> tuple[npt.NDArray[np.int32], Positions]:
    """The different ones of numbers below `bound`, ascending, and which of them each number is."""
    if bound > 8 * numbers.size + 1024:
        distinct, inverse = np.unique(numbers, return_inverse=True)
        return distinct, inverse
    is_there = np.zeros(bound, np.bool_)
    is_there[numbers] = True
    ranks = np.cumsum(is_there) - 1
    return np.flatnonzero(is_there).astype(np.int32), ranks[numbers]


def spread(present: Mask, inverse: Positions, lengths: Positions, payload: Rows) -> Ranges:
    """The ranges of all keys, from those of the distinct ones; key number i, if `present`, is distinct[inverse]."""
    begins = np.zeros(present.size, np.int64)
    counts = np.zeros(present.size, np.int64)
    begins[present] = begins_of(lengths)[:-1][inverse]
    counts[present] = lengths[inverse]
    return begins, counts, payload
