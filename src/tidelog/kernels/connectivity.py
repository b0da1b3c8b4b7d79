"""Connected components of an undirected graph, kept while edges come and go.

A node that has edges is a member of one component. nodes[n] = (component or -1, next member, member before, noted);
members form a ring. rings[c] = (one member, how many members, anchor). `journal` gets (node, component before) for each
node whose component changes, once. `tally` holds counters, see the names below; `free` holds numbers of components to
be taken again, `left` those that have lost all members, which must not be taken again before the journal has been read.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import kernel

COMPONENT = 0
NEXT = 1
BEFORE = 2
NOTED = 3

MEMBER = 0
SIZE = 1
ANCHOR = 2

NOTES = 0
FREE = 1
UNUSED = 2
LEFT = 3


@kernel
def join_ends(sources, targets, nodes, rings, journal, tally, free, left):
    """Makes the components of the ends of each edge one; the smaller one's members move to the larger."""
    for i in range(sources.size):
        source = sources[i]
        target = targets[i]
        here = nodes[source, COMPONENT]
        there = nodes[target, COMPONENT]
        if here < 0 and there < 0:
            here = _new_component(rings, tally, free)
            _enter(source, here, nodes, rings, journal, tally)
            if source != target:
                _enter(target, here, nodes, rings, journal, tally)
        elif here < 0:
            _enter(source, there, nodes, rings, journal, tally)
        elif there < 0:
            _enter(target, here, nodes, rings, journal, tally)
        elif here != there:
            if rings[here, SIZE] < rings[there, SIZE]:
                here, there = there, here
            _absorb(here, there, nodes, rings, journal, tally, left)


@kernel
def part_ends(
    sources, targets, budget, out_starts, out_counts, out_payload, in_starts, in_counts, in_payload,
    nodes, rings, journal, tally, free, left, seen, base, queues, made,
):  # fmt: skip
    """Finds for each edge that was taken out whether its ends are still connected, and parts them if not.

    Searches from both ends, an edge here and an edge there, until they meet or one side is complete: that one becomes a
    component of its own. What else it was connected to by edges taken out may now hang together by nothing but its
    other end, so from then on that end, its anchor, stands for it. Returns the edge reached; it stops after about
    `budget` steps. `seen` has nothing above `base`; `queues` has two rows of room for all nodes, `made` room for all
    edges.
    """
    spent = 0
    parted = 0
    reached = sources.size
    at = np.empty(2, np.int64)
    edge = np.empty(2, np.int64)
    size = np.empty(2, np.int64)
    for i in range(sources.size):
        if spent > budget:
            reached = i
            break
        source = _anchor(sources[i], nodes, rings)
        target = _anchor(targets[i], nodes, rings)
        if source == target:
            continue
        for side in range(2):
            end = source if side == 0 else target
            queues[side, 0] = end
            seen[end] = base + 2 * i + side + 1
            at[side] = 0
            edge[side] = 0
            size[side] = 1
        side = 0
        complete = -1
        met = False
        while not met and complete < 0:
            spent += 1
            while at[side] < size[side]:
                node = queues[side, at[side]]
                if edge[side] < out_counts[node] + in_counts[node]:
                    break
                at[side] += 1
                edge[side] = 0
            if at[side] == size[side]:
                complete = side
                break
            node = queues[side, at[side]]
            if edge[side] < out_counts[node]:
                other = out_payload[out_starts[node] + edge[side], 0]
            else:
                other = in_payload[in_starts[node] + edge[side] - out_counts[node], 0]
            edge[side] += 1
            met = seen[other] == base + 2 * i + (1 - side) + 1
            if not met and seen[other] != base + 2 * i + side + 1:
                seen[other] = base + 2 * i + side + 1
                queues[side, size[side]] = other
                size[side] += 1
            side = 1 - side
        if complete >= 0:
            component = _separate(queues[complete], size[complete], nodes, rings, journal, tally, free, left)
            rings[component, ANCHOR] = (target if complete == 0 else source) + 1
            made[parted] = component
            parted += 1
    for i in range(parted):
        rings[made[i], ANCHOR] = 0
    return reached


