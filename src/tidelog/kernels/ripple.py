"""What a change of edges does to rows of bits where all components keep their members.

Ranks order the slots: an edge between two leads from the higher rank to the lower. A row is looked at after all that it
has edges to, and only where one of those has changed, or an edge of its own has: what it may have gained or lost is
gathered from their logs, so that the cost follows the bits that change and not the rows that have them.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import ONE, ZERO, count_ones, weigh_word
from tidelog.kernels.jit import kernel
from tidelog.kernels.reach import unite_rows


@kernel
def begin_ripple(sources, ranks, heads, chain, dirty):
    """Ties the edges of one source together by `heads` and `chain`, and marks the sources `dirty`. See `ripple`."""
    for i in range(sources.size):
        source = sources[i]
        chain[i] = heads[source]
        heads[source] = i + 1
        dirty[ranks[source] >> 6] |= ONE << np.uint64(ranks[source] & 63)


@kernel
def ripple(
    first, price, dirty, by_rank, ranks, heads, chain, ends, added, slot_of, firsts, nexts, sizes, wide,
    starts, counts, payload, in_starts, in_counts, in_payload, places, tops, weights, words, spare, spared,
    members, bounds, row, lost, gained, lost_at, gained_at, entries, volumes,
    log_places, log_words, logged, changed, found,
):  # fmt: skip
    """Brings all rows up to date that the change is felt in, by rank, from word `first` of `dirty` on.

    `dirty` has a bit for each rank whose row must be looked at, at first those of the slots with changed edges: the
    edges of a slot are heads[slot] - 1, then chain[edge] - 1 and so on; their ends are slots, and the first `added` of
    them have come, the others gone. Returns (word reached, places of `spare` left, words logged, rows changed); it
    stops early where the log is too short. The log has for each row the bits gained, and from changed[i, 6] on those
    lost; for the rest see kernels.reach. entries[slot] - 1 is where in `changed` a slot is, and volumes[slot] how many
    words it has in the log. To read one of these costs as much as to compute `price` words of a row, which lie side by
    side. `lost` and `gained` are zeros, for one row; `row`, `lost_at`, `gained_at`, `members` and `bounds` are
    room.
    """
    for at in range(first, dirty.size):
        while dirty[at] != ZERO:
            if logged + 2 * row.size >= log_places.size:
                return at, spared, logged, found
            lowest = dirty[at] & (~dirty[at] + ONE)
            dirty[at] ^= lowest
            slot = by_rank[64 * at + count_ones(lowest - ONE)]
            bounds[1] = _list_members(slot, firsts, nexts, members)
            nodes = members[: bounds[1]]
            top = np.int64(tops[slot])
            begin = logged
            if _has_many_entries(price, nodes, top, starts, counts, payload, slot_of, volumes):
                new_top = unite_rows(
                    members, bounds, 0, slot, starts, counts, payload, slot_of, places, tops, words, row
                )
                if places[slot] < 0 and new_top:
                    spared -= 1
                    places[slot] = spare[spared]
                place = places[slot]
                middle, logged = _log_differences(words, place, top, row, new_top, log_places, log_words, logged)
                top = new_top
            else:
                gained_count, lost_count = _differ(
                    slot, nodes, heads[slot], chain, ends, added, starts, counts, payload, slot_of, places, tops, words,
                    entries, changed, log_places, log_words, lost, gained, lost_at, gained_at,
                )  # fmt: skip
                if places[slot] < 0 and gained_count:
                    spared -= 1
                    places[slot] = spare[spared]
                place = places[slot]
                middle, top = _apply_gains(
                    words, place, top, gained, gained_at, gained_count, log_places, log_words, logged
                )  # fmt: skip
                logged = _apply_losses(words, place, top, lost, lost_at, lost_count, log_places, log_words, middle)
            if logged == begin:
                continue
            more = _weigh_log(log_places, log_words, begin, middle, wide, sizes)
            less = _weigh_log(log_places, log_words, middle, logged, wide, sizes)
            while top and words[place, top - 1] == ZERO:
                top -= 1
            changed[found, 0] = slot
            changed[found, 1] = begin
            changed[found, 2] = tops[slot]
            changed[found, 3] = weights[slot]
            changed[found, 4] = weights[slot] - less
            changed[found, 5] = logged
            changed[found, 6] = middle
            found += 1
            entries[slot] = found
            volumes[slot] = logged - begin
            tops[slot] = top
            weights[slot] += more - less
            for node in nodes:
                for e in range(in_starts[node], in_starts[node] + in_counts[node]):
                    before = slot_of[in_payload[e, 0]]
                    if before != slot:
                        rank = ranks[before]
                        dirty[rank >> 6] |= ONE << np.uint64(rank & 63)
    return dirty.size, spared, logged, found


@kernel
def _list_members(slot, firsts, nexts, members):
    size = 0
    node = firsts[slot]
    while node >= 0:
        members[size] = node
        size += 1
        node = nexts[node]
    return size


@kernel
def _has_many_entries(price, nodes, top, starts, counts, payload, slot_of, volumes):
    """Whether so many words of the rows ahead have changed that the row had better be computed as a whole."""
    total = np.int64(0)
    edges = np.int64(0)
    for node in nodes:
        edges += counts[node]
    for node in nodes:
        for e in range(starts[node], starts[node] + counts[node]):
            total += volumes[slot_of[payload[e, 0]]]
        if total * price > edges * top:
            return True
    return False


@kernel
def _log_differences(words, place, top, row, new_top, log_places, log_words, logged):
    """Writes `row` over the row at `place`, logging the bits gained, then those lost; returns where each log ends."""
    old = words[place]
    both = min(top, new_top)
    gains = ZERO
    for j in range(both):
        gains |= row[j] & ~old[j]
    for j in range(both if gains != ZERO else 0):
        # Without a branch, which could not be foreseen.
        bits = row[j] & ~old[j]
        log_places[logged] = j
        log_words[logged] = bits
        logged += np.int64(bits != ZERO)
    for j in range(both, new_top):
        log_places[logged] = j
        log_words[logged] = row[j]
        logged += np.int64(row[j] != ZERO)
    middle = logged
    losses = ZERO
    for j in range(both):
        losses |= old[j] & ~row[j]
    for j in range(both if losses != ZERO else 0):
        bits = old[j] & ~row[j]
        log_places[logged] = j
        log_words[logged] = bits
        logged += np.int64(bits != ZERO)
    for j in range(both, top):
        log_places[logged] = j
        log_words[logged] = old[j]
        logged += np.int64(old[j] != ZERO)
    for j in range(new_top):
        old[j] = row[j]
    return middle, logged


@kernel
def _weigh_log(log_places, log_words, begin, end, wide, sizes):
    total = np.int64(0)
    several = ZERO
    for i in range(begin, end):
        total += count_ones(log_words[i])
        several |= log_words[i] & wide[log_places[i]]
    if several != ZERO:
        total = np.int64(0)
        for i in range(begin, end):
            total += weigh_word(log_words[i], log_places[i], wide, sizes)
    return total


@kernel
def _differ(
    slot, nodes, own, chain, ends, added, starts, counts, payload, slot_of, places, tops, words,
    entries, changed, log_places, log_words, lost, gained, lost_at, gained_at,
):  # fmt: skip
    """Writes what the row may gain to `gained`, in the words `gained_at`, and what it loses if it has it to `lost`.

    Returns how many words each has.
    """
    gained_count = 0
    lost_count = 0
    for node in nodes:
        for e in range(starts[node], starts[node] + counts[node]):
            entry = entries[slot_of[payload[e, 0]]] - 1
            if entry >= 0:
                gained_count = _add_log(
                    log_places, log_words, changed[entry, 1], changed[entry, 6], gained, gained_at, gained_count
                )  # fmt: skip
                lost_count = _add_log(
                    log_places, log_words, changed[entry, 6], changed[entry, 5], lost, lost_at, lost_count
                )  # fmt: skip
    edge = own
    while edge:
        end = ends[edge - 1]
        if edge <= added:
            if end == slot or not _has(words, places, tops, slot, end):
                gained_count = _add_row(slot, end, places, tops, words, gained, gained_at, gained_count)
        else:
            if end == slot or not _is_reached(nodes, slot, end, starts, counts, payload, slot_of, places, tops, words):
                lost_count = _add_row(slot, end, places, tops, words, lost, lost_at, lost_count)
            entry = entries[end] - 1
            if entry >= 0:
                lost_count = _add_log(
                    log_places, log_words, changed[entry, 6], changed[entry, 5], lost, lost_at, lost_count
                )  # fmt: skip
        edge = chain[edge - 1]
    if lost_count:
        lost_count = _keep_reached(
            nodes, slot, starts, counts, payload, slot_of, places, tops, words, lost, lost_at, lost_count
        )  # fmt: skip
    return gained_count, lost_count


@kernel
def _add_log(log_places, log_words, begin, end, row, row_at, count):
    for i in range(begin, end):
        j = log_places[i]
        if row[j] == ZERO:
            row_at[count] = j
            count += 1
        row[j] |= log_words[i]
    return count


@kernel
def _add_row(slot, end, places, tops, words, row, row_at, count):
    """Adds the slot `end` and its row."""
    if end != slot:
        place = places[end]
        for j in range(tops[end]):
            word = words[place, j]
            if word != ZERO:
                if row[j] == ZERO:
                    row_at[count] = j
                    count += 1
                row[j] |= word
    at = end >> 6
    if row[at] == ZERO:
        row_at[count] = at
        count += 1
    row[at] |= ONE << np.uint64(end & 63)
    return count


@kernel
def _has(words, places, tops, slot, end):
    at = end >> 6
    return at < tops[slot] and (words[places[slot], at] >> np.uint64(end & 63)) & ONE != ZERO


@kernel
def _is_reached(nodes, slot, end, starts, counts, payload, slot_of, places, tops, words):
    """Whether an edge of the nodes leads to `end`, or to what reaches it."""
    for node in nodes:
        for e in range(starts[node], starts[node] + counts[node]):
            target = slot_of[payload[e, 0]]
            if target == end or (target != slot and _has(words, places, tops, target, end)):
                return True
    return False


@kernel
def _keep_reached(nodes, slot, starts, counts, payload, slot_of, places, tops, words, lost, lost_at, count):
    """Takes out of `lost` what the nodes still reach; returns how many words are left."""
    for node in nodes:
        for e in range(starts[node], starts[node] + counts[node]):
            target = slot_of[payload[e, 0]]
            lost[target >> 6] &= ~(ONE << np.uint64(target & 63))
            top = tops[target] if target != slot else 0
            place = places[target]
            left = 0
            for i in range(count):
                j = lost_at[i]
                word = lost[j]
                if j < top:
                    word &= ~words[place, j]
                    lost[j] = word
                lost_at[left] = j
                left += word != ZERO
            count = left
            if count == 0:
                return 0
    return count


@kernel
def _apply_gains(words, place, top, row, row_at, count, log_places, log_words, logged):
    """Sets the bits of `row` that are not set, and makes it zeros again; returns where the log ends, and the top."""
    for i in range(count):
        j = np.int64(row_at[i])
        bits = row[j]
        row[j] = ZERO
        if j < top:
            bits &= ~words[place, j]
        if bits == ZERO:
            continue
        while top <= j:
            words[place, top] = ZERO
            top += 1
        words[place, j] |= bits
        log_places[logged] = j
        log_words[logged] = bits
        logged += 1
    return logged, top


@kernel
def _apply_losses(words, place, top, row, row_at, count, log_places, log_words, logged):
    """Clears the bits of `row` that are set, and makes it zeros again; returns where the log ends."""
    for i in range(count):
        j = row_at[i]
        bits = row[j]
        row[j] = ZERO
        bits = bits & words[place, j] if j < top else ZERO
        if bits != ZERO:
            words[place, j] ^= bits
            log_places[logged] = j
            log_words[logged] = bits
            logged += 1
    return logged
