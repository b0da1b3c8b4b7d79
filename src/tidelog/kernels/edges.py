"""The edges of a graph, kept by one end: the neighbours of a node are its block (see blocks), in no particular order.

A batch is handled source by source, so that its cost follows the batch and the degrees of its sources, never the graph.
`heads` (zeros, one for each node, and zeros again at the end) and `chain` (one for each edge of the batch) tie the
edges of one source together. `stamps` marks neighbours with numbers above `base`, which is above all that were there.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import kernel, lean

ABSENT = 0
PRESENT = 1
FIRST = 2

_ONE = np.uint64(1)


@kernel
def find_new_edges(sources, targets, starts, counts, payload, heads, chain, stamps, base, new):
    """Writes for each edge of the batch whether it is neither in the blocks nor a second time in the batch."""
    _chain_sources(sources, heads, chain)
    for i in range(sources.size):
        source = sources[i]
        stamp = base + i + 1
        j = heads[source]
        if j:
            for at in range(starts[source], starts[source] + counts[source]):
                stamps[payload[at, 0]] = stamp
        while j:
            target = targets[j - 1]
            new[j - 1] = stamps[target] != stamp
            stamps[target] = stamp
            j = chain[j - 1]
        heads[source] = 0


@kernel
def lay_out_edges(sources, targets, starts, counts, rooms, payload, stamps, base):
    """Writes edges to the blocks of a graph that has none, each of them once.

    Returns how many are different, and how many nodes are ends of them.
    `counts` and `rooms` are zeros; `stamps` needs no more numbers above `base` than there are nodes.
    """
    for i in range(np.uint64(sources.size)):
        rooms[np.uint64(sources[i])] += 1
    tail = 0
    for node in range(rooms.size):
        starts[node] = counts[node] = tail
        tail += rooms[node]
    for i in range(np.uint64(sources.size)):
        source = np.uint64(sources[i])
        place = counts[source]
        payload[np.uint64(place), 0] = targets[i]
        counts[source] = place + 1
    different = 0
    for node in range(rooms.size):
        stamp = base + node + 1
        is_double = False
        for at in range(np.uint64(starts[node]), np.uint64(counts[node])):
            target = np.uint64(payload[at, 0])
            is_double |= stamps[target] == stamp
            stamps[target] = stamp
        counts[node] -= starts[node]
        if is_double:
            counts[node] = _without_doubles(payload, starts[node], counts[node])
        different += counts[node]
    ends = 0
    for node in range(rooms.size):
        ends += (rooms[node] > 0) | (stamps[node] > base)
    return different, ends


@kernel
def _without_doubles(payload, begin, count):
    """Keeps each neighbour of a block once; returns how many they are."""
    payload[begin : begin + count, 0].sort()
    kept = 1
    for at in range(begin + 1, begin + count):
        if payload[at, 0] != payload[at - 1, 0]:
            payload[begin + kept, 0] = payload[at, 0]
            kept += 1
    return kept


@kernel
def reverse_edges(starts, counts, payload, into_starts, into_counts, into_rooms, into_payload):
    """Writes all edges to blocks by their other end, which are empty."""
    for node in range(starts.size):
        for at in range(starts[node], starts[node] + counts[node]):
            into_rooms[payload[at, 0]] += 1
    tail = 0
    for node in range(starts.size):
        into_starts[node] = tail
        tail += into_rooms[node]
    turn_edges(starts, counts, payload, into_starts, into_counts, into_payload)


@lean
def turn_edges(starts, counts, payload, into_starts, into_counts, into_payload):
    """Writes all edges to blocks by their other end, which have room for them, instead of what was there."""
    into_counts[:] = 0
    for node in range(starts.size):
        begin = np.uint64(starts[node])
        for at in range(begin, begin + np.uint64(counts[node])):
            end = np.uint64(payload[at, 0])
            into_payload[np.uint64(into_starts[end]) + np.uint64(into_counts[end]), 0] = node
            into_counts[end] += 1


@kernel
def list_ends(starts, counts, payload, sources, targets):
    """Writes the ends of all edges."""
    filled = 0
    for node in range(starts.size):
        for at in range(starts[node], starts[node] + counts[node]):
            sources[filled] = node
            targets[filled] = payload[at, 0]
            filled += 1


@lean
def remove_edges(sources, targets, starts, counts, covers, payload, heads, chain, stamps, base, found):
    """Takes the edges of the batch out of the blocks; writes what each was, once: ABSENT, PRESENT or FIRST.

    FIRST are those among the first covers[source] of their block, which are as many fewer then. Which of a block go
    cannot be foreseen: nothing hangs on it. For those that stay `found` has one place more than there are edges.
    """
    _chain_sources(sources, heads, chain)
    size = np.uint64(sources.size)
    for i in range(size):
        found[i] = ABSENT
    for i in range(size):
        source = np.uint64(sources[i])
        j = i + _ONE
        # The chain of a source begins with its last edge of the batch.
        if np.uint64(heads[source]) != j:
            continue
        heads[source] = 0
        while j:
            j -= _ONE
            stamps[np.uint64(targets[j])] = base + np.int64(j) + 1
            j = np.uint64(chain[j])
        begin = np.uint64(starts[source])
        behind = begin + np.uint64(covers[source])
        kept = begin
        fewer = 0
        for at in range(begin, begin + np.uint64(counts[source])):
            target = payload[at, 0]
            payload[kept, 0] = target
            edge = stamps[np.uint64(target)] - base - 1
            # A mark of another source means nothing here.
            goes = (edge >= 0) & (sources[np.uint64(max(edge, 0))] == sources[i])
            is_first = at < behind
            found[np.uint64(edge) if goes else size] = FIRST if is_first else PRESENT
            fewer += goes & is_first
            kept += np.uint64(not goes)
        covers[source] -= fewer
        counts[source] = np.int64(kept - begin)


@lean
def choose_mattering(sources, targets, found, slot_of, counts, covers, chosen_sources, chosen_targets):
    """Chooses those of removed edges that were `found` first, or led from a slot to itself; returns how many.

    Which of the others of a source reach what a first one did is not known: all are first ones until they are looked
    at. Which edges are chosen cannot be foreseen: nothing hangs on it. The chosen have one place more than there are.
    """
    many = np.uint64(0)
    for i in range(np.uint64(sources.size)):
        source = np.uint64(sources[i])
        target = np.uint64(targets[i])
        was_first = found[i] == FIRST
        covers[source] = counts[source] if was_first else covers[source]
        chosen_sources[many] = source
        chosen_targets[many] = target
        many += np.uint64(was_first | (slot_of[source] == slot_of[target]))
    return many


@kernel
def list_edges(starts, counts, payload, nodes, out):
    """Writes all edges as (group, source, target) of the named nodes; returns how many."""
    filled = 0
    for source in range(nodes.shape[0]):
        for at in range(starts[source], starts[source] + counts[source]):
            out[filled, 0] = nodes[source, 0]
            out[filled, 1] = nodes[source, 1]
            out[filled, 2] = nodes[payload[at, 0], 1]
            filled += 1
    return filled


@lean
def _chain_sources(sources, heads, chain):
    for i in range(np.uint64(sources.size)):
        source = np.uint64(sources[i])
        chain[i] = heads[source]
        heads[source] = i + _ONE
