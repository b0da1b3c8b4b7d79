"""Closures as Python sets of pairs, and a closure checked against them after each update."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


class Checked:
    """A closure beside the set of its edges; each update is compared in every way that it can be asked."""

    def __init__(self, closure, model):
        self.closure, self.model, self.edges = closure, model, set()

    def update(self, added=(), removed=()):
        before = self.model(self.edges)
        self.edges = (self.edges - set(removed)) | set(added)
        after = self.model(self.edges)
        delta = self.closure.update(rows_of(added), rows_of(removed))
        assert (delta.appeared_count, delta.vanished_count) == (len(after - before), len(before - after))
        assert tuples(delta.appeared()) == sorted(after - before)
        assert tuples(delta.vanished()) == sorted(before - after)
        self.compare(after)

    def compare(self, after):
        closure = self.closure
        assert closure.count == len(after)
        assert sorted(row for piece in closure.pairs() for row in tuples(piece)) == sorted(after)
        nodes = [*sorted({(group, node) for group, *ends in self.edges for node in ends}), (0, 99)]
        square = [(group, source, target) for group, source in nodes for other, target in nodes if group == other]
        assert closure.contains(rows_of(square)).tolist() == [row in after for row in square]
        keys = rows_of(nodes * 2, 2)
        forth, back = {key: [] for key in nodes}, {key: [] for key in nodes}
        for group, source, target in sorted(after):
            forth[group, source].append(target)
            back[group, target].append(source)
        assert ranges(closure.successors(keys)) == [forth[key] for key in nodes * 2]
        assert ranges(closure.predecessors(keys)) == [back[key] for key in nodes * 2]


def transitive(edges):
    """All pairs with a path of at least one edge."""
    after = {}
    for group, source, target in edges:
        after.setdefault((group, source), []).append(target)
    return {(*start, node) for start in after for node in reached_from(start, after)}


def reached_from(start, after):
    group = start[0]
    seen, waiting = set(), list(after[start])
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += after.get((group, node), [])
    return seen


def symmetric(edges):
    """The same, with each edge in both directions."""
    return transitive(set(edges) | {(group, target, source) for group, source, target in edges})


def rows_of(tuples_, width=3):
    return np.array(list(tuples_), np.int32).reshape(-1, width)


def tuples(rows):
    assert rows.dtype == np.int32
    return sorted(map(tuple, rows.tolist()))


def ranges(found):
    begins, lengths, payload = found
    assert (begins.dtype, lengths.dtype, payload.shape[1]) == (np.int64, np.int64, 1)
    return [sorted(payload[begin : begin + length, 0].tolist()) for begin, length in zip(begins, lengths, strict=True)]


def scripts(nodes):
    """Lists of updates (added, removed) over a few nodes of two groups, numbered far apart."""
    node = st.integers(0, nodes - 1).map(lambda number: 1000 * number + 7)
    edge = st.tuples(st.integers(0, 1).map(lambda group: 3 * group), node, node)
    return st.lists(st.tuples(st.lists(edge, max_size=8), st.lists(edge, max_size=8)), max_size=8)


def dense_edges(nodes):
    """Lists of edges of one group over a few nodes, numbered from 0 on; some may come twice."""
    node = st.integers(0, nodes - 1)
    return st.lists(st.tuples(st.just(0), node, node), max_size=12)
