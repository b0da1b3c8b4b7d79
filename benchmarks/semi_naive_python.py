"""Paths over arcs by semi-naive evaluation in plain Python, as one would write it there: the leaves of a B+ tree are
sorted lists, searched by `bisect`, which is compiled."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from time import process_time

from benchmarks.generators import Rows
from benchmarks.semi_naive import SemiNaive
from benchmarks.yield_workloads import VERTICES

_LEAF = 512
"""Keys of a full leaf: more of them are moved for each new one, fewer make the row of leaves longer."""


class Tree:
    """Different keys in order: a row of leaves, and the least key of each."""

    def __init__(self) -> None:
        self._leaves: list[list[int]] = [[]]
        self._least = [-1]

    def add(self, key: int) -> bool:
        """Whether the key was not there."""
        number = bisect_right(self._least, key) - 1
        leaf = self._leaves[number]
        place = bisect_left(leaf, key)
        if place < len(leaf) and leaf[place] == key:
            return False
        leaf.insert(place, key)
        if len(leaf) > _LEAF:
            upper = leaf[_LEAF // 2 :]
            del leaf[_LEAF // 2 :]
            self._leaves.insert(number + 1, upper)
            self._least.insert(number + 1, upper[0])
        return True

    def between(self, low: int, high: int) -> Iterator[int]:
        """The keys from `low` up to `high`."""
        number = bisect_right(self._least, low) - 1
        place = bisect_left(self._leaves[number], low)
        for leaf in self._leaves[number:]:
            stop = bisect_left(leaf, high, place)
            yield from leaf[place:stop]
            if stop < len(leaf):
                return
            place = 0


def in_plain_python(given: Rows) -> SemiNaive:
    """Each path is taken up once, and joined with the arcs that lead to it. Entries that were read are not counted."""
    pairs = given.tolist()
    began = process_time()
    arcs, known = Tree(), Tree()
    for first, last in pairs:
        arcs.add(last * VERTICES + first)
    stored = process_time()
    paths = [(first, last) for first, last in pairs if known.add(first * VERTICES + last)]
    for middle, end in paths:
        key = middle * VERTICES
        starts = [arc - key for arc in arcs.between(key, key + VERTICES)]
        paths.extend((start, end) for start in starts if known.add(start * VERTICES + end))
    return SemiNaive(stored - began, process_time() - stored, len(paths), 0)
