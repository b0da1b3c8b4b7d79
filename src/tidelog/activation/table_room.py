"""Takes the tables of a yield index, returns them with more room.

Rows that are touched together lie in one line of the cache: an entry and its value, a tuple's links and its values. So
`keys` and `cells` are views of parts of `entries` and `links`.
"""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

from tidelog.errors import LimitError
from tidelog.kernels.watch_finder import NONE, move_finder
from tidelog.kernels.watch_order import NODE_COLUMNS
from tidelog.kernels.watch_tables import BEGIN, COUNT, END, ENTRY_COLUMNS, HOMES, PAGES, WIDTH, Tables
from tidelog.kernels.watch_totals import (
    ENTRIES,
    FREE_ENTRY,
    FREE_NODE,
    FREE_TUPLE,
    MADE_ENTRIES,
    MADE_NODES,
    MADE_TUPLES,
    STEP,
    TOTALS,
    TUPLES,
)

_SMALLEST = 16
_MANY, _MOST = 1 << 19, 1 << 30
_BLOCK = 1_025
_LINE = 64
_NUMBER = 4
"""Bytes of a line of the cache, and of a number in it."""

_LARGE_PAGE, _MANY_BYTES = 1 << 21, 1 << 19


def empty_tables(width: int) -> Tables:
    """Tables for tuples of up to `width` columns."""
    totals = np.zeros(TOTALS, np.int64)
    totals[[FREE_TUPLE, FREE_ENTRY, FREE_NODE, STEP]] = NONE
    cells, links = _tuple_rows(_SMALLEST, width)
    keys, entries = _entry_rows(_SMALLEST)
    return Tables(
        cells=cells,
        links=links,
        tuple_finder=_finder_of(2 * _SMALLEST),
        keys=keys,
        entries=entries,
        entry_finder=_finder_of(2 * _SMALLEST),
        trees=np.empty((_SMALLEST, NODE_COLUMNS), np.int64),
        totals=totals,
    )


def widened(tables: Tables, width: int) -> Tables:
    """The tables with room for tuples of up to `width` columns."""
    before, made = tables.cells.shape[1], int(tables.totals[MADE_TUPLES])
    more = width - before
    if more <= 0:
        return tables
    cells, links = _tuple_rows(tables.links.shape[0], width)
    cells[:made, :before] = tables.cells[:made]
    # Homes, nexts and befores get new columns, the latter two before the list of the relation.
    places = [HOMES + before] * more + [HOMES + 2 * before] * more + [HOMES + 3 * before + 1] * more
    old = tables.links[:made, : HOMES + 3 * before + 2]
    links[:made, : HOMES + 3 * width + 2] = np.insert(old, places, NONE, axis=1)
    return tables._replace(cells=cells, links=links)


def known_relations(relations: int, width: int) -> npt.NDArray[np.int64]:
    """What is known of relations without tuples, rules and indexed columns."""
    known = np.full((relations, PAGES + 3 * width), NONE, np.int64)
    known[:, [WIDTH, COUNT, BEGIN, END]] = 0
    return known


def with_room_for_tuples(tables: Tables, count: int) -> Tables:
    """The tables with room for `count` more tuples."""
    needed, made = int(tables.totals[TUPLES]) + count, int(tables.totals[MADE_TUPLES])
    room = _room_for_rows(tables.links.shape[0], needed)
    if room > tables.links.shape[0]:
        cells, links = _tuple_rows(room, tables.cells.shape[1])
        links[:made] = tables.links[:made]
        tables = tables._replace(cells=cells, links=links)
    return tables._replace(tuple_finder=_larger(tables.tuple_finder, 2 * needed))


def with_room_for_entries(tables: Tables, count: int) -> Tables:
    """The tables with room for `count` more entries."""
    needed, made = int(tables.totals[ENTRIES]) + count, int(tables.totals[MADE_ENTRIES])
    room = _room_for_rows(tables.keys.size, needed)
    if room > tables.keys.size:
        keys, entries = _entry_rows(room)
        entries[:made] = tables.entries[:made]
        tables = tables._replace(keys=keys, entries=entries)
    return tables._replace(entry_finder=_larger(tables.entry_finder, 2 * needed))


def with_room_for_nodes(tables: Tables, count: int) -> Tables:
    """The tables with room for `count` more nodes of orders."""
    made = int(tables.totals[MADE_NODES])
    room = _room(tables.trees.shape[0], made + count)
    if room == tables.trees.shape[0]:
        return tables
    trees = np.empty((room, NODE_COLUMNS), np.int64)
    trees[:made] = tables.trees[:made]
    return tables._replace(trees=trees)


def _tuple_rows(count: int, width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Rows for the values and the links of tuples; those of small ones do not reach into a second line."""
    values_at = (HOMES + 3 * width + 2 + 1) // 2
    columns = 2 * (values_at + width)
    line = _LINE // _NUMBER
    columns = 1 << (columns - 1).bit_length() if columns < line else -(-columns // line) * line
    links = _aligned_rows(count, columns)
    return links.view(np.int64)[:, values_at : values_at + width], links


def _entry_rows(count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    entries = _aligned_rows(count, ENTRY_COLUMNS)
    return entries.view(np.int64)[:, 0], entries


def _aligned_rows(count: int, columns: int) -> npt.NDArray[np.int32]:
    """Rows that begin where a line of the cache does."""
    return _memory(count * columns * _NUMBER).view(np.int32).reshape(count, columns)


def _memory(size: int) -> npt.NDArray[np.uint8]:
    """So many bytes, zeros, from where a line of the cache begins; in large pages where there is much of it.

    To bring a large page into use takes an eighth of what the small ones instead of it take.
    """
    if size < _MANY_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return _from_multiple_of(_LINE, np.zeros(size + _LINE, np.uint8), size)
    pages = mmap.mmap(-1, size + _LARGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE)
    return _from_multiple_of(_LARGE_PAGE, np.frombuffer(pages, np.uint8), size)


def _from_multiple_of(step: int, spare: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    begin = -spare.ctypes.data % step
    return spare[begin : begin + size]


def _room_for_rows(room: int, needed: int) -> int:
    """Room for as many rows as are needed. Memory that nothing is written to costs nothing, copying does: tables that
    are small get far more of it."""
    while room < min(needed, _MANY):
        room *= 8
    return _room(room, needed)


def _room(room: int, needed: int) -> int:
    if needed > _MOST:
        raise LimitError(f"more than {_MOST:,} tuples or values are watched: split the stream by a join key")
    while room < needed:
        room *= 2
    return room


def _larger(finder: npt.NDArray[np.int64], needed: int) -> npt.NDArray[np.int64]:
    if finder.size >= needed:
        return finder
    # Moving what is found costs more than a larger place for it, while that is no large one.
    larger = _finder_of(_room(4 * finder.size if finder.size < _MANY else finder.size, needed))
    move_finder(finder, larger, np.empty(_BLOCK, np.int64))
    return larger


def _finder_of(places: int) -> npt.NDArray[np.int64]:
    """A finder that finds nothing."""
    return _memory(8 * places).view(np.int64)
