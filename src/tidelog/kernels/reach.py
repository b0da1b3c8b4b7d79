"""What each component reaches, computed again where a change can be felt.

Components come in Tarjan's order: after all that they reach. One is computed again if it is new, if an edge of one of
its nodes has changed, or if something that it has an edge to has changed; a row that comes out as it was stops there.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import ONE, ZERO, common_weight, count_ones, weigh_row, weigh_word
from tidelog.kernels.jit import kernel
from tidelog.kernels.slots import FRESH, KEPT

_NO_WORDS = np.empty((0, 0), np.uint64)
_NO_WIDE = np.empty(0, np.uint64)


@kernel
def reach_in_bits(
    first, order, begins, kinds, slots, dirty, slot_of, sizes, wide, starts, counts, payload,
    in_starts, in_counts, in_payload, places, tops, weights, words, spare, spared,
    row, log_places, log_words, logged, changed, found,
):  # fmt: skip
    """Computes the rows of the components from number `first` on as bits.

    Returns (component reached, places of `spare` left, words logged, rows changed); it stops early where the log is too
    short. changed[i] = (slot, where its log begins, old top, old weight, how many nodes the old and the new row have in
    common, where its log ends) of each row that is new or differs, but for MIXED components. The log has the bits
    that differ from what was there before, word by word. `spare` holds free places, `spared` of them, enough for all
    rows that have none; `row` is room for one. `dirty` marks nodes whose edges have changed, and in the end all with an
    edge to something that has changed.
    """
    for k in range(first, kinds.size):
        if not _is_dirty(order, begins, kinds, k, dirty):
            continue
        if logged + row.size > log_places.size:
            return k, spared, logged, found
        slot = slots[k]
        if kinds[k] == KEPT:
            top = unite_rows(order, begins, k, slot, starts, counts, payload, slot_of, places, tops, words, row)
            begin = logged
            if places[slot] < 0 and top:
                spared -= 1
                places[slot] = spare[spared]
            logged, gained, lost = _replace_row(
                words, places[slot], tops[slot], row, top, wide, sizes, log_places, log_words, logged
            )  # fmt: skip
            if logged == begin:
                continue
            changed[found, 0] = slot
            changed[found, 1] = begin
            changed[found, 2] = tops[slot]
            changed[found, 3] = weights[slot]
            changed[found, 4] = weights[slot] - lost
            changed[found, 5] = logged
            found += 1
            tops[slot] = top
            weights[slot] += gained - lost
        else:
            place = spare[spared - 1]
            new = words[place]
            top = unite_rows(order, begins, k, slot, starts, counts, payload, slot_of, places, tops, words, new)
            weight = weigh_row(new, top, wide, sizes)
            spared -= top > 0
            places[slot] = place if top else -1
            tops[slot] = top
            weights[slot] = weight
            if kinds[k] == FRESH:
                found = _note_fresh(slot, logged, changed, found)
        _mark_before(order, begins, k, in_starts, in_counts, in_payload, dirty)
    return kinds.size, spared, logged, found


@kernel
def unite_rows(order, begins, k, slot, starts, counts, payload, slot_of, places, tops, words, row):
    """Writes to `row` all slots that the nodes of component k have edges to, and their rows; returns its length."""
    top = np.int64(0)
    for i in range(begins[k], begins[k + 1]):
        node = order[i]
        for e in range(starts[node], starts[node] + counts[node]):
            target = slot_of[payload[e, 0]]
            at = np.int64(target >> 6)
            bit = ONE << np.uint64(target & 63)
            if at < top and row[at] & bit != ZERO:
                continue
            if target != slot and tops[target]:
                reached = np.int64(tops[target])
                other = words[places[target]]
                for j in range(min(top, reached)):
                    row[j] |= other[j]
                for j in range(top, reached):
                    row[j] = other[j]
                top = max(top, reached)
            while top <= at:
                row[top] = ZERO
                top += 1
            row[at] |= bit
    return top


@kernel
def _replace_row(words, place, top, row, new_top, wide, sizes, log_places, log_words, logged):
    """Writes `row` over the row at `place`, logging the words that differ; returns (logged, nodes gained, lost)."""
    gained = np.int64(0)
    lost = np.int64(0)
    for j in range(max(np.int64(top), new_top)):
        old = words[place, j] if j < top else ZERO
        new = row[j] if j < new_top else ZERO
        if j >= top and j < new_top:
            words[place, j] = new
        if old != new:
            gained += weigh_word(new & ~old, j, wide, sizes)
            lost += weigh_word(old & ~new, j, wide, sizes)
            words[place, j] = new
            log_places[logged] = j
            log_words[logged] = old ^ new
            logged += 1
    return logged, gained, lost


@kernel
def restore_rows(changed, places, tops, words, log_places, log_words, out):
    """Writes the old row of each of `changed` to `out`."""
    for i in range(changed.shape[0]):
        slot = changed[i, 0]
        old_top = changed[i, 2]
        for j in range(old_top):
            out[i, j] = words[places[slot], j] if j < tops[slot] else ZERO
        for at in range(changed[i, 1], changed[i, 5]):
            if log_places[at] < old_top:
                out[i, log_places[at]] ^= log_words[at]


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
            found = _note_fresh(slot, 0, changed, found)
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
def mark_wide(slots, sizes, wide):
    """Sets the bit of each of `slots` that has more than one member, and clears the others."""
    for slot in slots:
        bit = ONE << np.uint64(slot & 63)
        wide[slot >> 6] &= ~bit
        if sizes[slot] > 1:
            wide[slot >> 6] |= bit


@kernel
def lists_to_bits(places, tops, lists, words):
    """Writes each list as bits, that of slot s to row s, and notes where; returns nothing."""
    for slot in range(places.size):
        begin = places[slot]
        length = tops[slot]
        top = 0
        for j in range(begin, begin + length):
            while top <= lists[j] >> 6:
                words[slot, top] = ZERO
                top += 1
            words[slot, lists[j] >> 6] |= ONE << np.uint64(lists[j] & 63)
        places[slot] = slot if top else -1
        tops[slot] = top


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
def _note_fresh(slot, logged, changed, found):
    changed[found, 0] = slot
    changed[found, 1] = logged
    changed[found, 2] = 0
    changed[found, 3] = 0
    changed[found, 4] = 0
    changed[found, 5] = logged
    return found + 1


@kernel
def _mark_before(order, begins, k, starts, counts, payload, dirty):
    """Marks the nodes with an edge to the component."""
    for i in range(begins[k], begins[k + 1]):
        node = order[i]
        for e in range(starts[node], starts[node] + counts[node]):
            dirty[payload[e, 0]] = True
