"""Slots: a component keeps its slot while it keeps its members, and gets another one when they change.

The members of slot s are firsts[s], nexts[firsts[s]] and so on to -1; sizes[s] says how many. A slot that retires has
no members any more, but keeps its size and its row until nobody can ask for what was there before the change.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import ONE
from tidelog.kernels.jit import kernel

KEPT = 0
MIXED = 1
FRESH = 2


@kernel
def compare_components(order, begins, slot_of, sizes, kinds):
    """Writes for each component whether it is one of before (KEPT), of new nodes only (FRESH), or neither (MIXED).

    Returns how many are not KEPT, and how many nodes the MIXED ones have.
    """
    made = 0
    moved = 0
    for k in range(kinds.size):
        slot = slot_of[order[begins[k]]]
        kind = FRESH if slot < 0 else KEPT
        for at in range(begins[k], begins[k + 1]):
            if slot_of[order[at]] != slot:
                kind = MIXED
        if kind == KEPT and sizes[slot] != begins[k + 1] - begins[k]:
            kind = MIXED
        kinds[k] = kind
        made += kind != KEPT
        if kind == MIXED:
            moved += begins[k + 1] - begins[k]
    return made, moved


@kernel
def assign_slots(order, begins, kinds, available, slot_of, sizes, firsts, nexts, slots, moves, retired, special):
    """Writes the slot of each component, taking those that need one from `available`.

    moves[i] = (node, old slot or -1, new slot) for the nodes of MIXED components. The slots that they leave are written
    to `retired`, and both are marked in `special`. Returns how many slots retire.
    """
    taken = 0
    moved = 0
    gone = 0
    for k in range(kinds.size):
        if kinds[k] == KEPT:
            slots[k] = slot_of[order[begins[k]]]
            continue
        slot = available[taken]
        taken += 1
        slots[k] = slot
        sizes[slot] = begins[k + 1] - begins[k]
        special[slot] = kinds[k] == MIXED
        after = -1
        for at in range(begins[k], begins[k + 1]):
            node = order[at]
            old = slot_of[node]
            if kinds[k] == MIXED:
                moves[moved, 0] = node
                moves[moved, 1] = old
                moves[moved, 2] = slot
                moved += 1
            if old >= 0 and not special[old]:
                special[old] = True
                firsts[old] = -1
                retired[gone] = old
                gone += 1
            slot_of[node] = slot
            nexts[node] = after
            after = node
        firsts[slot] = after
    return gone


@kernel
def number_slots(order, begins, slot_of, sizes, firsts, nexts):
    """Gives component k slot k, where no node has a slot yet."""
    for k in range(np.uint64(begins.size - 1)):
        sizes[k] = begins[k + ONE] - begins[k]
        after = np.int32(-1)
        for at in range(np.uint64(begins[k]), np.uint64(begins[k + ONE])):
            node = order[at]
            slot_of[np.uint64(node)] = k
            nexts[np.uint64(node)] = after
            after = node
        firsts[k] = after


@kernel
def list_members(slots, firsts, nexts, out):
    """Writes the nodes of each slot to `out`, one slot after the other."""
    filled = 0
    for slot in slots:
        node = firsts[slot]
        while node >= 0:
            out[filled] = node
            filled += 1
            node = nexts[node]
