"""An index in which the rows of one key lie in order of a column, so that a comparison finds them by halving."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.indexes import Matches
from tidelog.facts.membership import Rows, RowSet
from tidelog.facts.values import Values
from tidelog.kernels import jit
from tidelog.kernels.blocks import EMPTY_COUNTS, probe_blocks
from tidelog.schema import Kind


class OrderedIndex:
    """Some rows of a relation by the values of `key`, those of one key in ascending order of a numeric `column`.

    It is a picture of these rows: when the relation is in another `state`, a new one is made.
    """

    def __init__(
        self, rows: Rows, state: tuple[int, ...], key: tuple[int, ...], column: int, kind: Kind, values: Values
    ) -> None:
        self.state = state
        jit.work(rows.shape[0])
        self._groups = RowSet(len(key))
        groups = self._groups.number(rows, np.array(key, np.int64)) if key else np.zeros(rows.shape[0], np.int32)
        numbers = values.numbers(kind, rows[:, column])
        order = np.lexsort((numbers, groups))
        self.payload: Rows = np.ascontiguousarray(rows[order])
        self.values = numbers[order]
        counts = np.bincount(groups, minlength=1)
        self._counts = counts.astype(np.int32)
        self._starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        self._is_keyed = bool(key)

    def probe(self, rows: Rows, columns: npt.NDArray[np.int64]) -> Matches:
        """The matches of each row of `rows`, whose `columns` hold the key."""
        groups = self._groups.find(rows, columns) if self._is_keyed else np.zeros(rows.shape[0], np.int32)
        begins = np.empty(groups.size, np.int64)
        lengths = np.empty(groups.size, np.int64)
        total = probe_blocks(groups, self._starts, EMPTY_COUNTS, self._counts, begins, lengths)
        return Matches(begins, lengths, self.payload, int(total))
