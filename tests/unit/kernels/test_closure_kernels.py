"""The kernels of closures agree with small models, and their two forms with each other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.closure import common_weight, count_ones, lacking_slots, row_has, row_slots
from tidelog.kernels.components import UNSEEN, mark_ancestors, strong_components
from tidelog.kernels.edges import FIRST, PRESENT, find_new_edges, remove_edges
from unit.kernels.forms import run_both

SLOTS = 200
NO_WORDS = np.empty((0, 0), np.uint64)
NO_LISTS = np.empty(0, np.int32)

slot_sets = st.sets(st.integers(0, SLOTS - 1), max_size=30)
edge_lists = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20)


def bit_row(slots):
    """The row as bits: words, lists, place, top."""
    words = np.zeros((2, SLOTS // 64 + 1), np.uint64)
    for slot in slots:
        words[1, slot // 64] |= np.uint64(1) << np.uint64(slot % 64)
    return words, NO_LISTS, 1, max(slots, default=-64) // 64 + 1


def list_row(slots):
    """The row as a list, behind something else."""
    return NO_WORDS, np.array([7, *sorted(slots)], np.int32), 1, len(slots)


@given(st.integers(0, 2**64 - 1))
def test_the_ones_of_a_word_are_counted(number):
    assert run_both(count_ones, np.uint64(number)) == number.bit_count()


@settings(max_examples=30, deadline=None)
@given(slot_sets, slot_sets, st.integers(0, SLOTS - 1))
def test_rows_of_either_form_are_sets_of_slots(here, there, asked):
    sizes = np.ones(SLOTS, np.int32)
    sizes[::3] = 4
    wide = bit_row(range(0, SLOTS, 3))[0][1]
    for form in (bit_row, list_row):
        row, other = form(here), form(there)
        assert run_both(row_has, *row, asked) == (asked in here)
        out = np.zeros(SLOTS, np.int32)
        assert out[: run_both(row_slots, *row, out)].tolist() == sorted(here)
        assert out[: run_both(lacking_slots, *row, *other, out)].tolist() == sorted(here - there)
        weight = sum(sizes[slot] for slot in here & there)
        assert run_both(common_weight, *row, *other, sizes, wide) == weight


def blocks(edges, nodes=7):
    """Starts, counts and payload of the edges by source."""
    by_source = [[target for source, target in edges if source == node] for node in range(nodes)]
    counts = np.array([len(targets) for targets in by_source], np.int32)
    starts = (np.cumsum(counts) - counts).astype(np.int32)
    payload = np.array([target for targets in by_source for target in targets], np.int32).reshape(-1, 1)
    return starts, counts, payload


def edges_in(starts, counts, payload):
    return {
        (node, target)
        for node in range(starts.size)
        for target in payload[starts[node] : starts[node] + counts[node], 0].tolist()
    }


def marks(batch):
    return np.zeros(7, np.int32), np.empty(len(batch), np.int32), np.full(7, 5, np.int64), 5


@settings(max_examples=50, deadline=None)
@given(edge_lists, edge_lists)
def test_edges_are_added_and_removed_once(present, batch):
    present = sorted(set(present))
    sources, targets = (np.array([edge[end] for edge in batch], np.int32) for end in (0, 1))
    flags = np.empty(len(batch), np.bool_)
    heads, *others = marks(batch)
    run_both(find_new_edges, sources, targets, *blocks(present), heads, *others, flags)
    new = [edge for edge, flag in zip(batch, flags, strict=True) if flag]
    assert sorted(new) == sorted(set(batch) - set(present))
    assert not heads.any()
    starts, counts, payload = held = blocks(present)
    covers = counts // 2
    first = {(node, end) for node in range(7) for end in payload[starts[node] :][: covers[node], 0].tolist()}
    found = np.empty(len(batch), np.int8)
    run_both(remove_edges, sources, targets, starts, counts, covers, payload, heads, *marks(batch)[1:], found)
    gone = {kind: [edge for edge, flag in zip(batch, found, strict=True) if flag == kind] for kind in (PRESENT, FIRST)}
    assert sorted(gone[FIRST]) == sorted(set(batch) & first)
    assert sorted(gone[PRESENT]) == sorted(set(batch) & set(present) - first)
    assert edges_in(*held) == set(present) - set(batch)
    assert edges_in(starts, covers, payload) == first - set(batch)
    assert not heads.any()


@settings(max_examples=50, deadline=None)
@given(edge_lists, st.sets(st.integers(0, 6), max_size=3))
def test_components_of_what_reaches_a_node_come_after_all_that_they_reach(edges, first):
    edges = set(edges)
    reach = {(node, node) for node in range(7)} | edges
    for _ in range(7):
        reach |= {(a, d) for a, b in reach for c, d in edges if b == c}
    seen, found = np.zeros(7, np.int32), np.empty(7, np.int32)
    start = np.array(sorted(first), np.int32)
    size = run_both(mark_ancestors, start, *blocks({(b, a) for a, b in edges}), seen, found)
    inside = {a for a, b in reach if b in first}
    assert set(found[:size].tolist()) == inside == {node for node in range(7) if seen[node] == UNSEEN}
    order, begins = np.empty(size, np.int32), np.zeros(size + 1, np.int64)
    count = run_both(strong_components, found[:size], *blocks(edges), seen, order, begins)
    parts = [set(order[begins[k] : begins[k + 1]].tolist()) for k in range(count)]
    together = {tuple(sorted(b for b in inside if {(a, b), (b, a)} <= reach)) for a in inside}
    assert sorted(tuple(sorted(part)) for part in parts) == sorted(together)
    for k, part in enumerate(parts):
        for later in parts[k + 1 :]:
            assert not any((a, b) in reach for a in part for b in later)
    assert not seen.any()
