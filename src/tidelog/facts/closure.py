"""Closures kept in compact form: what they can be asked, and what a change of their edges brings.

Rows are (group, source, target): edges never cross groups, so each group has a closure of its own. A closure is written
out only for those who read it; counting, membership and the neighbours of given nodes do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import Mask, Rows

Positions = npt.NDArray[np.int64]
Ranges = tuple[Positions, Positions, Rows]
"""Begins, lengths, payload: for each key a range of rows of one column."""

PAIRS_AT_ONCE = 1 << 16


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

    def pairs(self) -> Iterator[Rows]:
        """All rows (group, source, target), about PAIRS_AT_ONCE at a time."""
        ...


@dataclass(frozen=True, slots=True)
class ClosureDelta:
    """Which pairs a change brought and which it took: how many, and on demand the rows.

    The rows can be had until the closure changes again.
    """

    appeared_count: int
    vanished_count: int
    _appeared: Callable[[], Rows]
    _vanished: Callable[[], Rows]

    def appeared(self) -> Rows:
        """The pairs (group, source, target) that were not in the closure before."""
        return self._appeared()

    def vanished(self) -> Rows:
        """The pairs (group, source, target) that are not in the closure any more."""
        return self._vanished()


def no_rows() -> Rows:
    """No pairs."""
    return np.empty((0, 3), np.int32)


NOTHING = ClosureDelta(0, 0, no_rows, no_rows)


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


def spread(present: Mask, inverse: Positions, lengths: Positions, payload: Rows) -> Ranges:
    """The ranges of all keys, from those of the distinct ones; key number i, if `present`, is distinct[inverse]."""
    begins = np.zeros(present.size, np.int64)
    counts = np.zeros(present.size, np.int64)
    begins[present] = begins_of(lengths)[:-1][inverse]
    counts[present] = lengths[inverse]
    return begins, counts, payload
