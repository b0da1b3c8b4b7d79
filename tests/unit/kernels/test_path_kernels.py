"""Ids are reached along blocks in the order of a search by breadth."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.kernels.path import follow_path
from unit.kernels.forms import run_both

NODES = 8
node = st.integers(0, NODES - 1)


@settings(max_examples=60)
@given(st.lists(st.tuples(node, node), max_size=20), st.integers(1, 6), st.integers(1, 10))
def test_rounds_end_where_a_search_by_breadth_does(edges, most, rounds):
    blocks = [[target for source, target in edges if source == each] for each in range(NODES - 2)]
    counts = np.array([len(block) for block in blocks], np.int32)
    payload = np.array([target for block in blocks for target in block], np.int32)
    starts = (np.cumsum(counts) - counts).astype(np.int32)
    ids, seen, ends = np.zeros(NODES + len(edges) + 1, np.int32), np.zeros(NODES, np.uint8), np.zeros(rounds, np.int64)
    seen[0] = 1
    made, found, derived = run_both(follow_path, ids, 0, 1, 1, seen, starts, counts, payload, most, ends)

    reached, frontier, expected, read = [0], [0], [], 0
    while frontier and len(expected) < rounds and (not expected or len(frontier) < most):
        met = [target for each in frontier if each < len(blocks) for target in blocks[each]]
        frontier = list(dict.fromkeys(target for target in met if target not in reached))
        reached += frontier
        expected.append(len(reached))
        read += len(met)
    assert (made, found, derived) == (len(expected), len(reached), read)
    assert ids[:found].tolist() == reached
    assert ends[:made].tolist() == expected


def test_a_round_without_room_is_none_and_keeps_what_it_found():
    ids, seen, ends = np.zeros(9, np.int32), np.zeros(3, np.uint8), np.zeros(4, np.int64)
    seen[0] = 1
    starts, counts, payload = np.array([0, 2], np.int32), np.array([2, 2], np.int32), np.array([1, 2, 7, 2], np.int32)
    made, found, derived = run_both(follow_path, ids, 0, 1, 1, seen, starts, counts, payload, 9, ends)
    assert (made, found, derived) == (1, 3, 2), "7 lies beyond the set, in the second round"
    made, found, derived = run_both(follow_path, ids[:3], 0, 1, 1, seen, starts, counts, payload, 9, ends)
    assert (made, found, derived) == (0, 1, 0), "one more row than is known might be needed"
