"""What a change of edges does to rows of bits where all components keep their members.

Ranks order the slots: an edge between two leads from the higher rank to the lower. A row is looked at after all that it
has edges to, and only where one of those has changed, or an edge of its own has. What differs lies mostly side by side:
of each row that has changed a band is known, outside of which it is what it was. So only the words within the bands of
the rows ahead are computed again, and where edges only come, from what these rows have gained.

Nodes that follow one another in rank lie anywhere in the arrays of the graph, so that waiting for memory is most of the
time: what belongs to the next ranks is asked for while a row is computed.

Words, slots and edges are counted by unsigned numbers: Numba need not ask whether they count from the end, and then
takes several words at a time.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import ONE, ZERO, count_ones
from tidelog.kernels.jit import inlined, kernel, lean, prefetch
from tidelog.kernels.reach import trim_band, unite_rows, weigh_band

LOW = 0
HIGH = 1
BEGIN = 2

_SIX = np.uint64(6)
_BITS = np.uint64(63)

_SOON = 3
_LATER = 8
"""How many ranks ahead rows and edges are asked for, and before that where these are."""

_WORDS_AT_ONCE = np.uint64(8)
"""Words that memory brings together."""


@kernel
def begin_ripple(sources, ranks, heads, chain, dirty):
    """Ties the edges of one source together by `heads` and `chain`, and marks the sources `dirty`. See `ripple`."""
    for i in range(sources.size):
        source = sources[i]
        chain[i] = heads[source]
        heads[source] = i + 1
        dirty[ranks[source] >> 6] |= ONE << np.uint64(ranks[source] & 63)


@lean
def ripple(
    first, dirty, by_rank, ranks, heads, chain, ends, added, slot_of, firsts, nexts, sizes, wide,
    starts, counts, payload, covers, in_starts, in_counts, in_payload, places, tops, weights, words, spare, spared,
    ahead, row, spans, log, logged, changed, found,
):  # fmt: skip
    """Brings all rows up to date that the change is felt in, by rank, from word `first` of `dirty` on.

    `dirty` has a bit for each rank whose row must be looked at, at first those of the slots with changed edges: the
    edges of a slot are heads[slot] - 1, then chain[edge] - 1 and so on; their ends are slots, and the first `added` of
    them have come, the others gone. Returns (word reached, places of `spare` left, words logged, rows changed); it
    stops early where the log is too short. For `log` and `changed` see kernels.reach. spans[slot] = (first word of the
    band that has changed, the word behind it, where it is in the log); `row` and `ahead` are room.
    """
    only_gains = added == ends.size
    for at in range(first, dirty.size):
        while dirty[at] != ZERO:
            if logged + row.size >= log.size:
                return at, spared, logged, found
            lowest = dirty[at] & (~dirty[at] + ONE)
            dirty[at] ^= lowest
            rank = 64 * at + count_ones(lowest - ONE)
            slot = by_rank[rank]
            _fetch_places(by_rank, rank + _LATER, firsts, nexts, starts, counts, covers, in_starts, in_counts)
            _fetch_row(
                by_rank, rank + _SOON, firsts, starts, counts, payload, in_starts, in_counts, in_payload,
                places, tops, words,
            )  # fmt: skip
            place = places[slot]
            top = np.int64(tops[slot])
            if heads[slot] and not only_gains:
                near = _list_members(slot, firsts, nexts, ahead)
                low = np.int64(0)
                high = unite_rows(
                    ahead[:near], slot, starts, counts, payload, covers, slot_of, places, tops, words, row
                )  # fmt: skip
                for j in range(np.uint64(high), np.uint64(top)):
                    row[j] = ZERO
                high = max(high, top)
            else:
                near, low, high = _look_ahead(
                    slot, firsts, nexts, starts, payload, covers, slot_of, spans, ahead
                )  # fmt: skip
                if heads[slot]:
                    low, high = _look_at_edges(slot, heads[slot], chain, ends, places, tops, words, low, high)
            if low >= high:
                continue
            if place < 0:
                spared -= 1
                place = places[slot] = spare[spared]
            for j in range(np.uint64(top), np.uint64(high)):
                words[place, j] = ZERO
            top = max(top, high)
            if only_gains:
                for j in range(np.uint64(low), np.uint64(high)):
                    row[j] = ZERO
                for i in range(np.uint64(near)):
                    target = np.uint64(ahead[i])
                    begin = np.uint64(spans[target, LOW])
                    shift = np.uint64(spans[target, BEGIN]) - begin
                    for j in range(begin, np.uint64(spans[target, HIGH])):
                        row[j] |= log[j + shift]
                if heads[slot]:
                    _add_ends(
                        slot, heads[slot], chain, ends, firsts, nexts, starts, counts, payload, covers, slot_of,
                        places, tops, words, row,
                    )  # fmt: skip
                more, several = _add_row(row, words, place, low, high, wide)
                less = np.int64(0)
            else:
                if heads[slot] == 0:
                    _unite_band(slot, ahead[:near], places, tops, words, low, high, row)
                    _add_uncovered(
                        slot, firsts, nexts, starts, counts, payload, covers, slot_of, places, tops, words,
                        low, high, row,
                    )  # fmt: skip
                more, less, several = _exchange_row(row, words, place, low, high, wide)
            if more + less == 0:
                continue
            low, high = trim_band(row, low, high)
            if several != ZERO:
                more, less = weigh_band(row, words[place], low, high, wide, sizes)
            while top and words[place, top - 1] == ZERO:
                top -= 1
            begin = np.uint64(logged) - np.uint64(low)
            for j in range(np.uint64(low), np.uint64(high)):
                log[begin + j] = row[j]
            spans[slot, LOW] = low
            spans[slot, HIGH] = high
            spans[slot, BEGIN] = logged
            changed[found, 0] = slot
            changed[found, 1] = logged
            changed[found, 2] = tops[slot]
            changed[found, 3] = weights[slot]
            changed[found, 4] = weights[slot] - less
            changed[found, 5] = low
            changed[found, 6] = high
            found += 1
            logged += high - low
            tops[slot] = top
            weights[slot] += more - less
            node = firsts[slot]
            while node >= 0:
                into = np.uint64(in_starts[node])
                for e in range(into, into + np.uint64(in_counts[node])):
                    above = np.uint64(ranks[np.uint64(slot_of[np.uint64(in_payload[e, 0])])])
                    dirty[above >> _SIX] |= ONE << (above & _BITS)
                node = nexts[node]
            # Edges within the slot do not matter: its row is done.
            dirty[at] &= ~(lowest | (lowest - ONE))
    return dirty.size, spared, logged, found


@inlined
def _fetch_places(by_rank, rank, firsts, nexts, starts, counts, covers, in_starts, in_counts):
    """Asks for what says where the edges of a rank are, if there is such a rank."""
    if rank < by_rank.size and by_rank[rank] < firsts.size:
        node = firsts[by_rank[rank]]
        prefetch(nexts, node)
        prefetch(starts, node)
        prefetch(counts, node)
        prefetch(covers, node)
        prefetch(in_starts, node)
        prefetch(in_counts, node)


@inlined
def _fetch_row(
    by_rank, rank, firsts, starts, counts, payload, in_starts, in_counts, in_payload, places, tops, words
):  # fmt: skip
    """Asks for the row and the edges of a rank, if there is such a rank."""
    if rank < by_rank.size and by_rank[rank] < firsts.size:
        slot = by_rank[rank]
        node = firsts[slot]
        prefetch(payload, starts[node])
        prefetch(payload, starts[node] + counts[node])
        prefetch(in_payload, in_starts[node])
        prefetch(in_payload, in_starts[node] + in_counts[node])
        begin = np.uint64(places[slot]) * np.uint64(words.shape[1])
        for j in range(np.uint64(0), np.uint64(tops[slot]), _WORDS_AT_ONCE):
            prefetch(words, begin + j)


@lean
def _list_members(slot, firsts, nexts, members):
    size = 0
    node = firsts[slot]
    while node >= 0:
        members[size] = node
        size += 1
        node = nexts[node]
    return size


@lean
def _look_ahead(slot, firsts, nexts, starts, payload, covers, slot_of, spans, ahead):
    """Writes the slots that make up the row; returns how many, and the band in which they have changed."""
    near = 0
    low = np.int64(1) << 40
    high = np.int64(0)
    node = firsts[slot]
    while node >= 0:
        begin = np.uint64(starts[node])
        for e in range(begin, begin + np.uint64(covers[node])):
            target = np.uint64(slot_of[np.uint64(payload[e, 0])])
            ahead[near] = target
            near += 1
            if spans[target, HIGH]:
                low = min(low, np.int64(spans[target, LOW]))
                high = max(high, np.int64(spans[target, HIGH]))
        node = nexts[node]
    return near, low, high


@lean
def _look_at_edges(slot, edge, chain, ends, places, tops, words, low, high):
    """The band, widened by what new edges of `slot` may bring."""
    while edge:
        end = ends[edge - 1]
        if not _has(words, places, tops, slot, end):
            low = np.int64(0)
            high = max(high, np.int64(tops[end]), np.int64(end >> 6) + 1)
        edge = chain[edge - 1]
    return low, high


@lean
def _has(words, places, tops, slot, end):
    at = np.uint64(end) >> _SIX
    return at < np.uint64(tops[slot]) and (words[places[slot], at] >> (np.uint64(end) & _BITS)) & ONE != ZERO


@lean
def _add_ends(
    slot, edge, chain, ends, firsts, nexts, starts, counts, payload, covers, slot_of, places, tops, words, row
):  # fmt: skip
    """Adds to `row` the ends of new edges that the slot does not have, and what they reach."""
    while edge:
        end = np.uint64(ends[edge - 1])
        if not _has(words, places, tops, slot, end):
            if end != np.uint64(slot):
                place = places[end]
                for j in range(np.uint64(tops[end])):
                    row[j] |= words[place, j]
            row[end >> _SIX] |= ONE << (end & _BITS)
            node = firsts[slot]
            while node >= 0:
                begin = np.uint64(starts[node])
                for e in range(begin + np.uint64(covers[node]), begin + np.uint64(counts[node])):
                    if np.uint64(slot_of[np.uint64(payload[e, 0])]) == end:
                        _cover(node, e, starts, payload, covers)
                node = nexts[node]
        edge = chain[edge - 1]


@lean
def _unite_band(slot, ahead, places, tops, words, low, high, row):
    """Writes to `row`, within the band, the slots ahead and what they reach."""
    first = np.uint64(low)
    behind = np.uint64(high)
    for j in range(first, behind):
        row[j] = ZERO
    for i in range(np.uint64(ahead.size)):
        target = np.uint64(ahead[i])
        at = target >> _SIX
        if first <= at < behind:
            bit = ONE << (target & _BITS)
            if row[at] & bit != ZERO:
                continue
            row[at] |= bit
        if target != np.uint64(slot):
            place = np.uint64(places[target])
            for j in range(first, np.uint64(min(high, np.int64(tops[target])))):
                row[j] |= words[place, j]


@inlined
def _add_row(row, words, place, low, high, wide):
    """Adds `row` to what is at a place, within the band, and takes what was there out of `row`; how many bits are left,
    and those of them that stand for several nodes."""
    more = np.int64(0)
    several = ZERO
    for j in range(np.uint64(low), np.uint64(high)):
        bits = row[j] & ~words[place, j]
        words[place, j] |= bits
        row[j] = bits
        more += count_ones(bits)
        several |= bits & wide[j]
    return more, several


@inlined
def _exchange_row(row, words, place, low, high, wide):
    """Exchanges what is at a place, within the band, for `row`, and `row` for the bits that differ; how many came and
    went, and those that stand for several nodes."""
    more = np.int64(0)
    less = np.int64(0)
    several = ZERO
    for j in range(np.uint64(low), np.uint64(high)):
        bits = row[j]
        different = bits ^ words[place, j]
        words[place, j] = bits
        row[j] = different
        more += count_ones(different & bits)
        less += count_ones(different & ~bits)
        several |= different & wide[j]
    return more, less, several


@lean
def _add_uncovered(
    slot, firsts, nexts, starts, counts, payload, covers, slot_of, places, tops, words, low, high, row
):  # fmt: skip
    """Adds to `row`, within the band, ends of edges that were reached in another way until now."""
    first = np.uint64(low)
    behind = np.uint64(high)
    node = firsts[slot]
    while node >= 0:
        begin = np.uint64(starts[node])
        for e in range(begin + np.uint64(covers[node]), begin + np.uint64(counts[node])):
            target = np.uint64(slot_of[np.uint64(payload[e, 0])])
            at = target >> _SIX
            bit = ONE << (target & _BITS)
            if first <= at < behind and row[at] & bit == ZERO:
                row[at] |= bit
                if target != np.uint64(slot):
                    place = np.uint64(places[target])
                    for j in range(first, np.uint64(min(high, np.int64(tops[target])))):
                        row[j] |= words[place, j]
                _cover(node, e, starts, payload, covers)
        node = nexts[node]


@lean
def _cover(node, edge, starts, payload, covers):
    """Puts an edge among those that make up the row."""
    place = starts[node] + covers[node]
    end = payload[edge, 0]
    payload[edge, 0] = payload[place, 0]
    payload[place, 0] = end
    covers[node] += 1