@kernel
def part_components(
    components, out_starts, out_counts, out_payload, in_starts, in_counts, in_payload,
    nodes, rings, journal, tally, free, left, seen, queue,
):  # fmt: skip
    """Searches each of `components` as a whole; all connected parts but the largest become components of their own.

    `seen` has a zero for each node, `queue` room for all.
    """
    for component in components:
        if rings[component, SIZE] == 0:
            continue
        begins = np.empty(rings[component, SIZE] + 1, np.int64)
        parts = 0
        size = 0
        at = 0
        start = rings[component, MEMBER]
        member = start
        while True:
            if seen[member] == 0:
                begins[parts] = size
                parts += 1
                seen[member] = 1
                queue[size] = member
                size += 1
            # Once all members are reached, there is nothing left to find.
            while at < size and size < rings[component, SIZE]:
                node = queue[at]
                for e in range(out_starts[node], out_starts[node] + out_counts[node]):
                    size = _reach(out_payload[e, 0], seen, queue, size)
                for e in range(in_starts[node], in_starts[node] + in_counts[node]):
                    size = _reach(in_payload[e, 0], seen, queue, size)
                at += 1
            member = nodes[member, NEXT]
            if member == start:
                break
        begins[parts] = size
        largest = 0
        for part in range(parts):
            if begins[part + 1] - begins[part] > begins[largest + 1] - begins[largest]:
                largest = part
        for part in range(parts):
            if part != largest:
                count = begins[part + 1] - begins[part]
                _separate(queue[begins[part] : begins[part + 1]], count, nodes, rings, journal, tally, free, left)


@kernel
def drop_bare(ends, out_counts, in_counts, nodes, rings, journal, tally, left):
    """Takes nodes without edges out of their components."""
    for node in ends:
        if nodes[node, COMPONENT] >= 0 and out_counts[node] + in_counts[node] == 0:
            _note(node, nodes, journal, tally)
            _leave(node, nodes, rings, tally, left)
            nodes[node, COMPONENT] = -1


@kernel
def list_ring(component, nodes, rings, out, filled):
    """Writes the members of a component to `out` from `filled` on; returns the new `filled`."""
    if rings[component, SIZE]:
        start = rings[component, MEMBER]
        node = start
        while True:
            out[filled] = node
            filled += 1
            node = nodes[node, NEXT]
            if node == start:
                break
    return filled


@kernel
def list_rings(components, nodes, rings, out):
    """Writes the members of each component to `out`, one component after the other."""
    filled = 0
    for component in components:
        filled = list_ring(component, nodes, rings, out, filled)


@kernel
def expand_cliques(sources, nodes, rings, names, members, out):
    """Writes (group, source, target) for all members of the component of each of `sources`."""
    filled = 0
    listed = -1
    size = 0
    for source in sources:
        component = nodes[source, COMPONENT]
        if component != listed:
            size = list_ring(component, nodes, rings, members, 0)
            listed = component
        for j in range(size):
            out[filled, 0] = names[source, 0]
            out[filled, 1] = names[source, 1]
            out[filled, 2] = names[members[j], 1]
            filled += 1


@kernel
def count_related(old, new, rings, moved):
    """How many pairs the components touched by the moves from old[i] to new[i] have, and how many they had.

    Pairs of nodes that have not moved are left out. `moved` has two zeros for each component, at the end again.
    """
    for i in range(old.size):
        if old[i] >= 0:
            moved[old[i], 0] += 1
        if new[i] >= 0:
            moved[new[i], 1] += 1
    now = np.int64(0)
    before = np.int64(0)
    for i in range(2 * old.size):
        component = old[i >> 1] if i & 1 else new[i >> 1]
        if component < 0 or moved[component, 0] + moved[component, 1] == 0:
            continue
        size = np.int64(rings[component, SIZE])
        staying = size - moved[component, 1]
        was = staying + moved[component, 0]
        now += size * size - staying * staying
        before += was * was - staying * staying
        moved[component, 0] = 0
        moved[component, 1] = 0
    return now, before


