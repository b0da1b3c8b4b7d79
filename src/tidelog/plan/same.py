"""Keys for what is made of a thing, where equality says too little: plans are equal that differ in kinds, or in 0.0 and
-0.0. The same object is the same whatever else is equal to it, and so is what is written in the same way."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from struct import pack
from typing import Generic, TypeVar

THINGS_KEPT = 1 << 10

K = TypeVar("K")
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


class Alike(Generic[T]):
    """Keeps the first of all things that are written in the same way, to the last detail."""

    __slots__ = ("thing", "written")

    def __init__(self, thing: T) -> None:
        self.thing = thing
        self.written = as_written(thing)

    def __hash__(self) -> int:
        return hash(self.written)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and self.written == other.written


def once_for_each(compute: Callable[[T], R]) -> Callable[[T], R]:
    """`compute`, called once for each of the last things that it was asked about, which never change."""
    kept: dict[int, tuple[T, R]] = {}

    def known(thing: T) -> R:
        found = kept.get(id(thing))
        if found is None:
            found = forgetful(kept, THINGS_KEPT)[id(thing)] = thing, compute(thing)
        return found[1]

    return known


def as_written(thing: object) -> Hashable:
    """A key that two frozen things share only if all that they hold is the same, down to the bits of floats and to what
    takes no part in comparisons."""
    if isinstance(thing, str):
        return thing
    if isinstance(thing, tuple):
        return tuple(map(as_written, thing))
    names = getattr(thing, "__dataclass_fields__", None)
    if names is not None:
        return type(thing), *map(as_written, [getattr(thing, name) for name in names])
    if isinstance(thing, float):
        return pack("d", thing)
    if isinstance(thing, Mapping):
        return tuple([(name, as_written(value)) for name, value in thing.items()])
    return thing


def forgetful(kept: dict[K, T], most: int) -> dict[K, T]:
    """`kept`, which has forgotten everything if that were so many things."""
    if len(kept) >= most:
        kept.clear()
    return kept
