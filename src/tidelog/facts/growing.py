"""An array that grows at its end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SMALLEST = 16


class GrowingArray:
    """32-bit numbers. Appending copies each of them a few times at most, however many there will be."""

    def __init__(self) -> None:
        self._room = np.empty(_SMALLEST, np.int32)
        self.size = 0

    @property
    def values(self) -> npt.NDArray[np.int32]:
        """All numbers; a view that does not grow."""
        return self._room[: self.size]

    def append(self, numbers: npt.ArrayLike) -> None:
        """Adds one number or several."""
        added = np.atleast_1d(np.asarray(numbers, np.int32))
        end = self.size + added.size
        if end > self._room.size:
            room = np.empty(2 * end, np.int32)
            room[: self.size] = self.values
            self._room = room
        self._room[self.size : end] = added
        self.size = end
