"""Dense ids for values: equal values get equal ids, counted from 0 in order of arrival."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import kernel

EMPTY = -1

_READ = 4
"""So many known words are read in the time in which one word is looked up."""


@kernel
def intern_column(slots, values, count, words, rows, column, many, most):
    """Ids of the 64-bit `words`, written to a column of `rows`; new ones are added to `values`.

    Returns (position reached, new count, slots, values): the last two have been moved where there was too little room.
    It stops early only where there is room for `most` words and it is full. From `many` words on it is seen whether
    they are so near to one another that each has a place of its own: then only new ones are looked for.
    """
    if words.size >= many and count <= _READ * words.size:
        least, greatest = extremes(words)
        if greatest - least < np.uint64(words.size - 1):  # so that some come again
            reach = np.int64(greatest - least) + 1
            ids = np.zeros(reach, np.int32)
            note_ids(values, count, least, ids)
            new = np.empty(reach + 1, np.uint64)
            end = count + np.int64(new_words(words, least, count, ids, new, rows, column))
            if end > most:
                return 0, count, slots, values
            room = values.size
            while room < end:
                room *= 2
            slots, values = moved(slots, values, count, room)
            values[count:end] = new[: end - count]
            enter_words(slots, values, count, end)
            return words.size, end, slots, values
    return _intern_all(slots, values, count, words, rows, column, most)


@kernel
def _intern_all(slots, values, count, words, rows, column, most):
    before = count
    reached, count = intern_words(slots, values, count, words, 0, rows, column)
    while reached < words.size and values.size < most:
        # As many of the rest are expected to be new as of those so far; but what is expected from the first few is not
        # worth much, so it never grows more than eightfold.
        expected = count + (count - before) * (words.size - reached) // max(1, reached)
        room = 2 * values.size
        for _ in range(2):
            if room < min(expected, most):
                room *= 2
        slots, values = moved(slots, values, count, room)
        reached, count = intern_words(slots, values, count, words, reached, rows, column)
    return reached, count, slots, values


@kernel
def moved(slots, values, count, room):
    """Slots and values with room for so many words, with those that are there."""
    if room <= values.size:
        return slots, values
    more = np.empty(room, np.uint64)
    more[:count] = values[:count]
    places = np.full(2 * room, EMPTY, np.int32)
    enter_words(places, more, 0, count)
    return places, more


@kernel
def intern_words(slots, values, count, words, start, rows, column):
    """Ids of the 64-bit `words` from `start` on, written to a column of `rows`; new ones are added to `values`.

    Returns (position reached, new count). It stops early when the table or `values` is full enough to grow.
    """
    limit = min(slots.size // 2, values.size)
    mask = slots.size - 1
    for i in range(start, words.size):
        word = words[i]
        place = np.int64(mix(word) >> np.uint64(32)) & mask
        while True:
            known = slots[place]
            if known == EMPTY:
                if count >= limit:
                    return i, count
                slots[place] = count
                values[count] = word
                rows[i, column] = count
                count += 1
                break
            if values[known] == word:
                rows[i, column] = known
                break
            place = (place + 1) & mask
    return words.size, count


@kernel
def extremes(words):
    """The least and the greatest of some words, of which there is one at least."""
    least = greatest = words[0]
    for i in range(np.uint64(words.size)):
        least = min(least, words[i])
        greatest = max(greatest, words[i])
    return least, greatest


@kernel
def note_ids(values, count, least, ids):
    """Writes the number after its id to ids[word - least] for each of the `count` words that lies there."""
    for i in range(np.uint64(count)):
        place = values[i] - least
        if place < np.uint64(ids.size):
            ids[place] = i + np.uint64(1)


@kernel
def new_words(words, least, count, ids, new, rows, column):
    """Writes the id of each word to a column of `rows`, and those without one to `new` in order of arrival; how many.

    ids[word - least] is the number after the id of a word, 0 if it has none; they get ids from `count` on. `new` has
    room for one more. Whether a word is new cannot be foreseen, so nothing hangs on it.
    """
    found = np.int32(0)
    for i in range(np.uint64(words.size)):
        place = words[i] - least
        known = ids[place]
        new[found] = words[i]
        found += known == 0
        known = known if known else np.int32(count + found)
        ids[place] = known
        rows[i, column] = known - 1
    return found


@kernel
def enter_words(slots, values, begin, end):
    """Fills `slots` with values[begin:end], which are all different, and different from those that are there."""
    mask = slots.size - 1
    for i in range(begin, end):
        place = np.int64(mix(values[i]) >> np.uint64(32)) & mask
        while slots[place] != EMPTY:
            place = (place + 1) & mask
        slots[place] = i


@kernel
def intern_texts(slots, codes, ends, letters, count, offsets, text, start, ids):
    """Ids of the texts text[offsets[i]:offsets[i + 1]] from `start` on; new ones are added to `letters` and `ends`.

    ends[n] is where text n begins in `letters` and ends[n + 1] where it ends; codes[n] is its hash. Returns
    (position reached, new count); it stops early when any of the arrays is full enough to grow.
    """
    limit = min(slots.size // 2, codes.size)
    mask = slots.size - 1
    for i in range(start, offsets.size - 1):
        first = offsets[i]
        size = offsets[i + 1] - first
        code = _hash_text(text, first, size)
        place = np.int64(code >> np.uint64(32)) & mask
        while True:
            known = slots[place]
            if known == EMPTY:
                free = ends[count]
                if count >= limit or free + size > letters.size:
                    return i, count
                for at in range(size):
                    letters[free + at] = text[first + at]
                ends[count + 1] = free + size
                codes[count] = code
                slots[place] = count
                ids[i] = count
                count += 1
                break
            if codes[known] == code and _same_text(letters, ends, known, text, first, size):
                ids[i] = known
                break
            place = (place + 1) & mask
    return offsets.size - 1, count


@kernel
def rehash_texts(slots, codes, count):
    """Fills the empty `slots` with the texts numbered up to `count`, which are all different."""
    mask = slots.size - 1
    for i in range(count):
        place = np.int64(codes[i] >> np.uint64(32)) & mask
        while slots[place] != EMPTY:
            place = (place + 1) & mask
        slots[place] = i


@kernel
def copy_texts(ends, letters, ids, offsets, out):
    """Copies the texts of `ids` to `out`, text i to offsets[i]."""
    for i in range(ids.size):
        begin = ends[ids[i]]
        for at in range(offsets[i + 1] - offsets[i]):
            out[offsets[i] + at] = letters[begin + at]


@kernel
def _hash_text(text, first, size):
    code = np.uint64(size)
    for at in range(first, first + size):
        code = (code ^ np.uint64(text[at])) * np.uint64(0x100000001B3)
    return mix(code)


@kernel
def _same_text(letters, ends, known, text, first, size):
    begin = ends[known]
    if ends[known + 1] - begin != size:
        return False
    for at in range(size):
        if letters[begin + at] != text[first + at]:
            return False
    return True


@kernel
def words_of(values, rows, column, out):
    """Writes the word of each id in a column of `rows`."""
    for i in range(rows.shape[0]):
        out[i] = values[rows[i, column]]
