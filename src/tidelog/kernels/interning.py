"""Dense ids for values: equal values get equal ids, counted from 0 in order of arrival."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.jit import kernel
from tidelog.kernels.rows import LANES

EMPTY = -1


@kernel
def intern_column(slots, values, count, words, rows, column, many, most):
    """Ids of the 64-bit `words`, written to a column of `rows`; new ones are added to `values`.

    Returns (position reached, new count, slots, values): the last two have been moved where there was too little room.
    It stops early only where there is room for `most` words and it is full. From `many` words on it is seen whether
    they are so near to one another that each has a place of its own: then only different ones are looked for.
    """
    if words.size >= many:
        least, greatest = extremes(words)
        if greatest - least < np.uint64(words.size - 1):  # so that some come again
            room = np.int64(greatest - least) + 1
            different = np.empty(room + 1, np.uint64)
            found = np.int64(different_words(words, least, np.zeros(room, np.int32), different, rows, column))
            if count < found:
                # Most are new: moving the others several times would cost more.
                room = values.size
                while room < min(count + found, most):
                    room *= 2
                slots, values = moved(slots, values, count, room)
            ids = np.empty((found, 1), np.int32)
            reached, count, slots, values = _intern_all(slots, values, count, different[:found], ids, 0, most)
            if reached < found:
                return 0, count, slots, values
            rename_ids(rows, column, ids)
            return words.size, count, slots, values
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
    rehash_words(places, more, count)
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
    """The least and the greatest of some words, of which there is one at least; several are compared at a time."""
    least = np.full(LANES, words[0])
    greatest = np.full(LANES, words[0])
    whole = np.uint64(words.size // LANES * LANES)
    for start in range(np.uint64(0), whole, np.uint64(LANES)):
        for lane in range(np.uint64(LANES)):
            least[lane] = min(least[lane], words[start + lane])
            greatest[lane] = max(greatest[lane], words[start + lane])
    low, high = least.min(), greatest.max()
    for at in range(whole, np.uint64(words.size)):
        low = min(low, words[at])
        high = max(high, words[at])
    return low, high


@kernel
def different_words(words, least, seen, different, rows, column):
    """Writes the different words to `different` in order of arrival, and to a column of `rows` which of them each is;
    how many.

    `seen` are zeros, one for each word from `least` on. `different` has room for one more. Whether a word is new
    cannot be foreseen, so nothing hangs on it.
    """
    found = np.int32(0)
    for i in range(np.uint64(words.size)):
        place = words[i] - least
        known = seen[place]
        different[found] = words[i]
        found += known == 0
        known = known if known else found
        seen[place] = known
        rows[i, column] = known - 1
    return found


@kernel
def rename_ids(rows, column, names):
    """Writes names[id, 0] in place of each id in a column of `rows`."""
    for i in range(np.uint64(rows.shape[0])):
        rows[i, column] = names[np.uint64(rows[i, column]), 0]


@kernel
def rehash_words(slots, values, count):
    """Fills the empty `slots` with values[:count], which are all different."""
    mask = slots.size - 1
    for i in range(count):
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
