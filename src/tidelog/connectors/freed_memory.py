"""Gives memory that was freed back to the system.

The C library of most Linux systems keeps what was freed for later. A file's text and its columns are the largest things
this process ever frees at once, and what follows may never need as much again. What is not much is better kept, and so
is what others have freed, who will need as much again: to get a page of memory from the system takes longer than to
fill it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Protocol

_MUCH = 1 << 22
"""Bytes that were freed and kept from which on they are given back."""


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


class Kept:
    """What was freed in some blocks, one after the other, and is not given back yet."""

    def __init__(self) -> None:
        self._bytes = 0

    @contextmanager
    def freeing(self) -> Iterator[None]:
        """A block that frees memory. At its end, that goes back to the system if it is much with what is kept already,
        and the C library can do that."""
        before = _free_bytes()
        yield
        trim, now = _malloc_trim(), _free_bytes()
        if before is not None and now is not None:
            self._bytes = max(0, self._bytes + now - before)
        if trim is not None and (now is None or self._bytes >= _MUCH):
            self._bytes = 0
            trim(0)


FREED_BY_LOADS = Kept()


def _free_bytes() -> int | None:
    """How many bytes the C library keeps that nobody has, None where it does not say."""
    account = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if account is None:
        return None
    account.restype = _Account
    found: _Account = account()
    return found.fordblks


@cache
def _malloc_trim() -> _Trim | None:
    if not sys.platform.startswith("linux"):
        return None
    trim: _Trim | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
