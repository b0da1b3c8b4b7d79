"""Different rows of ids in sorted order, in few bytes: found by binary search, each known by its place.

Ids are given out in the order in which values come, so rows that came together are often neighbours: runs in which only
the first id goes up, one by one. Where there are few runs, only these are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import Rows
from tidelog.kernels import jit
from tidelog.kernels.chains import find_keys

Numbers = npt.NDArray[np.int64]
Keys = npt.NDArray[Any]


class SortedRows:
    """Rows of one width; they never change. `order_of` says in which order it has them."""

    def __init__(self, rows: Rows, order: Numbers) -> None:
        self._width = rows.shape[1]
        self.count: int = rows.shape[0]
        self._keys, self._places = _keys(rows)[order], np.empty(0, np.int32)
        if self._width <= 2 and self.count:
            begins = np.ones(self.count, np.bool_)
            begins[1:] = np.diff(self._keys) != 1
            places = begins.nonzero()[0].astype(np.int32)
            if places.size * (self._keys.itemsize + places.itemsize) < self._keys.nbytes:
                self._keys, self._places = self._keys[places], places

    @property
    def bytes_held(self) -> int:
        """What its arrays take."""
        return self._keys.nbytes + self._places.nbytes

    def find(self, rows: Rows) -> Numbers:
        """The place of each row, -1 for those that it has not."""
        wanted = _keys(rows)
        if self._width <= 2:
            found = np.empty(wanted.size, np.int64)
            jit.work(wanted.size)
            find_keys(self._keys, self._places, self.count, wanted, found)
            return found
        if not self.count:
            return np.full(wanted.size, -1, np.int64)
        places = np.minimum(np.searchsorted(self._keys, wanted), self.count - 1)
        return np.where(self._keys[places] == wanted, places, -1)

    def rows(self, places: Numbers) -> Rows:
        """The rows at these places."""
        if not self._places.size:
            return self._rows_of(self._keys[places])
        runs = np.searchsorted(self._places, places, side="right") - 1
        return self._rows_of(self._keys[runs] + (places - self._places[runs]).astype(self._keys.dtype))

    def _rows_of(self, keys: Keys) -> Rows:
        rows: Rows = np.ascontiguousarray(keys).view(np.int32).reshape(-1, self._width)
        return rows


def order_of(rows: Rows) -> Numbers:
    """The places of rows in sorted order."""
    return np.argsort(_keys(rows))


def _keys(rows: Rows) -> Keys:
    """A number for each row, by which rows can be sorted and found."""
    width = rows.shape[1]
    one_number = f"i{4 * width}" if width <= 2 else f"V{4 * width}"
    return np.ascontiguousarray(rows).view(one_number).reshape(-1)
