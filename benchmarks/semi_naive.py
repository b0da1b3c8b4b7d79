"""Paths over arcs by semi-naive evaluation with B+ trees, in two forms.

`by_the_book` is what the Yield paper compares with (6.3.4: "semi-naive algorithm [36] … we build B+ tree index to
search the wanted tuples"): Algorithm 3.4 of Ullman's *Principles*, vol. I. What a round found is joined with the arcs,
the paths that come out lose those that are known, and the rest is put to these: three steps, each with a B+ tree.
`at_once` searches the known paths once for difference and union, and has no rounds. It reads fewer entries of indexes,
but not in order, and takes longer for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.generators import Rows
from benchmarks.yield_workloads import VERTICES
from tidelog.activation.table_room import empty_tables, with_room_for_nodes
from tidelog.kernels.jit import kernel
from tidelog.kernels.watch_finder import NONE
from tidelog.kernels.watch_order import FAN, KEYS, add_to_order, find_place, make_order, next_place
from tidelog.kernels.watch_totals import ENTRIES_READ

ARC_ORDER, PATH_ORDER = 0, 1


@dataclass(frozen=True, slots=True)
class SemiNaive:
    """What semi-naive evaluation found, and the processor's seconds: to store the arcs, and then to find paths."""

    storing: float
    finding: float
    paths: int
    entries: int

    @property
    def seconds(self) -> float:
        """To store arcs and to find paths."""
        return self.storing + self.finding


class Trees(NamedTuple):
    """B+ trees in one table, what was counted in them, and where their roots are."""

    nodes: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]
    roots: npt.NDArray[np.int64]


def by_the_book(given: Rows) -> SemiNaive:
    """Semi-naive evaluation in rounds: join, difference, union."""
    start = process_time()
    trees = make_trees(2)
    store_arcs(*trees, given)
    stored = process_time()
    paths = room_for_paths(given)
    first, found, entries = 0, len(given), 0
    unite(*trees, paths, first, found)
    while first < found:
        derived = make_trees(1)
        derive(*trees, *derived, paths, first, found)
        first, found = found, int(subtract(*trees, *derived, paths, found))
        unite(*trees, paths, first, found)
        entries += int(derived.totals[ENTRIES_READ])
    entries += int(trees.totals[ENTRIES_READ])
    return SemiNaive(stored - start, process_time() - stored, found, entries)


def at_once(given: Rows) -> SemiNaive:
    """Semi-naive evaluation path by path: each is taken up once, and joined with the arcs that lead to it."""
    start = process_time()
    trees = make_trees(2)
    store_arcs(*trees, given)
    stored = process_time()
    paths = room_for_paths(given)
    unite(*trees, paths, 0, len(given))
    found = int(take_up(*trees, paths, len(given)))
    return SemiNaive(stored - start, process_time() - stored, found, int(trees.totals[ENTRIES_READ]))


def make_trees(count: int) -> Trees:
    """So many B+ trees without values, with room for every path that there can be."""
    tables = with_room_for_nodes(empty_tables(1), VERTICES * VERTICES // FAN)
    roots = [make_order(tables.trees, tables.totals) for _ in range(count)]
    return Trees(tables.trees, tables.totals, np.array([roots], np.int64))


def room_for_paths(given: Rows) -> Rows:
    """Room for every path that there can be; the arcs are the first."""
    paths = np.empty((VERTICES * VERTICES, 2), np.int64)
    paths[: len(given)] = given
    return paths


@kernel
def store_arcs(nodes, totals, roots, given):
    """Puts arcs into their tree, by the vertex they lead to."""
    for at in range(len(given)):
        start, end = given[at]
        add_to_order(nodes, totals, roots, np.int64(0), np.int64(ARC_ORDER), end * VERTICES + start, start)


@kernel
def unite(nodes, totals, roots, paths, first, last):
    """Puts the paths from `first` up to `last` into the tree of known paths."""
    for at in range(first, last):
        start, end = paths[at]
        add_to_order(nodes, totals, roots, np.int64(0), np.int64(PATH_ORDER), start * VERTICES + end, end)


@kernel
def derive(nodes, totals, roots, derived, derived_totals, derived_roots, paths, first, last):
    """Joins the paths from `first` up to `last` with the arcs that lead to them, and puts what comes out apart."""
    for at in range(first, last):
        middle, end = paths[at]
        place, _, read = find_place(nodes, roots[0, ARC_ORDER], middle * VERTICES)
        totals[ENTRIES_READ] += read
        while place != NONE and nodes[place // FAN, KEYS + place % FAN] < (middle + 1) * VERTICES:
            totals[ENTRIES_READ] += 1
            start = nodes[place // FAN, KEYS + place % FAN] - middle * VERTICES
            key = start * VERTICES + end
            add_to_order(derived, derived_totals, derived_roots, np.int64(0), np.int64(0), key, end)
            place = next_place(nodes, place)


@kernel
def subtract(nodes, totals, roots, derived, derived_totals, derived_roots, paths, found):
    """Writes what was derived and is not known yet behind the first `found` paths; how many there are then."""
    place, _, read = find_place(derived, derived_roots[0, 0], np.int64(0))
    derived_totals[ENTRIES_READ] += read
    while place != NONE:
        derived_totals[ENTRIES_READ] += 1
        key = derived[place // FAN, KEYS + place % FAN]
        known, _, read = find_place(nodes, roots[0, PATH_ORDER], key)
        totals[ENTRIES_READ] += read
        if known == NONE or nodes[known // FAN, KEYS + known % FAN] != key:
            paths[found, 0] = key // VERTICES
            paths[found, 1] = key % VERTICES
            found += 1
        place = next_place(derived, place)
    return found


@kernel
def take_up(nodes, totals, roots, paths, found):
    """Joins the first `found` paths, and those that come out, with the arcs that lead to them; how many there are."""
    at = 0
    while at < found:
        middle, end = paths[at]
        place, _, read = find_place(nodes, roots[0, ARC_ORDER], middle * VERTICES)
        totals[ENTRIES_READ] += read
        while place != NONE and nodes[place // FAN, KEYS + place % FAN] < (middle + 1) * VERTICES:
            totals[ENTRIES_READ] += 1
            start = nodes[place // FAN, KEYS + place % FAN] - middle * VERTICES
            key = start * VERTICES + end
            if add_to_order(nodes, totals, roots, np.int64(0), np.int64(PATH_ORDER), key, end):
                paths[found, 0] = start
                paths[found, 1] = end
                found += 1
            place = next_place(nodes, place)
        at += 1
    return found
