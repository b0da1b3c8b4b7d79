"""What finds the number of a row: a table of rows or, for pairs, one array where most pairs that could be are there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.facts.membership import Mask, Rows, RowSet
from tidelog.kernels.pair_numbers import enter_pairs, find_pairs, forget_pairs, withdraw_pairs

_WORTH = 4
"""Places of the array for each pair, up to which it takes less room than a table."""


class PairNumbers:
    """The numbers of pairs of ids below `reach`."""

    def __init__(self, reach: tuple[int, int]) -> None:
        self._numbers = np.full(reach, -1, np.int32)

    @property
    def numbers(self) -> Rows:
        """The number of each pair, -1 for pairs that have none."""
        return self._numbers

    def find(self, batch: Rows, columns: npt.NDArray[np.int64]) -> Rows:
        """The number of each row of `batch`, -1 for rows that have none."""
        numbers = np.empty(batch.shape[0], np.int32)
        find_pairs(self._numbers, batch, columns, numbers)
        return numbers

    def withdraw(self, rows: Rows) -> Rows:
        """Takes `rows` out; returns the number that each had, -1 for rows that had none."""
        numbers = np.empty(rows.shape[0], np.int32)
        withdraw_pairs(self._numbers, rows, numbers)
        return numbers

    def go_on(self, rows: Rows, first: int) -> bool:
        """Gives the numbers from `first` on to `rows`; False if some of them are out of reach."""
        return bool(enter_pairs(self._numbers, rows, first) == rows.shape[0])

    def forget(self, rows: Rows, gone: npt.NDArray[np.int64]) -> None:
        """Takes the numbers `gone` away from the rows that have them; one that came again has another."""
        forget_pairs(self._numbers, rows, gone)


Numbering = PairNumbers | RowSet


def numbering_of(rows: Rows, dead: Mask | None) -> Numbering:
    """What finds the number of each of `rows`, which are all different, but for the dead ones."""
    if rows.shape[1] == 2 and rows.shape[0]:
        height, width = (int(rows[:, column].max()) + 1 for column in (0, 1))
        if height * width <= _WORTH * rows.shape[0]:
            # A little more than the ids seen so far, because ids often still arrive.
            made = PairNumbers((height + height // 8, width + width // 8))
            made.go_on(rows, 0)
            made.forget(rows, np.empty(0, np.int64) if dead is None else np.flatnonzero(dead))
            return made
    table = RowSet(rows.shape[1])
    table.enter(rows, np.arange(rows.shape[0]) if dead is None else np.flatnonzero(~dead))
    return table
