"""Strongly connected components of the part of a graph that a change can touch."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import ONE, row_has
from tidelog.kernels.jit import kernel

UNSEEN = -1
"""The mark of a node that is inside the part and not reached yet; 0 is outside, or done."""


@kernel
def mark_ancestors(first, starts, counts, payload, marks, found):
    """Marks the nodes `first` and all from which they can be reached as UNSEEN, writes them to `found`, counts them.

    `starts`, `counts` and `payload` are the incoming edges.
    """
    size = 0
    for i in range(first.size):
        if marks[first[i]] != UNSEEN:
            marks[first[i]] = UNSEEN
            found[size] = first[i]
            size += 1
    at = 0
    while at < size:
        node = found[at]
        for e in range(starts[node], starts[node] + counts[node]):
            before = payload[e, 0]
            if marks[before] != UNSEEN:
                marks[before] = UNSEEN
                found[size] = before
                size += 1
        at += 1
    return size


@kernel
def strong_components(nodes, starts, counts, payload, marks, order, begins):
    """Writes the components of the UNSEEN `nodes`: component k is order[begins[k] : begins[k + 1]]; returns how many.

    A component comes after all that it reaches (Tarjan's order). Edges to nodes that are not UNSEEN are left out;
    at the end no node is.
    """
    lows = np.empty(nodes.size, np.int32)
    edges = np.empty(nodes.size, np.uint64)
    path = np.empty(nodes.size, np.uint64)
    waiting = np.empty(nodes.size, np.int32)
    numbered = 0
    components = 0
    filled = 0
    begins[0] = 0
    # Nodes without edges are components that may come first. The search need not go there.
    for node in nodes:
        order[filled] = node
        is_bare = counts[np.uint64(node)] == 0
        marks[np.uint64(node)] = 0 if is_bare else UNSEEN
        filled += is_bare
        begins[filled] = filled
    components = filled
    for root in nodes:
        if marks[root] != UNSEEN:
            continue
        depth = 0
        held = 0
        path[0] = np.uint64(root)
        entering = True
        while depth >= 0:
            node = path[depth]
            if entering:
                numbered += 1
                marks[node] = numbered
                lows[depth] = numbered
                edges[depth] = np.uint64(starts[node])
                waiting[held] = node
                held += 1
                entering = False
            end = np.uint64(starts[node]) + np.uint64(counts[node])
            at = edges[depth]
            low = lows[depth]
            while at < end:
                mark = marks[np.uint64(payload[at, 0])]
                if mark == UNSEEN:
                    break
                if 0 < mark < low:
                    low = mark
                at += ONE
            lows[depth] = low
            edges[depth] = at + ONE
            if at < end:
                depth += 1
                path[depth] = np.uint64(payload[at, 0])
                entering = True
                continue
            if low == marks[node]:
                while True:
                    held -= 1
                    member = waiting[held]
                    marks[member] = 0
                    order[filled] = member
                    filled += 1
                    if np.uint64(member) == node:
                        break
                components += 1
                begins[components] = filled
            depth -= 1
            if depth >= 0 and low < lows[depth]:
                lows[depth] = low
    return components


@kernel
def find_detours(
    sources, targets, budget, limit, out_starts, out_counts, out_payload, in_starts, in_counts, in_payload,
    slot_of, words, lists, places, tops, seen, base, result,
):  # fmt: skip
    """Writes for each edge that was taken out whether its target can still be reached from its source.

    Searches from both ends at once, an edge here and an edge there, and only through nodes that were on a way from
    one to the other before (the rows say which). A search that looks at more than `limit` edges, or begins after
    `budget` edges, finds nothing. `seen` has nothing above `base`.
    """
    ahead = np.empty(limit + 2, np.int32)
    behind = np.empty(limit + 2, np.int32)
    spent = 0
    for i in range(sources.size):
        result[i] = False
        source = sources[i]
        target = targets[i]
        if source == target or spent > budget:
            continue
        here = slot_of[source]
        there = slot_of[target]
        forth = base + 2 * i + 1
        back = base + 2 * i + 2
        seen[source] = forth
        seen[target] = back
        ahead[0] = source
        behind[0] = target
        ahead_count = 1
        behind_count = 1
        ahead_at = 0
        behind_at = 0
        ahead_edge = np.int64(0)
        behind_edge = np.int64(0)
        for _ in range(limit):
            spent += 1
            while ahead_at < ahead_count and ahead_edge >= out_counts[ahead[ahead_at]]:
                ahead_at += 1
                ahead_edge = np.int64(0)
            while behind_at < behind_count and behind_edge >= in_counts[behind[behind_at]]:
                behind_at += 1
                behind_edge = np.int64(0)
            if ahead_at == ahead_count or behind_at == behind_count:
                break
            node = out_payload[out_starts[ahead[ahead_at]] + ahead_edge, 0]
            ahead_edge += 1
            if seen[node] == back:
                result[i] = True
                break
            slot = slot_of[node]
            if seen[node] != forth and slot >= 0 and row_has(words, lists, places[slot], tops[slot], there):
                seen[node] = forth
                ahead[ahead_count] = node
                ahead_count += 1
            node = in_payload[in_starts[behind[behind_at]] + behind_edge, 0]
            behind_edge += 1
            if seen[node] == forth:
                result[i] = True
                break
            slot = slot_of[node]
            if seen[node] != back and slot >= 0 and row_has(words, lists, places[here], tops[here], slot):
                seen[node] = back
                behind[behind_count] = node
                behind_count += 1
