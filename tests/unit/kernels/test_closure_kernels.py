"""The kernels of closures agree with small models, and their two forms with each other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.closure import common_weight, count_ones, lacking_slots, row_has, row_slots
from tidelog.kernels.components import UNSEEN, mark_ancestors, strong_components
from tidelog.kernels.edges import (
    FIRST,
    PRESENT,
    choose_mattering,
    find_new_edges,
    lay_out_edges,
    list_ends,
    remove_edges,
    reverse_edges,
    turn_edges,
)
from tidelog.kernels.first_reach import first_reach_in_bits
from tidelog.kernels.nodes import measure_edges, number_ends
from tidelog.kernels.slots import number_slots
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
    found = np.empty(len(batch) + 1, np.int8)
    run_both(remove_edges, sources, targets, starts, counts, covers, payload, heads, *marks(batch)[1:], found)
    flags = found[:-1].tolist()
    gone = {kind: [edge for edge, flag in zip(batch, flags, strict=True) if flag == kind] for kind in (PRESENT, FIRST)}
    assert sorted(gone[FIRST]) == sorted(set(batch) & first)
    assert sorted(gone[PRESENT]) == sorted(set(batch) & set(present) - first)
    assert edges_in(*held) == set(present) - set(batch)
    assert edges_in(starts, covers, payload) == first - set(batch)
    assert not heads.any()


@settings(max_examples=50, deadline=None)
@given(edge_lists)
def test_first_edges_are_laid_out_once_and_by_either_end(batch):
    sources, targets = np.array(batch, np.int32).reshape(-1, 2).T.copy()
    starts, counts, rooms, into_starts, into_counts, into_rooms = np.zeros((6, 7), np.int32)
    payload, into_payload = np.zeros((2, len(batch), 1), np.int32)
    stamps = np.full(7, 5, np.int64)
    different, nodes = run_both(lay_out_edges, sources, targets, starts, counts, rooms, payload, stamps, 5)
    assert nodes == len({end for edge in batch for end in edge})
    assert edges_in(starts, counts, payload) == set(batch)
    assert different == counts.sum() == len(set(batch))
    ends = np.zeros((2, different), np.int32)
    run_both(list_ends, starts, counts, payload, *ends)
    assert sorted(zip(*ends.tolist(), strict=True)) == sorted(set(batch))
    run_both(reverse_edges, starts, counts, payload, into_starts, into_counts, into_rooms, into_payload)
    assert edges_in(into_starts, into_counts, into_payload) == {(b, a) for a, b in batch}
    counts //= 2
    run_both(turn_edges, starts, counts, payload, into_starts, into_counts, into_payload)
    assert edges_in(into_starts, into_counts, into_payload) == {(b, a) for a, b in edges_in(starts, counts, payload)}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from([PRESENT, FIRST])), max_size=20))
def test_removed_edges_matter_that_were_first_or_stay_in_their_slot(removed):
    sources, targets, found = np.array(removed, np.int32).reshape(-1, 3).T.copy()
    slot_of = np.array([0, 0, 1, 2, 3, 3, 3], np.int32)
    counts, covers = np.arange(7, 14, dtype=np.int32), np.arange(7, dtype=np.int32)
    chosen = np.empty((2, len(removed) + 1), np.int32)
    many = run_both(
        choose_mattering, sources, targets, found.astype(np.int8), slot_of, counts, covers, chosen[0], chosen[1]
    )
    mattering = [(a, b) for a, b, kind in removed if kind == FIRST or slot_of[a] == slot_of[b]]
    assert list(zip(*chosen[:, :many].tolist(), strict=True)) == mattering
    lost = {a for a, _, kind in removed if kind == FIRST}
    assert covers.tolist() == [counts[node] if node in lost else node for node in range(7)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4)), max_size=20))
def test_ends_are_numbered_in_order_of_arrival(edges):
    rows = np.array(edges, np.int32).reshape(-1, 3)
    numbers, nodes = np.zeros(15, np.int32), np.zeros((16, 2), np.int32)
    sources, targets = np.zeros((2, len(edges)), np.int32)
    count = run_both(number_ends, rows, numbers, 5, 0, nodes, sources, targets)
    arrived = list(dict.fromkeys(node for group, *ends in edges for node in ((group, ends[0]), (group, ends[1]))))
    assert [tuple(node) for node in nodes[:count].tolist()] == arrived
    assert sources.tolist() == [arrived.index((group, source)) for group, source, _ in edges]
    assert targets.tolist() == [arrived.index((group, target)) for group, _, target in edges]


@given(st.lists(st.tuples(*[st.integers(-2, 9)] * 3), max_size=40))
def test_edges_are_measured(edges):
    rows = np.array(edges, np.int32).reshape(-1, 3)
    group = max([-1, *(row[0] for row in edges)])
    end = max([-1, *(number for row in edges for number in row[1:])])
    assert run_both(measure_edges, rows) == (group, end, all(min(row) >= 0 for row in edges))


@settings(max_examples=100, deadline=None)
@given(edge_lists)
def test_what_all_nodes_reach_is_computed_from_nothing(edges):
    edges = set(edges)
    reach = set(edges)
    for _ in range(7):
        reach |= {(a, d) for a, b in reach for c, d in edges if b == c}
    starts, counts, payload = blocks(edges)
    seen, order, begins = np.full(7, UNSEEN, np.int32), np.zeros(7, np.int32), np.zeros(8, np.int64)
    count = run_both(strong_components, np.arange(7, dtype=np.int32), starts, counts, payload, seen, order, begins)
    slot_of, nexts, covers = np.zeros((3, 7), np.int32)
    sizes, tops = np.zeros((2, 7), np.int32)
    firsts, places = np.full(7, -1, np.int32), np.full(7, -1, np.int64)
    run_both(number_slots, order, begins[: count + 1], slot_of, sizes, firsts, nexts)
    wide, weights = np.zeros(1, np.uint64), np.zeros(7, np.int64)
    words = np.zeros((7, 1), np.uint64)
    found, pairs = run_both(
        first_reach_in_bits, order, begins[: count + 1], slot_of, sizes, wide, starts, counts, payload, covers,
        places, tops, weights, words,
    )  # fmt: skip
    assert pairs == len(reach)
    for node in range(7):
        slot = slot_of[node]
        held = [
            node for node in range(7) if run_both(row_has, words, NO_LISTS, places[slot], tops[slot], slot_of[node])
        ]
        assert {(node, other) for other in held} == {pair for pair in reach if pair[0] == node}
        assert weights[slot] == len(held)
        members = [other for other in range(7) if slot_of[other] == slot]
        covering = [end for member in members for end in payload[starts[member] :, 0][: covers[member]].tolist()]
        brought = {
            other
            for end in covering
            for other in range(7)
            if slot_of[other] == slot_of[end] or (slot_of[end] != slot and (end, other) in reach)
        }
        assert brought == set(held)
    assert found == len({int(slot_of[a]) for a, _ in edges})
    assert edges_in(starts, counts, payload) == edges


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
