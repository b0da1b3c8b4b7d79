"""Takes the tables of a yield index, returns them with more room."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tidelog.errors import LimitError
from tidelog.kernels.watch_tables import (
    BEGIN,
    COUNT,
    END,
    ENTRIES,
    FREE_ENTRY,
    FREE_TUPLE,
    HOMES,
    MADE_ENTRIES,
    MADE_TUPLES,
    NONE,
    PAGES,
    SLOTS,
    TOTALS,
    TUPLES,
    WIDTH,
    Tables,
    move_finder,
)

_SMALLEST = 16
_MOST = 1 << 30

Number = TypeVar("Number", bound=np.generic)


def empty_tables(width: int) -> Tables:
    """Tables for tuples of up to `width` columns."""
    totals = np.zeros(TOTALS, np.int64)
    totals[FREE_TUPLE] = totals[FREE_ENTRY] = NONE
    return Tables(
        cells=np.zeros((_SMALLEST, width), np.int64),
        links=np.full((_SMALLEST, 3 * width + 3), NONE, np.int32),
        tuple_finder=np.full(2 * _SMALLEST, NONE, np.int64),
        keys=np.zeros(_SMALLEST, np.int64),
        entries=np.full((_SMALLEST, 2 * SLOTS + 2), NONE, np.int32),
        entry_finder=np.full(2 * _SMALLEST, NONE, np.int64),
        totals=totals,
    )


def widened(tables: Tables, width: int) -> Tables:
    """The tables with room for tuples of up to `width` columns."""
    before = tables.cells.shape[1]
    more = width - before
    if more <= 0:
        return tables
    # Homes, nexts and befores get new columns, the latter two before the list of the relation.
    places = [HOMES + before] * more + [HOMES + 2 * before] * more + [HOMES + 3 * before + 1] * more
    return tables._replace(
        cells=np.pad(tables.cells, ((0, 0), (0, more))), links=np.insert(tables.links, places, NONE, axis=1)
    )


def known_relations(relations: int, width: int) -> npt.NDArray[np.int64]:
    """What is known of relations without tuples, rules and indexed columns."""
    known = np.full((relations, PAGES + 2 * width), NONE, np.int64)
    known[:, [WIDTH, COUNT, BEGIN, END]] = 0
    return known


def with_room_for_tuples(tables: Tables, count: int) -> Tables:
    """The tables with room for `count` more tuples."""
    totals = tables.totals
    room = _room(tables.links.shape[0], int(totals[MADE_TUPLES]) + count)
    if room > tables.links.shape[0] and not (count == 1 and totals[FREE_TUPLE] != NONE):
        tables = tables._replace(
            cells=_grown(tables.cells, room, 0),
            links=_grown(tables.links, room, NONE),
        )
    finder = _larger(tables.tuple_finder, 2 * (int(totals[TUPLES]) + count))
    return tables._replace(tuple_finder=finder)


def with_room_for_entries(tables: Tables, count: int) -> Tables:
    """The tables with room for `count` more entries."""
    totals = tables.totals
    room = _room(tables.keys.size, int(totals[MADE_ENTRIES]) + count)
    if room > tables.keys.size:
        tables = tables._replace(
            keys=_grown(tables.keys, room, 0),
            entries=_grown(tables.entries, room, NONE),
        )
    finder = _larger(tables.entry_finder, 2 * (int(totals[ENTRIES]) + count))
    return tables._replace(entry_finder=finder)


def _room(room: int, needed: int) -> int:
    if needed > _MOST:
        raise LimitError(f"more than {_MOST:,} tuples or values are watched: split the stream by a join key")
    while room < needed:
        room *= 2
    return room


def _grown(array: npt.NDArray[Number], room: int, fill: int) -> npt.NDArray[Number]:
    larger = np.full((room, *array.shape[1:]), fill, array.dtype)
    larger[: array.shape[0]] = array
    return larger


def _larger(finder: npt.NDArray[np.int64], needed: int) -> npt.NDArray[np.int64]:
    room = _room(finder.size, needed)
    if room == finder.size:
        return finder
    larger = np.full(room, NONE, np.int64)
    move_finder(finder, larger)
    return larger
