"""Arrays lent for a moment: a batch is large enough that fresh memory for each one would cost a tenth of the time.

Lists are safe to append to and pop from in several threads.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SIZE = (1 << 16) + 1
"""Rows of a lent array: a batch, and one more for kernels that write before they know."""

_MOST_KEPT = 3

_free: dict[int, list[npt.NDArray[np.int32]]] = {}


def borrow(width: int) -> npt.NDArray[np.int32]:
    """An array of SIZE rows with anything in it. Whoever has it gives it back when nobody reads it any more."""
    try:
        return _free[width].pop()
    except (KeyError, IndexError):
        return np.empty((SIZE, width), np.int32)


def give_back(array: npt.NDArray[np.int32]) -> None:
    """Takes back what `borrow` lent; an array that is not given back is simply forgotten."""
    kept = _free.setdefault(array.shape[1], [])
    if len(kept) < _MOST_KEPT:
        kept.append(array)
