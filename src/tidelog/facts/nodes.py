"""The nodes of a graph, numbered in order of arrival."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import Rows, RowSet
from tidelog.kernels.nodes import find_nodes, measure_edges, number_ends, place_nodes

Numbers = npt.NDArray[np.int32]

SOURCE = np.array([0, 1])
TARGET = np.array([0, 2])

_SMALLEST = 64
_FEW_PLACES = 1 << 20
_PLACES_PER_NODE = 8


class Nodes:
    """Nodes are pairs (group, id). The first ones may be numbered by their ids. From then on a table with a place for
    each pair finds their numbers while that is not much larger than there are nodes, and a set of rows later."""

    def __init__(self) -> None:
        self.count = 0
        self._own_numbers = 0
        self._rows: Rows = np.empty((_SMALLEST, 2), np.int32)
        self._numbers: Numbers = np.zeros(1, np.int32)
        self._stride = 1
        self._groups = self._ids = 0
        self._set: RowSet | None = None

    @property
    def rows(self) -> Rows:
        """(group, id) of each node by number."""
        self._write_down()
        return (self._rows if self._set is None else self._set.rows)[: self.count]

    def number_by_ids(self, count: int) -> None:
        """Gives the ids below `count` of the first group their own numbers, where no node has a number yet."""
        self.count = self._own_numbers = count

    def _write_down(self) -> None:
        """Enters nodes that are numbered by their ids into the table."""
        own = self._own_numbers
        if own:
            # Threads may come here at once: they write the same, and nobody goes on before all of it is there.
            self._numbers = np.arange(1, own + 1, dtype=np.int32)
            self._rows = np.zeros((own + 1, 2), np.int32)
            self._rows[:-1, 1] = np.arange(own)
            self._stride = self._ids = own
            self._groups = 1
            self._own_numbers = 0

    def find(self, rows: Rows, columns: npt.NDArray[np.int64]) -> Numbers:
        """The numbers of the nodes in these two columns of `rows`, -1 where there is no such node."""
        self._write_down()
        if self._set is not None:
            return self._set.find(rows, columns)
        found = np.empty(rows.shape[0], np.int32)
        find_nodes(rows, int(columns[1]), self._numbers, self._stride, found)
        return found

    def number(self, rows: Rows) -> tuple[Numbers, Numbers]:
        """The numbers of both ends of edges (group, source, target); new nodes get new ones."""
        self._write_down()
        if self._set is None and not self._fit(rows):
            self._set = RowSet(2)
            self._set.number(self._rows[: self.count], np.arange(2))
        if self._set is not None:
            ends = self._set.number(rows, SOURCE), self._set.number(rows, TARGET)
            self.count = self._set.count
            return ends
        sources, targets = np.empty(rows.shape[0], np.int32), np.empty(rows.shape[0], np.int32)
        self.count = int(number_ends(rows, self._numbers, self._stride, self.count, self._rows, sources, targets))
        return sources, targets

    def _fit(self, rows: Rows) -> bool:
        """Makes room for the ends of `rows`, unless the table would be too large."""
        group, end, are_numbers = measure_edges(rows)
        groups = self._groups = max(self._groups, int(group) + 1)
        ids = self._ids = max(self._ids, int(end) + 1)
        if groups * self._stride > self._numbers.size or ids > self._stride:
            stride = ids if ids <= self._stride else ids + ids // 2
            places = (groups + groups // 2) * stride
            if not are_numbers or places > max(_FEW_PLACES, _PLACES_PER_NODE * (self.count + rows.shape[0])):
                return False
            self._numbers, self._stride = np.zeros(places, np.int32), stride
            if self.count:
                place_nodes(self._rows[: self.count], self._numbers, stride)
        most = min(self.count + 2 * rows.shape[0], self._numbers.size) + 1
        if most > self._rows.shape[0]:
            # What is never written to takes no memory.
            larger = np.empty((max(most, 2 * self._rows.shape[0]), 2), np.int32)
            larger[: self.count] = self._rows[: self.count]
            self._rows = larger
        return bool(are_numbers)


def count_of_ids(rows: Rows) -> int | None:
    """One more than the greatest end of edges of the first group; None if there are others, or none at all."""
    group, end, are_numbers = measure_edges(rows)
    return int(end) + 1 if group == 0 and are_numbers else None
