"""Gives memory that was freed back to the system.

The C library of most Linux systems keeps what was freed for later. A file's text and its columns are the largest things
this process ever frees at once, and what follows may never need as much again. What is not much is better kept: to get
a page of memory from the system again takes longer than to fill it.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Protocol

_MUCH = 1 << 24
"""Bytes that are free from which on they are given back."""


class _Trim(Protocol):
    def __call__(self, keep: int, /) -> int: ...


class _Account(ctypes.Structure):
    """What the C library has got from the system, in bytes: `mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip

    fordblks: int


def give_back_freed_memory() -> None:
    """Returns freed memory to the system, where it is much and the C library can do that; elsewhere it does nothing."""
    trim = _malloc_trim()
    if trim is not None and _free_bytes() >= _MUCH:
        trim(0)


def _free_bytes() -> int:
    """How many bytes the C library keeps that nobody has; more than any machine has where it does not say."""
    account = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if account is None:
        return sys.maxsize
    account.restype = _Account
    found: _Account = account()
    return found.fordblks


@cache
def _malloc_trim() -> _Trim | None:
    if not sys.platform.startswith("linux"):
        return None
    trim: _Trim | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
