"""Gives memory that was freed back to the system.

The C library of most Linux systems keeps what was freed for later. A file's text and its columns are the largest things
this process ever frees at once, and what follows may never need as much again.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Protocol


class _Trim(Protocol):
    def __call__(self, keep: int, /) -> int: ...


def give_back_freed_memory() -> None:
    """Returns freed memory to the system where the C library can do that; elsewhere it does nothing."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> _Trim | None:
    if not sys.platform.startswith("linux"):
        return None
    trim: _Trim | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