@kernel
def expand_crossings(begins, skip_begins, skip_ends, ends, members, names, out):
    """Writes (group, source, target) for each member with members[begins[i] : ends[i]], less what is skipped."""
    filled = 0
    for i in range(members.size):
        source = members[i]
        j = begins[i]
        while j < ends[i]:
            if j == skip_begins[i] and skip_ends[i] > j:
                j = skip_ends[i]
                continue
            out[filled, 0] = names[source, 0]
            out[filled, 1] = names[source, 1]
            out[filled, 2] = names[members[j], 1]
            filled += 1
            j += 1


@kernel
def _anchor(node, nodes, rings):
    """The node that stands for `node`: itself, unless its component is known to be complete. Shortens the way."""
    while rings[nodes[node, COMPONENT], ANCHOR]:
        component = nodes[node, COMPONENT]
        node = rings[component, ANCHOR] - 1
        further = rings[nodes[node, COMPONENT], ANCHOR]
        if further:
            rings[component, ANCHOR] = further
    return node


@kernel
def _reach(node, seen, queue, size):
    if seen[node] == 0:
        seen[node] = 1
        queue[size] = node
        size += 1
    return size


@kernel
def _new_component(rings, tally, free):
    if tally[FREE]:
        tally[FREE] -= 1
        component = free[tally[FREE]]
    else:
        component = np.int32(tally[UNUSED])
        tally[UNUSED] += 1
    rings[component, SIZE] = 0
    return component


@kernel
def _note(node, nodes, journal, tally):
    if nodes[node, NOTED] == 0:
        nodes[node, NOTED] = 1
        journal[tally[NOTES], 0] = node
        journal[tally[NOTES], 1] = nodes[node, COMPONENT]
        tally[NOTES] += 1


@kernel
def _enter(node, component, nodes, rings, journal, tally):
    _note(node, nodes, journal, tally)
    nodes[node, COMPONENT] = component
    if rings[component, SIZE] == 0:
        rings[component, MEMBER] = node
        nodes[node, NEXT] = node
        nodes[node, BEFORE] = node
    else:
        before = rings[component, MEMBER]
        after = nodes[before, NEXT]
        nodes[node, NEXT] = after
        nodes[node, BEFORE] = before
        nodes[before, NEXT] = node
        nodes[after, BEFORE] = node
    rings[component, SIZE] += 1


@kernel
def _leave(node, nodes, rings, tally, left):
    component = nodes[node, COMPONENT]
    after = nodes[node, NEXT]
    before = nodes[node, BEFORE]
    nodes[before, NEXT] = after
    nodes[after, BEFORE] = before
    rings[component, MEMBER] = after
    rings[component, SIZE] -= 1
    if rings[component, SIZE] == 0:
        left[tally[LEFT]] = component
        tally[LEFT] += 1


@kernel
def _absorb(component, other, nodes, rings, journal, tally, left):
    """Moves all members of `other` to `component`."""
    first = rings[other, MEMBER]
    node = first
    while True:
        _note(node, nodes, journal, tally)
        nodes[node, COMPONENT] = component
        node = nodes[node, NEXT]
        if node == first:
            break
    place = rings[component, MEMBER]
    after = nodes[place, NEXT]
    last = nodes[first, BEFORE]
    nodes[place, NEXT] = first
    nodes[first, BEFORE] = place
    nodes[last, NEXT] = after
    nodes[after, BEFORE] = last
    rings[component, SIZE] += rings[other, SIZE]
    rings[other, SIZE] = 0
    left[tally[LEFT]] = other
    tally[LEFT] += 1


@kernel
def _separate(members, count, nodes, rings, journal, tally, free, left):
    component = _new_component(rings, tally, free)
    for i in range(count):
        _note(members[i], nodes, journal, tally)
        _leave(members[i], nodes, rings, tally, left)
        _enter(members[i], component, nodes, rings, journal, tally)
    return component
