"""Takes matches, returns those with which a row of a head begins or ends: the first that gives it and the last."""

from __future__ import annotations

import numpy as np

from tidelog.activation.protocol import Matches
from tidelog.activation.table_room import empty_tables, known_relations, widened, with_room_for_tuples
from tidelog.kernels.watch_heads import count_heads
from tidelog.kernels.watch_tables import COUNT, FIRST, WIDTH


class HeadCounts:
    """How many matches give each row of each watch. A watch has one rule or several, like a relation."""

    def __init__(self) -> None:
        self._tables = empty_tables(1)
        self._counts = np.zeros(len(self._tables.links), np.int64)
        self._known = known_relations(0, 1)
        self._watches = np.zeros(0, np.int32)

    def add_watch(self, width: int) -> int:
        """The number of a new watch whose rows have `width` columns."""
        self._tables = widened(self._tables, width)
        before = self._known
        self._known = known_relations(len(before) + 1, self._tables.cells.shape[1])
        self._known[:-1, [WIDTH, FIRST, COUNT]] = before[:, [WIDTH, FIRST, COUNT]]
        self._known[-1, WIDTH] = width
        return len(before)

    def add_rule(self, watch: int) -> None:
        """Says that the next rule of the index gives rows to `watch`."""
        self._watches = np.append(self._watches, np.int32(watch))

    def count(self, matches: Matches) -> Matches:
        """The matches with which a row begins or ends, in place of those given; `rules` says which watch it is."""
        count = len(matches)
        codes = np.empty(count, np.uint64)
        reached = kept = 0
        while True:
            reached, kept = count_heads(
                *(*self._tables, self._known, self._counts, self._watches, codes),
                *(matches.rules, matches.arrivals, matches.signs, matches.heads, reached, kept),
            )
            if reached == count:
                return matches if kept == count else matches.first(kept)
            self._make_room(int(np.count_nonzero(matches.arrivals[reached:] == matches.arrivals[reached])))

    def _make_room(self, rows: int) -> None:
        self._tables = with_room_for_tuples(self._tables, rows)
        counts = np.zeros(len(self._tables.links), np.int64)
        counts[: self._counts.size] = self._counts
        self._counts = counts
