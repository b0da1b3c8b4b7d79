"""The rows of a transitive closure: for each component the components that it reaches.

A component has a slot, and a slot keeps its members for as long as it lives. The row of slot s lies at places[s] and is
tops[s] long, in one of two forms: bits, where row words[place, :top] has bit t for slot t, or a list, where
lists[place : place + top] are the slots, ascending. The array of the form that is not in use is empty.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import kernel, lean

ZERO = np.uint64(0)
ONE = np.uint64(1)

_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_EIGHTS = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM = np.uint64(0x0101010101010101)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)
_TOP = np.uint64(56)


@lean
def count_ones(word):
    """How many bits of a 64-bit word are set."""
    word = word - ((word >> ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    word = (word + (word >> _FOUR)) & _EIGHTS
    return np.int64((word * _SUM) >> _TOP)


@lean
def row_has(words, lists, place, top, slot):
    """Whether the row has `slot`."""
    if words.shape[0]:
        at = slot >> 6
        return at < top and (words[place, at] >> np.uint64(slot & 63)) & ONE != ZERO
    low = place
    high = place + top
    while low < high:
        middle = (low + high) // 2
        if lists[middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low < place + top and lists[low] == slot


@kernel
def has_pairs(words, lists, places, tops, sources, targets, result):
    """Writes for each pair of slots whether the first reaches the second; -1 is no slot and reaches nothing."""
    for i in range(sources.size):
        result[i] = False
        if sources[i] >= 0 and targets[i] >= 0:
            result[i] = row_has(words, lists, places[sources[i]], tops[sources[i]], targets[i])


@kernel
def row_slots(words, lists, place, top, out):
    """Writes the slots of a row to `out`, ascending; returns how many."""
    if words.shape[0] == 0:
        for i in range(top):
            out[i] = lists[place + i]
        return np.int64(top)
    found = np.int64(0)
    for at in range(top):
        found = _spread_word(words[place, at], at, out, found)
    return found


@kernel
def lacking_slots(words, lists, place, top, other_words, other_lists, other_place, other_top, out):
    """Writes the slots of a row that the other row does not have to `out`, ascending; returns how many."""
    found = np.int64(0)
    if words.shape[0]:
        for at in range(top):
            word = words[place, at]
            if at < other_top:
                word &= ~other_words[other_place, at]
            found = _spread_word(word, at, out, found)
        return found
    other = other_place
    end = other_place + other_top
    for i in range(place, place + top):
        while other < end and other_lists[other] < lists[i]:
            other += 1
        if other == end or other_lists[other] != lists[i]:
            out[found] = lists[i]
            found += 1
    return found


@kernel
def _spread_word(word, at, out, found):
    while word != ZERO:
        lowest = word & (~word + ONE)
        out[found] = 64 * at + count_ones(lowest - ONE)
        found += 1
        word ^= lowest
    return found


@kernel
def common_weight(old_words, old_lists, old, old_top, words, lists, new, new_top, sizes, wide):
    """How many nodes two rows have in common, members of slots that are in both."""
    total = np.int64(0)
    if old_top == 0 or new_top == 0:
        return total
    if words.shape[0]:
        before = old_words[old]
        after = words[new]
        for at in range(min(old_top, new_top)):
            total += weigh_word(before[at] & after[at], at, wide, sizes)
        return total
    other = old
    for j in range(new, new + new_top):
        while other < old + old_top and old_lists[other] < lists[j]:
            other += 1
        if other == old + old_top:
            break
        if old_lists[other] == lists[j]:
            total += sizes[lists[j]]
    return total


@kernel
def common_weights(old_words, old_lists, old_places, old_tops, words, lists, places, tops, sizes, wide, out):
    """Writes for each pair of an old and a new row how many nodes they have in common."""
    for i in range(old_places.size):
        out[i] = common_weight(
            old_words, old_lists, old_places[i], old_tops[i], words, lists, places[i], tops[i], sizes, wide
        )  # fmt: skip


@kernel
def add_common_parts(old_words, old_lists, old_places, old_tops, words, lists, places, tops, parts, out):
    """Adds the nodes that both rows have, but in different slots.

    parts[p] = (old slot or -1, new slot, nodes) are the nodes that have changed their slot.
    """
    for i in range(old_places.size):
        if old_tops[i] == 0 or tops[i] == 0:
            continue
        for p in range(parts.shape[0]):
            if (
                parts[p, 0] >= 0
                and row_has(old_words, old_lists, old_places[i], old_tops[i], parts[p, 0])
                and row_has(words, lists, places[i], tops[i], parts[p, 1])
            ):
                out[i] += parts[p, 2]


@lean
def weigh_word(word, at, wide, sizes):
    """How many nodes the slots of word number `at` stand for; `wide` has a bit for each slot of more than one."""
    total = count_ones(word)
    rest = word & wide[at]
    while rest != ZERO:
        lowest = rest & (~rest + ONE)
        total += sizes[64 * at + count_ones(lowest - ONE)] - 1
        rest ^= lowest
    return total


@lean
def weigh_row(row, top, wide, sizes):
    """How many nodes the slots of a row of bits stand for."""
    total = np.int64(0)
    several = ZERO
    for at in range(top):
        total += count_ones(row[at])
        several |= row[at] & wide[at]
    if several != ZERO:
        for at in range(top):
            if row[at] & wide[at] != ZERO:
                total += weigh_word(row[at], at, wide, sizes) - count_ones(row[at])
    return total


@kernel
def count_holders(words, places, tops, sizes, firsts, slots, lengths):
    """Writes for each of `slots` how many nodes have it in their row of bits."""
    for i in range(slots.size):
        lengths[i] = 0
    for source in range(sizes.size):
        if firsts[source] >= 0:
            for i in range(slots.size):
                at = slots[i] >> 6
                if at < tops[source]:
                    bit = (words[places[source], at] >> np.uint64(slots[i] & 63)) & ONE
                    lengths[i] += np.int64(bit) * sizes[source]


@kernel
def fill_holders(words, places, tops, slots, begins, firsts, nexts, nodes, out):
    """Writes for each of `slots` the ids of the nodes that have it in their row of bits, from begins[i] on."""
    filled = begins.copy()
    for source in range(firsts.size):
        if firsts[source] >= 0:
            for i in range(slots.size):
                at = slots[i] >> 6
                if at < tops[source] and (words[places[source], at] >> np.uint64(slots[i] & 63)) & ONE != ZERO:
                    node = firsts[source]
                    while node >= 0:
                        out[filled[i], 0] = nodes[node, 1]
                        filled[i] += 1
                        node = nexts[node]


@kernel
def search_holders(asked, starts, counts, payload, nodes, begins, lengths, out):
    """Writes for each of the nodes `asked` how many nodes reach it, found by search over the incoming edges.

    Where `out` has room, their ids are written to it, too, from begins[i] on.
    """
    seen = np.zeros(counts.size, np.int32)
    queue = np.empty(counts.size + 1, np.int32)
    for i in range(asked.size):
        stamp = i + 1
        size = 1
        queue[0] = asked[i]
        at = 0
        while at < size:
            node = queue[at]
            for e in range(starts[node], starts[node] + counts[node]):
                before = payload[e, 0]
                if seen[before] != stamp:
                    seen[before] = stamp
                    queue[size] = before
                    size += 1
            at += 1
        lengths[i] = size - 1
        if out.shape[0]:
            for j in range(1, size):
                out[begins[i] + j - 1, 0] = nodes[queue[j], 1]


@kernel
def expand_rows(words, lists, places, tops, begins, firsts, nexts, nodes, slots, out):
    """Writes the ids of the nodes of each row to `out`, those of row i from begins[i] on; `slots` is room to use."""
    for i in range(places.size):
        found = row_slots(words, lists, places[i], tops[i], slots)
        at = begins[i]
        for j in range(found):
            node = firsts[slots[j]]
            while node >= 0:
                out[at, 0] = nodes[node, 1]
                at += 1
                node = nexts[node]


@kernel
def expand_pairs(words, lists, places, tops, sources, slot_of, firsts, nexts, nodes, slots, out):
    """Writes (group, source, target) for all that each of the nodes `sources` reaches; returns how many."""
    filled = 0
    for source in sources:
        slot = slot_of[source]
        found = row_slots(words, lists, places[slot], tops[slot], slots)
        for j in range(found):
            node = firsts[slots[j]]
            while node >= 0:
                out[filled, 0] = nodes[source, 0]
                out[filled, 1] = nodes[source, 1]
                out[filled, 2] = nodes[node, 1]
                filled += 1
                node = nexts[node]
    return filled


@kernel
def expand_difference(
    words, lists, places, tops, other_words, other_lists, other_places, other_tops, source_begins, sources,
    parts, part_begins, part_nodes, has, special, firsts, nexts, nodes, slots, reached, out,
):  # fmt: skip
    """Writes (group, source, target) for what row i has and the other row i has not, for each of the row's sources.

    `special` marks the slots whose members have moved; their nodes are the parts. Column `has` of a part is its slot
    in the row, the other of columns 0 and 1 its slot in the other row. Returns how many rows were written.
    """
    filled = 0
    for i in range(places.size):
        found = lacking_slots(
            words, lists, places[i], tops[i], other_words, other_lists, other_places[i], other_tops[i], slots
        )  # fmt: skip
        size = 0
        for j in range(found):
            if special[slots[j]]:
                continue
            node = firsts[slots[j]]
            while node >= 0:
                reached[size] = node
                size += 1
                node = nexts[node]
        for p in range(parts.shape[0]):
            here = parts[p, has]
            there = parts[p, 1 - has]
            if (
                here >= 0
                and row_has(words, lists, places[i], tops[i], here)
                and not (there >= 0 and row_has(other_words, other_lists, other_places[i], other_tops[i], there))
            ):
                for j in range(part_begins[p], part_begins[p + 1]):
                    reached[size] = part_nodes[j]
                    size += 1
        for k in range(source_begins[i], source_begins[i + 1]):
            source = sources[k]
            for j in range(size):
                out[filled, 0] = nodes[source, 0]
                out[filled, 1] = nodes[source, 1]
                out[filled, 2] = nodes[reached[j], 1]
                filled += 1
    return filled
