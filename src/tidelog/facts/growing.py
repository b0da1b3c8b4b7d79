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

    @property
    def last(self) -> int:
        """The number that was added last."""
        return int(self._room[self.size - 1])

    def append(self, number: int) -> None:
        """Adds one number."""
        self._reserve(self.size + 1)
        self._room[self.size] = number
        self.size += 1

    def extend(self, numbers: npt.ArrayLike) -> None:
        """Adds numbers."""
        added = np.asarray(numbers, np.int32)
        end = self.size + added.size
        self._reserve(end)
        self._room[self.size : end] = added
        self.size = end

    def _reserve(self, size: int) -> None:
        if size > self._room.size:
            room = np.empty(2 * size, np.int32)
            room[: self.size] = self.values
            self._room = room
