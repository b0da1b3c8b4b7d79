"""Arrays that grow at their end."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", bound=np.generic)

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


def longer(array: npt.NDArray[Number], size: int) -> npt.NDArray[Number]:
    """`array` followed by zeros up to `size`; what is never written to takes no memory."""
    result = np.zeros(size, array.dtype)
    result[: array.size] = array
    return result
