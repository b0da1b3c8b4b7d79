"""What each component reaches, computed again where a change can be felt.

Components come in Tarjan's order: after all that they reach. One is computed again if it is new, if an edge of one of
its nodes has changed, or if something that it has an edge to has changed; a row that comes out as it was stops there.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import ONE, ZERO, common_weight, count_ones, weigh_row, weigh_word
from tidelog.kernels.jit import inlined, kernel, lean
from tidelog.kernels.slots import FRESH, KEPT

_NO_WORDS = np.empty((0, 0), np.uint64)
_NO_WIDE = np.empty(0, np.uint64)
_SIX = np.uint64(6)
_LOW = np.uint64(63)


@kernel
def reach_in_bits(
    first, order, begins, kinds, slots, dirty, slot_of, sizes, wide, starts, counts, payload, covers,
    in_starts, in_counts, in_payload, places, tops, weights, words, spare, spared,
    row, log, logged, changed, found,
):  # fmt: skip
    """Computes the rows of the components from number `first` on as bits.

    Returns (component reached, places of `spare` left, words logged, rows changed); it stops early where the log is too
    short. changed[i] = (slot, where its log begins, old top, old weight, how many nodes the old and the new row have in
    common, low, high) of each row that is new or differs, but for MIXED components. The log has the bits that differ
    from what was there before, for all words from low on and below high. `spare` holds free places, `spared` of them,
    enough for all rows that have none; `row` is room for one. `dirty` marks nodes whose edges have changed, and in the
    end all with an edge to something that has changed. For `covers` see `unite_rows`.
    """
    for k in range(first, kinds.size):
        if not _is_dirty(order, begins, kinds, k, dirty):
            continue
        if kinds[k] == KEPT and logged + row.size > log.size:
            return k, spared, logged, found
        slot = slots[k]
        nodes = order[begins[k] : begins[k + 1]]
        if kinds[k] != KEPT and nodes.size == 1 and counts[nodes[0]] == 0:
            # It reaches nothing, so that nothing of it is new but its name in the rows of others.
            covers[nodes[0]] = 0
            places[slot] = -1
            tops[slot] = 0
            weights[slot] = 0
        elif kinds[k] == KEPT:
            top = unite_rows(nodes, slot, starts, counts, payload, covers, slot_of, places, tops, words, row)
            if places[slot] < 0 and top:
                spared -= 1
                places[slot] = spare[spared]
            low, high = _replace_row(words[places[slot]], tops[slot], row, top)
            if low == high:
                continue
            gained, lost = weigh_band(row, words[places[slot]], low, high, wide, sizes)
            changed[found, 0] = slot
            changed[found, 1] = logged
            changed[found, 2] = tops[slot]
            changed[found, 3] = weights[slot]
            changed[found, 4] = weights[slot] - lost
            changed[found, 5] = low
            changed[found, 6] = high
            found += 1
            for j in range(low, high):
                log[logged] = row[j]
                logged += 1
            tops[slot] = top
            weights[slot] += gained - lost
        else:
            place = spare[spared - 1]
            new = words[place]
            top = unite_rows(nodes, slot, starts, counts, payload, covers, slot_of, places, tops, words, new)
            weight = weigh_row(new, top, wide, sizes)
            spared -= top > 0
            places[slot] = place if top else -1
            tops[slot] = top
            weights[slot] = weight
            if kinds[k] == FRESH:
                found = _note_fresh(slot, changed, found)
        _mark_before(order, begins, k, in_starts, in_counts, in_payload, dirty)
    return kinds.size, spared, logged, found


@lean
def unite_rows(nodes, slot, starts, counts, payload, covers, slot_of, places, tops, words, row):
    """Writes to `row` all slots that the `nodes` of a component have edges to, and their rows; returns its length.

    The edges of a node that bring anything are put before the others, those that bring rows first; covers[node] says
    how many they are.
    """
    top = np.int64(0)
    furthest = np.uint64(0)
    for node in nodes:
        used = np.uint64(starts[node])
        stop = used + np.uint64(counts[node])
        for e in range(used, stop):
            end = payload[e, 0]
            target = np.uint64(slot_of[np.uint64(end)])
            furthest = max(furthest, target)
            reached = np.int64(tops[target])
            if reached == 0 or target == np.uint64(slot):
                continue
            at = target >> _SIX
            bit = ONE << (target & _LOW)
            if at < np.uint64(top) and row[at] & bit != ZERO:
                continue
            payload[e, 0] = payload[used, 0]
            payload[used, 0] = end
            used += ONE
            place = np.uint64(places[target])
            for j in range(np.uint64(min(top, reached))):
                row[j] |= words[place, j]
            for j in range(np.uint64(top), np.uint64(reached)):
                row[j] = words[place, j]
            top = _lengthen(row, max(top, reached), at)
            row[at] |= bit
        if used < stop:
            top = _lengthen(row, top, furthest >> _SIX)
        # Others bring one bit at most. Which of them do cannot be foreseen: nothing hangs on it.
        for e in range(used, stop):
            end = payload[e, 0]
            target = np.uint64(slot_of[np.uint64(end)])
            at = target >> _SIX
            bit = ONE << (target & _LOW)
            held = row[at]
            row[at] = held | bit
            payload[e, 0] = payload[used, 0]
            payload[used, 0] = end
            used += np.uint64(held & bit == ZERO)
        covers[node] = np.int64(used) - starts[node]
    return top


@inlined
def _lengthen(row, top, at):
    """The length of a row that has word number `at`, after zeros were written up to it."""
    for j in range(np.uint64(top), at + ONE):
        row[j] = ZERO
    return max(top, np.int64(at) + 1)


@lean
def _replace_row(own, top, row, new_top):
    """Exchanges `own` for `row`, and `row` for the bits in which they differ; returns the band of words that do.

    Behind its new top `own` has zeros up to the old one.
    """
    both = min(np.int64(top), new_top)
    for j in range(np.uint64(both)):
        bits = row[j]
        row[j] ^= own[j]
        own[j] = bits
    for j in range(np.uint64(both), np.uint64(top)):
        row[j] = own[j]
        own[j] = ZERO
    for j in range(np.uint64(both), np.uint64(new_top)):
        own[j] = row[j]
    return trim_band(row, np.int64(0), max(np.int64(top), new_top))


@lean
def trim_band(row, low, high):
    """The band without words at its ends that are zero."""
    first = np.uint64(low)
    behind = np.uint64(high)
    while first < behind and row[first] == ZERO:
        first += ONE
    while first < behind and row[behind - ONE] == ZERO:
        behind -= ONE
    return np.int64(first), np.int64(behind)


@lean
def weigh_band(row, own, low, high, wide, sizes):
    """How many nodes the bits of the band stand for that `own` has, and those that it has not."""
    more = np.int64(0)
    less = np.int64(0)
    several = ZERO
    for j in range(np.uint64(low), np.uint64(high)):
        more += count_ones(row[j] & own[j])
        less += count_ones(row[j] & ~own[j])
        several |= row[j] & wide[j]
    if several != ZERO:
        more = np.int64(0)
        less = np.int64(0)
        for at in range(low, high):
            more += weigh_word(row[at] & own[at], at, wide, sizes)
            less += weigh_word(row[at] & ~own[at], at, wide, sizes)
    return more, less


@kernel
def restore_rows(changed, places, tops, words, log, out):
    """Writes the old row of each of `changed` to `out`."""
    for i in range(changed.shape[0]):
        slot = changed[i, 0]
        old_top = changed[i, 2]
        for j in range(old_top):
            out[i, j] = words[places[slot], j] if j < tops[slot] else ZERO
        low = changed[i, 5]
        for j in range(low, min(changed[i, 6], old_top)):
            out[i, j] ^= log[changed[i, 1] + j - low]


@kernel
def reach_in_lists(
    first, order, begins, kinds, slots, dirty, slot_of, sizes, starts, counts, payload,
    in_starts, in_counts, in_payload, places, tops, weights, lists, tail, stamps, base, changed, found,
):  # fmt: skip
    """Computes the rows of the components from number `first` on as lists, appended to `lists` from `tail` on.

    Returns (component reached, new tail, rows changed); it stops early where `lists` is too short. See `reach_in_bits`;
    an old row stays where it is, and changed[i, 1] is its place.
    stamps[slot] - base is the component, counted from 1, in whose row the slot was met last.
    """
    for k in range(first, kinds.size):
        if not _is_dirty(order, begins, kinds, k, dirty):
            continue
        slot = slots[k]
        top = _unite_lists(
            order, begins, k, slot, starts, counts, payload, slot_of, places, tops, lists, tail, stamps, base + k + 1
        )  # fmt: skip
        if top < 0:
            return k, tail, found
        if kinds[k] == KEPT and _same_list(lists, places[slot], tops[slot], tail, top):
            continue
        weight = np.int64(0)
        for j in range(tail, tail + top):
            weight += sizes[lists[j]]
        if kinds[k] == KEPT:
            changed[found, 0] = slot
            changed[found, 1] = places[slot]
            changed[found, 2] = tops[slot]
            changed[found, 3] = weights[slot]
            changed[found, 4] = common_weight(
                _NO_WORDS, lists, places[slot], tops[slot], _NO_WORDS, lists, tail, top, sizes, _NO_WIDE
            )  # fmt: skip
            found += 1
        elif kinds[k] == FRESH:
            found = _note_fresh(slot, changed, found)
        places[slot] = tail
        tops[slot] = top
        weights[slot] = weight
        tail += top
        _mark_before(order, begins, k, in_starts, in_counts, in_payload, dirty)
    return kinds.size, tail, found


@kernel
def _unite_lists(order, begins, k, slot, starts, counts, payload, slot_of, places, tops, lists, tail, stamps, stamp):
    """Appends all slots that the nodes of component k have edges to, and their lists; its length, -1 without room."""
    node = order[begins[k]]
    if begins[k + 1] - begins[k] == 1 and counts[node] == 1:
        return _extend_list(slot_of[payload[starts[node], 0]], slot, places, tops, lists, tail)
    top = np.int64(0)
    for i in range(begins[k], begins[k + 1]):
        node = order[i]
        for e in range(starts[node], starts[node] + counts[node]):
            target = slot_of[payload[e, 0]]
            if stamps[target] == stamp:
                continue
            reached = tops[target] if target != slot else 0
            if tail + top + reached + 1 > lists.size:
                # The next call meets the same slots again, under the same stamp.
                for j in range(tail, tail + top):
                    stamps[lists[j]] = -1
                return np.int64(-1)
            stamps[target] = stamp
            lists[tail + top] = target
            top += 1
            for j in range(places[target], places[target] + reached):
                if stamps[lists[j]] != stamp:
                    stamps[lists[j]] = stamp
                    lists[tail + top] = lists[j]
                    top += 1
    if top:
        lists[tail : tail + top].sort()
    return top


@kernel
def _extend_list(target, slot, places, tops, lists, tail):
    """Appends the list of `target`, with `target` in its place among it; its length, -1 without room."""
    reached = np.int64(tops[target] if target != slot else 0)
    if tail + reached + 1 > lists.size:
        return np.int64(-1)
    begin = places[target]
    at = np.int64(0)
    while at < reached and lists[begin + at] < target:
        lists[tail + at] = lists[begin + at]
        at += 1
    lists[tail + at] = target
    # A component that reaches itself is in its own list.
    if at < reached and lists[begin + at] == target:
        return _copy_list(lists, begin, tail, at + 1, reached)
    while at < reached:
        lists[tail + at + 1] = lists[begin + at]
        at += 1
    return reached + 1


@kernel
def _copy_list(lists, begin, tail, at, reached):
    while at < reached:
        lists[tail + at] = lists[begin + at]
        at += 1
    return reached


@kernel
def bits_to_lists(places, tops, words, lists):
    """Writes each row of bits as a list, one after the other, and notes where; returns their length.

    Without room for it, it only measures.
    """
    filled = np.int64(0)
    for slot in range(places.size):
        begin = filled
        for at in range(tops[slot]):
            word = words[places[slot], at]
            if lists.size == 0:
                filled += count_ones(word)
                continue
            while word != ZERO:
                lowest = word & (~word + ONE)
                lists[filled] = 64 * at + count_ones(lowest - ONE)
                filled += 1
                word ^= lowest
        if lists.size:
            places[slot] = begin
            tops[slot] = filled - begin
    return filled


@kernel
def move_rows(places, tops, words, target):
    """Puts the rows of bits one after the other into `target`; returns how many there are."""
    filled = 0
    for slot in range(places.size):
        if tops[slot] == 0:
            places[slot] = -1
            continue
        for j in range(tops[slot]):
            target[filled, j] = words[places[slot], j]
        places[slot] = filled
        filled += 1
    return filled


@kernel
def move_lists(places, tops, lists, target):
    """Puts the lists side by side into `target`; returns their length."""
    filled = np.int64(0)
    for slot in range(places.size):
        begin = places[slot]
        places[slot] = filled
        for j in range(begin, begin + tops[slot]):
            target[filled] = lists[j]
            filled += 1
    return filled


@kernel
def _is_dirty(order, begins, kinds, k, dirty):
    if kinds[k] != KEPT:
        return True
    for i in range(begins[k], begins[k + 1]):
        if dirty[order[i]]:
            return True
    return False


@kernel
def _same_list(lists, place, top, other, other_top):
    if top != other_top:
        return False
    for j in range(top):
        if lists[place + j] != lists[other + j]:
            return False
    return True


@kernel
def _note_fresh(slot, changed, found):
    for column in range(changed.shape[1]):
        changed[found, column] = 0
    changed[found, 0] = slot
    return found + 1


@kernel
def _mark_before(order, begins, k, starts, counts, payload, dirty):
    """Marks the nodes with an edge to the component."""
    for i in range(begins[k], begins[k + 1]):
        node = order[i]
        for e in range(starts[node], starts[node] + counts[node]):
            dirty[payload[e, 0]] = True
