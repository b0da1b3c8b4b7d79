"""A key for what is made of a thing: it is the same if it is the same object, whatever else is equal to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

THINGS_KEPT = 1 << 10

R = TypeVar("R")
T = TypeVar("T")


class Same(Generic[T]):
    """Keeps the thing too, so that no other can come to lie where it is in memory."""

    __slots__ = ("thing",)

    def __init__(self, thing: T) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.thing is other.thing


def once_for_each(compute: Callable[[T], R]) -> Callable[[T], R]:
    """`compute`, called once for each of the last things that it was asked about, which never change."""
    kept = lru_cache(THINGS_KEPT)(lambda same: compute(same.thing))
    return lambda thing: kept(Same(thing))
