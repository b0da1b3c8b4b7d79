"""The tables of a yield index: tuples, entries by value, and lists of tuples under an entry. All flat.

An *entry* is one value on one *page*. A page has room for `SLOTS` columns of the same kind, so that one search finds
what every joined column has of that value: two numbers for each column, the first tuple that has it there and how many
there are. The tuples of a column without a partner in a joined column are its dummies: they lie already where the
partner will appear, so nothing moves when it does. An entry with its value, keys[e], fills one line of the cache.

cells[t] are the values of tuple t. links[t] has its relation, then for each column its *home* (the entry it lies under,
NONE where no rule looks at the column), then the next tuple of each of its lists and the one before; the last list is
that of the relation. known[r] is what is known of relation r: the names below, then for each column its page, where
its list stands in an entry of that page, and the root of its order in `trees` (see `watch_order`); NONE if it has none.

Arrays stand alone in every call: Numba counts references to each array of a tuple each time the tuple is touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.kernels.jit import inlined, lean, prefetch
from tidelog.kernels.watch_finder import FREE, LOW, NONE, found_at, hash_key, hash_tuple, leave, tag_of, word_of
from tidelog.kernels.watch_order import add_to_order, take_from_order
from tidelog.kernels.watch_totals import (
    ENTRIES,
    ENTRIES_READ,
    FREE_ENTRY,
    FREE_TUPLE,
    MADE_ENTRIES,
    MADE_TUPLES,
    SEARCHES,
    TUPLES,
)

SLOTS = 6
PAGE, USES, LISTS = 2, 3, 4
"""Columns of an entry; the first two are the halves of its value."""

ENTRY_COLUMNS = LISTS + 2 * SLOTS
WIDTH, FIRST, COUNT, BEGIN, END, PAGES = 0, 1, 2, 3, 4, 5
HOMES = 1
AHEAD = 16
"""For so many arrivals, a power of two, hashes are kept: more than any is computed before its turn."""


class Tables(NamedTuple):
    """What is stored. `keys` lies in `entries` and `cells` in `links`; `totals` counts, see `watch_totals`."""

    cells: npt.NDArray[np.int64]
    links: npt.NDArray[np.int32]
    tuple_finder: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int64]
    entries: npt.NDArray[np.int32]
    entry_finder: npt.NDArray[np.int64]
    trees: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]


@inlined
def seek_tuple(cells, links, tuple_finder, known, relation, rows, at, code):
    """The place in the finder of the stored tuple rows[at], whose hash is `code`; the free place for it if it is not
    there."""
    width = known[relation, WIDTH]
    mask = tuple_finder.size - 1
    tag = tag_of(code)
    place = tag & mask
    while tuple_finder[place] != FREE:
        word = tuple_finder[place]
        if word >> 32 == tag:
            number = (word & LOW) - 1
            same = links[number, 0] == relation
            for c in range(width):
                same = same and cells[number, c] == rows[at, c]
            if same:
                return place
        place = (place + 1) & mask
    return place


@inlined
def seek_entry(keys, entries, entry_finder, page, key, code):
    """The place in the finder of the entry of `key` on `page`, whose hash is `code`; the free place for it if there is
    none."""
    mask = entry_finder.size - 1
    tag = tag_of(code)
    place = tag & mask
    while entry_finder[place] != FREE:
        word = entry_finder[place]
        if word >> 32 == tag:
            number = (word & LOW) - 1
            if keys[number] == key and entries[number, PAGE] == page:
                return place
        place = (place + 1) & mask
    return place


@inlined
def add_tuple(cells, links, tuple_finder, totals, known, relation, rows, at, code, place):
    """Stores rows[at], which is not there, in the list of its relation; its number. No column is indexed yet.

    Its hash and its place in the finder are those of `seek_tuple`.
    """
    number = totals[FREE_TUPLE]
    if number == NONE:
        number = totals[MADE_TUPLES]
        totals[MADE_TUPLES] += 1
    else:
        totals[FREE_TUPLE] = links[number, HOMES]
    totals[TUPLES] += 1
    width = known[relation, WIDTH]
    widest = cells.shape[1]
    links[number, 0] = relation
    for c in range(width):
        cells[number, c] = rows[at, c]
    for c in range(widest):
        links[number, HOMES + c] = NONE
    tuple_finder[place] = word_of(code, number)
    _link(links, known, relation, np.int64(FIRST), widest, widest, number)
    return number


@inlined
def index_tuple(cells, links, keys, entries, entry_finder, trees, totals, known, relation, number, codes, at):
    """Puts a stored tuple under the entries of those of its columns that are indexed, where it is not there yet.

    codes[at] are the hashes of its values on their pages, see `look_ahead`.
    """
    widest = cells.shape[1]
    for c in range(known[relation, WIDTH]):
        page = known[relation, PAGES + c]
        if page != NONE and links[number, HOMES + c] == NONE:
            key = cells[number, c]
            entry = hold_entry(keys, entries, entry_finder, totals, page, key, codes[at, c])
            links[number, HOMES + c] = entry
            _link(links, entries, entry, known[relation, PAGES + widest + c], c, widest, number)
            totals[SEARCHES] += 1
            totals[ENTRIES_READ] += 1
            if known[relation, PAGES + 2 * widest + c] != NONE:
                add_to_order(trees, totals, known, relation, PAGES + 2 * widest + c, key, entry)


@lean
def remove_tuple(cells, links, tuple_finder, keys, entries, entry_finder, trees, totals, known, number):
    """Forgets a stored tuple, and the entries that only it used."""
    relation = links[number, 0]
    width = known[relation, WIDTH]
    widest = cells.shape[1]
    for c in range(width):
        entry = links[number, HOMES + c]
        if entry != NONE:
            _unlink(links, entries, entry, known[relation, PAGES + widest + c], c, widest, number)
            totals[ENTRIES_READ] += 1
            if known[relation, PAGES + 2 * widest + c] != NONE:
                take_from_order(trees, totals, known, relation, PAGES + 2 * widest + c, keys[entry])
            _release_entry(keys, entries, entry_finder, totals, entry)
    _unlink(links, known, relation, np.int64(FIRST), widest, widest, number)
    leave(tuple_finder, hash_tuple(relation, cells, number, width), number)
    links[number, 0] = NONE
    links[number, HOMES] = totals[FREE_TUPLE]
    totals[FREE_TUPLE] = number
    totals[TUPLES] -= 1


@inlined
def hold_entry(keys, entries, entry_finder, totals, page, key, code):
    """The entry of `key` on `page`, made where there is none; it stays while somebody uses it."""
    place = seek_entry(keys, entries, entry_finder, page, key, code)
    entry = found_at(entry_finder, place)
    if entry == NONE:
        entry = totals[FREE_ENTRY]
        if entry == NONE:
            entry = totals[MADE_ENTRIES]
            totals[MADE_ENTRIES] += 1
        else:
            totals[FREE_ENTRY] = entries[entry, LISTS]
        totals[ENTRIES] += 1
        keys[entry] = key
        for s in range(SLOTS):
            entries[entry, LISTS + 2 * s] = NONE
            entries[entry, LISTS + 2 * s + 1] = 0
        entries[entry, PAGE] = page
        entries[entry, USES] = 0
        entry_finder[place] = word_of(code, entry)
    entries[entry, USES] += 1
    return entry


@inlined
def look_ahead(tuple_finder, entry_finder, known, relation, rows, at, codes):
    """Computes the hashes of rows[at] into its row of `codes`, the last one that of the tuple, and brings near where
    they lead to."""
    width = known[relation, WIDTH]
    row = at & (AHEAD - 1)
    for c in range(width):
        if known[relation, PAGES + c] != NONE:
            code = hash_key(known[relation, PAGES + c], rows[at, c])
            codes[row, c] = code
            prefetch(entry_finder, tag_of(code) & (entry_finder.size - 1))
    code = hash_tuple(relation, rows, at, width)
    codes[row, codes.shape[1] - 1] = code
    prefetch(tuple_finder, tag_of(code) & (tuple_finder.size - 1))


@inlined
def fetch_entries(entries, entry_finder, known, relation, at, codes):
    """Brings near what lies first at the places of the values of an arrival."""
    for c in range(known[relation, WIDTH]):
        if known[relation, PAGES + c] != NONE:
            tag = tag_of(codes[at & (AHEAD - 1), c])
            word = entry_finder[tag & (entry_finder.size - 1)]
            if word >> 32 == tag:
                prefetch(entries, ((word & LOW) - 1) * entries.shape[1])


@lean
def _release_entry(keys, entries, entry_finder, totals, entry):
    """Takes one use of an entry back; one without uses is forgotten."""
    entries[entry, USES] -= 1
    if entries[entry, USES] == 0:
        leave(entry_finder, hash_key(entries[entry, PAGE], keys[entry]), entry)
        entries[entry, PAGE] = NONE
        entries[entry, LISTS] = totals[FREE_ENTRY]
        totals[FREE_ENTRY] = entry
        totals[ENTRIES] -= 1


@inlined
def _link(links, lists, owner, at, column, widest, number):
    """Puts a tuple before the others of a list."""
    first = lists[owner, at]
    links[number, HOMES + widest + column] = first
    links[number, HOMES + 2 * widest + 1 + column] = NONE
    if first != NONE:
        links[first, HOMES + 2 * widest + 1 + column] = number
    lists[owner, at] = number
    lists[owner, at + 1] += 1


@lean
def _unlink(links, lists, owner, at, column, widest, number):
    following = links[number, HOMES + widest + column]
    before = links[number, HOMES + 2 * widest + 1 + column]
    if following != NONE:
        links[following, HOMES + 2 * widest + 1 + column] = before
    if before != NONE:
        links[before, HOMES + widest + column] = following
    else:
        lists[owner, at] = following
    lists[owner, at + 1] -= 1
