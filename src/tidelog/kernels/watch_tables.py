"""The tables of a yield index: tuples, entries by value, and lists of tuples under an entry. All flat.

An *entry* is one value on one *page*. A page has room for `SLOTS` columns of the same kind, so that one search finds
what every joined column has of that value: entries[e, 2 * s] is the first tuple whose column s has it and
entries[e, 2 * s + 1] how many there are. The tuples of a column without a partner in a joined column are its dummies:
they lie already where the partner will appear, so nothing moves when it does. keys[e] is the value.

cells[t] are the values of tuple t. links[t] has its relation, then for each column its *home* (the entry it lies under,
NONE where no rule looks at the column), then the next tuple of each of its lists and the one before; the last list is
that of the relation. known[r] is what is known of relation r: the names below, then the page and the slot of each
column. A finder is a hash table with linear probing: the high half of a word is a piece of the hash, the low half the
number found.

Arrays stand alone in every call: Numba counts references to each array of a tuple each time the tuple is touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import lean, prefetch

NONE = -1
SLOTS = 8
PAGE, USES = 2 * SLOTS, 2 * SLOTS + 1
WIDTH, FIRST, COUNT, BEGIN, END, PAGES = 0, 1, 2, 3, 4, 5
HOMES = 1
MADE_TUPLES, FREE_TUPLE, TUPLES, MADE_ENTRIES, FREE_ENTRY, ENTRIES, SEARCHES, ENTRIES_READ, FOUND = range(9)
TOTALS = 9

_LOW = 0xFFFFFFFF


class Tables(NamedTuple):
    """What is stored. `totals` counts, at the places named above."""

    cells: npt.NDArray[np.int64]
    links: npt.NDArray[np.int32]
    tuple_finder: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int64]
    entries: npt.NDArray[np.int32]
    entry_finder: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]


@lean
def find_tuple(cells, links, tuple_finder, known, relation, rows, at):
    """The number of the stored tuple rows[at], NONE if it is not there."""
    width = known[relation, WIDTH]
    mask = tuple_finder.size - 1
    tag = np.int64(_hash_tuple(relation, rows, at, width) >> np.uint64(33))
    place = tag & mask
    while tuple_finder[place] != NONE:
        word = tuple_finder[place]
        if word >> 32 == tag:
            number = word & _LOW
            same = links[number, 0] == relation
            for c in range(width):
                same = same and cells[number, c] == rows[at, c]
            if same:
                return number
        place = (place + 1) & mask
    return np.int64(NONE)


@lean
def find_entry(keys, entries, entry_finder, page, key):
    """The entry of `key` on `page`, NONE if there is none."""
    mask = entry_finder.size - 1
    tag = np.int64(_hash_key(page, key) >> np.uint64(33))
    place = tag & mask
    while entry_finder[place] != NONE:
        word = entry_finder[place]
        if word >> 32 == tag:
            number = word & _LOW
            if keys[number] == key and entries[number, PAGE] == page:
                return number
        place = (place + 1) & mask
    return np.int64(NONE)


@lean
def add_tuple(cells, links, tuple_finder, totals, known, relation, rows, at):
    """Stores rows[at], which is not there, in the list of its relation; its number. No column is indexed yet."""
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
    _enter(tuple_finder, _hash_tuple(relation, rows, at, width), number)
    _link(links, known, relation, FIRST, widest, widest, number)
    return number


@lean
def index_tuple(cells, links, keys, entries, entry_finder, totals, known, relation, number):
    """Puts a stored tuple under the entries of those of its columns that are indexed, where it is not there yet."""
    widest = cells.shape[1]
    for c in range(known[relation, WIDTH]):
        page = known[relation, PAGES + c]
        if page != NONE and links[number, HOMES + c] == NONE:
            entry = hold_entry(keys, entries, entry_finder, totals, page, cells[number, c])
            links[number, HOMES + c] = entry
            _link(links, entries, entry, 2 * known[relation, PAGES + widest + c], c, widest, number)
            totals[SEARCHES] += 1
            totals[ENTRIES_READ] += 1


@lean
def remove_tuple(cells, links, tuple_finder, keys, entries, entry_finder, totals, known, number):
    """Forgets a stored tuple, and the entries that only it used."""
    relation = links[number, 0]
    width = known[relation, WIDTH]
    widest = cells.shape[1]
    for c in range(width):
        entry = links[number, HOMES + c]
        if entry != NONE:
            _unlink(links, entries, entry, 2 * known[relation, PAGES + widest + c], c, widest, number)
            totals[ENTRIES_READ] += 1
            _release_entry(keys, entries, entry_finder, totals, entry)
    _unlink(links, known, relation, FIRST, widest, widest, number)
    _leave(tuple_finder, _hash_tuple(relation, cells, number, width), number)
    links[number, 0] = NONE
    links[number, HOMES] = totals[FREE_TUPLE]
    totals[FREE_TUPLE] = number
    totals[TUPLES] -= 1


@lean
def hold_entry(keys, entries, entry_finder, totals, page, key):
    """The entry of `key` on `page`, made where there is none; it stays while somebody uses it."""
    entry = find_entry(keys, entries, entry_finder, page, key)
    if entry == NONE:
        entry = totals[FREE_ENTRY]
        if entry == NONE:
            entry = totals[MADE_ENTRIES]
            totals[MADE_ENTRIES] += 1
        else:
            totals[FREE_ENTRY] = entries[entry, 0]
        totals[ENTRIES] += 1
        keys[entry] = key
        for s in range(SLOTS):
            entries[entry, 2 * s] = NONE
            entries[entry, 2 * s + 1] = 0
        entries[entry, PAGE] = page
        entries[entry, USES] = 0
        _enter(entry_finder, _hash_key(page, key), entry)
    entries[entry, USES] += 1
    return entry


@lean
def fetch_places(tuple_finder, entry_finder, known, relation, rows, at):
    """Brings near where rows[at] and its values will be looked for."""
    width = known[relation, WIDTH]
    code = _hash_tuple(relation, rows, at, width)
    prefetch(tuple_finder, np.int64(code >> np.uint64(33)) & (tuple_finder.size - 1))
    for c in range(width):
        if known[relation, PAGES + c] != NONE:
            code = _hash_key(known[relation, PAGES + c], rows[at, c])
            prefetch(entry_finder, np.int64(code >> np.uint64(33)) & (entry_finder.size - 1))


@lean
def fetch_entries(keys, entries, entry_finder, known, relation, rows, at):
    """Brings near what lies first at the places of the values of rows[at]."""
    for c in range(known[relation, WIDTH]):
        if known[relation, PAGES + c] != NONE:
            code = _hash_key(known[relation, PAGES + c], rows[at, c])
            word = entry_finder[np.int64(code >> np.uint64(33)) & (entry_finder.size - 1)]
            if word != NONE:
                prefetch(keys, word & _LOW)
                prefetch(entries, (word & _LOW) * entries.shape[1])


@lean
def move_finder(finder, target):
    """Puts everything that `finder` finds into the empty, larger `target`."""
    mask = target.size - 1
    for i in range(finder.size):
        if finder[i] != NONE:
            place = (finder[i] >> 32) & mask
            while target[place] != NONE:
                place = (place + 1) & mask
            target[place] = finder[i]


@lean
def _release_entry(keys, entries, entry_finder, totals, entry):
    """Takes one use of an entry back; one without uses is forgotten."""
    entries[entry, USES] -= 1
    if entries[entry, USES] == 0:
        _leave(entry_finder, _hash_key(entries[entry, PAGE], keys[entry]), entry)
        entries[entry, PAGE] = NONE
        entries[entry, 0] = totals[FREE_ENTRY]
        totals[FREE_ENTRY] = entry
        totals[ENTRIES] -= 1


@lean
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


@lean
def _enter(finder, code, number):
    mask = finder.size - 1
    tag = np.int64(code >> np.uint64(33))
    place = tag & mask
    while finder[place] != NONE:
        place = (place + 1) & mask
    finder[place] = (tag << 32) | number


@lean
def _leave(finder, code, number):
    """Takes a number out; those behind it that would not be found any more move up."""
    mask = finder.size - 1
    tag = np.int64(code >> np.uint64(33))
    place = tag & mask
    while finder[place] != (tag << 32) | number:
        place = (place + 1) & mask
    behind = (place + 1) & mask
    while finder[behind] != NONE:
        wanted = (finder[behind] >> 32) & mask
        if ((behind - wanted) & mask) >= ((behind - place) & mask):
            finder[place] = finder[behind]
            place = behind
        behind = (behind + 1) & mask
    finder[place] = NONE


@lean
def _hash_tuple(relation, rows, at, width):
    code = np.uint64(relation)
    for c in range(width):
        code = mix(code ^ np.uint64(rows[at, c]))
    return mix(code)


@lean
def _hash_key(page, key):
    return mix(np.uint64(key) ^ (np.uint64(page) << np.uint64(40)))
