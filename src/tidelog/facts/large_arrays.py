"""Large arrays: on large pages of memory, and where others were before.

To bring a large page into use takes an eighth of what the small ones instead of it take. To use one again takes
nothing: memory from the system comes cleared, and in a virtual machine it may first have to be got from the host. So
what nobody has any more is kept for the next arrays, up to a bound. Arrays that are written to everywhere have what
such ones had: where one lay of which only the beginning was in use, most would be fresh memory all the same, and an
array with plenty of room would keep the full memory from those that need it.
"""

from __future__ import annotations

import mmap
from ctypes import CDLL, addressof, c_char, c_char_p, c_size_t, c_void_p, create_string_buffer
from enum import Enum
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

_MUCH = 1 << 22
"""Bytes of an array from which on it lies on large pages: as with NumPy, since a part may never be written to."""

_MUCH_IF_FULL = 1 << 20
"""As `_MUCH`, of an array that is soon written to everywhere."""

_MOST_OF_ONE, _MOST_KEPT = 1 << 24, 1 << 26
"""Bytes that are kept of what one array had, and of all."""

_LARGE_PAGE = 1 << 21

_IN_USE = b"\1"
"""What the system says of a page that takes memory."""

_HAS_LARGE_PAGES = hasattr(mmap, "MADV_HUGEPAGE")


class _Use(Enum):
    """How much of an array is written to."""

    EVERYWHERE = "everywhere"
    SOMEWHERE = "somewhere"


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array with anything in it; what is never written to takes no memory."""
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < _MUCH or not _HAS_LARGE_PAGES:
        return np.empty(shape, dtype)
    memory = _kept_memory(size, _Use.SOMEWHERE) or _Memory(size, _Use.SOMEWHERE)
    return memory.lend(size).view(dtype).reshape(shape)


def zeros(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros that are soon written to everywhere."""
    size = count * np.dtype(dtype).itemsize
    if size < _MUCH_IF_FULL or not _HAS_LARGE_PAGES:
        return np.zeros(count, dtype)
    memory = _kept_memory(size, _Use.EVERYWHERE)
    if memory is None:
        return _Memory(size, _Use.EVERYWHERE).lend(size).view(dtype)
    found = memory.lend(size)
    found[:_MOST_OF_ONE] = 0
    return found.view(dtype)


if _HAS_LARGE_PAGES:
    _mincore = CDLL(None).mincore
    _mincore.argtypes = (c_void_p, c_size_t, c_char_p)


class _Memory:
    """Memory for one array after the other, from where a large page begins."""

    __slots__ = ("_begin", "_pages", "address", "size", "taken", "use")

    def __init__(self, size: int, use: _Use) -> None:
        self.use = use
        self.taken = 0
        self.size = -(-size // _LARGE_PAGE) * _LARGE_PAGE
        self._pages = mmap.mmap(-1, self.size + _LARGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._pages.madvise(mmap.MADV_HUGEPAGE)
        address = addressof(c_char.from_buffer(self._pages))
        self._begin = -address % _LARGE_PAGE
        self.address = address + self._begin

    def lend(self, size: int) -> npt.NDArray[np.uint8]:
        """So many bytes of it; it is kept for others when no array is left that has some of them."""
        return np.asarray(_Lent(self, size))

    def shrink(self) -> None:
        """Gives back to the system what is more than may be kept; it is cleared when it is used again. Notes how many
        bytes it still takes, at least a large page: there may not be many that take next to nothing either."""
        if self.size > _MOST_OF_ONE:
            self._pages.madvise(mmap.MADV_DONTNEED, self._begin + _MOST_OF_ONE, self.size - _MOST_OF_ONE)
        self.taken = max(_LARGE_PAGE, _bytes_in_use(self.address, min(self.size, _MOST_OF_ONE)))


class _Lent:
    """What an array has its bytes from."""

    __slots__ = ("_memory", "_size")

    def __init__(self, memory: _Memory, size: int) -> None:
        self._memory, self._size = memory, size

    @property
    def __array_interface__(self) -> dict[str, object]:
        return {"version": 3, "shape": (self._size,), "typestr": "|u1", "data": (self._memory.address, False)}

    def __del__(self) -> None:
        _keep(self._memory)


_kept: list[_Memory] = []
"""The one kept last is the last. Threads may take from it and add to it at the same time: each does so in one step."""


def _kept_memory(size: int, use: _Use) -> _Memory | None:
    """Memory for so many bytes that was kept, no more than it must be; None if there is none.

    Where all of it is in use, half of it or more would lie idle under an array of half its size or less.
    """
    most = max(2 * size - 1, _LARGE_PAGE) if use is _Use.EVERYWHERE else inf
    fitting = (each for each in [*_kept] if size <= each.size <= most and each.use is use)
    found = min(fitting, key=lambda each: each.size, default=None)
    try:
        _kept.remove(found)  # type: ignore[arg-type]
    except ValueError:
        return None  # there was none, or another thread was quicker
    return found


def _keep(memory: _Memory) -> None:
    memory.shrink()
    _kept.append(memory)
    while sum(each.taken for each in [*_kept]) > _MOST_KEPT:
        del _kept[0]


def _bytes_in_use(address: int, size: int) -> int:
    """How many of so many bytes, from the beginning of a page on, take memory; all where the system does not say."""
    pages = create_string_buffer(-(-size // mmap.PAGESIZE))
    return size if _mincore(address, size, pages) else pages.raw.count(_IN_USE) * mmap.PAGESIZE
