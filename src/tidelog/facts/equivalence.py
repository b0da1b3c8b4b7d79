"""A symmetric-transitive closure under change: connected components, of which all pairs of members are related."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.errors import UsageError
from tidelog.facts.closure import (
    NOTHING,
    ClosureDelta,
    End,
    Positions,
    Ranges,
    Side,
    different_numbers,
    pieces,
    spread,
)
from tidelog.facts.graph import NO_EDGES, Edges, Graph
from tidelog.facts.membership import Mask, Rows
from tidelog.facts.nodes import SOURCE, TARGET, Numbers
from tidelog.kernels import jit
from tidelog.kernels.connectivity import (
    COMPONENT,
    FREE,
    LEFT,
    NOTED,
    NOTES,
    SIZE,
    count_related,
    drop_bare,
    expand_cliques,
    expand_crossings,
    join_ends,
    list_rings,
    part_components,
    part_ends,
)

_FEW_NODES = 1 << 12
_FEW_STEPS = 1 << 12


class SymmetricClosure:
    """All (x, y) of a group such that x and y are connected by edges, in either direction. See facts.closure.Closure.

    A node that has an edge is related to itself; one that has lost all is in nothing. Adding edges moves the members of
    the smaller component; removing them searches only the components that they were in.
    """

    def __init__(self) -> None:
        self.count = 0
        self._version = 0
        self._reviewed = _FEW_NODES
        self._graph = Graph()
        self._had_removals = False
        self._start_over()

    def update(self, added: Rows, removed: Rows) -> ClosureDelta:
        """Adds and removes edges, all or none; returns what that changes."""
        self._settle()
        jit.work(added.shape[0] + removed.shape[0])
        if not removed.shape[0]:
            return self._add(np.ascontiguousarray(added, np.int32))
        self._graph.catch_up()
        self._had_removals = True
        taken = put = NO_EDGES
        try:
            taken, _ = self._graph.remove(np.ascontiguousarray(removed, np.int32))
            if taken.sources.size:
                self._part(taken)
            put = self._graph.add(np.ascontiguousarray(added, np.int32))
            if put.sources.size:
                self._join(put)
            if taken.sources.size:
                self._drop_bare(taken)
            return self._read_journal()
        except BaseException:
            self._graph.marks.clear()
            self._graph.drop(put)
            self._graph.put(taken)
            self._rebuild()
            raise

    def _add(self, added: Rows) -> ClosureDelta:
        """Adds edges. Which edges there are matters only when some are removed, so that they can wait until then."""
        put = NO_EDGES
        try:
            put = self._graph.add_later(added)
            self._join(put)
            return self._read_journal()
        except BaseException:
            self._graph.forget(put)
            self._rebuild()
            raise

    def contains(self, rows: Rows) -> Mask:
        """Which of the rows (group, source, target) are in the closure."""
        jit.work(rows.shape[0])
        sources = self._find_components(rows, SOURCE)
        related: Mask = (sources >= 0) & (sources == self._find_components(rows, TARGET))
        return related

    def successors(self, keys: Rows) -> Ranges:
        """For each key (group, node) the members of its component."""
        jit.work(keys.shape[0])
        components = self._find_components(keys, SOURCE)
        present = components >= 0
        distinct, inverse = different_numbers(components[present], self._rings.shape[0])
        lengths = self._rings[distinct, SIZE].astype(np.int64)
        members = self._members(distinct, lengths)
        return spread(present, inverse, lengths, self._graph.nodes[members, 1].reshape(-1, 1))

    def predecessors(self, keys: Rows) -> Ranges:
        """For each key (group, node) the members of its component."""
        return self.successors(keys)

    def classes(self, keys: Rows) -> Numbers:
        """For each key (group, node) the number of its component, -1 for none."""
        jit.work(keys.shape[0])
        return self._find_components(keys, SOURCE)

    @property
    def class_bound(self) -> int:
        """A number above those of all components."""
        return len(self._rings)

    def count_successors(self, keys: Rows) -> Positions:
        """For each key (group, node) how many members its component has."""
        components = self.classes(keys)
        present = components >= 0
        counts = np.zeros(keys.shape[0], np.int64)
        counts[present] = self._rings[components[present], SIZE]
        return counts

    def count_predecessors(self, keys: Rows) -> Positions:
        """For each key (group, node) how many members its component has."""
        return self.count_successors(keys)

    def pairs(self) -> Iterator[Rows]:
        """All rows (group, source, target), about PAIRS_AT_ONCE at a time."""
        version = self._version
        components = np.flatnonzero(self._rings[:, SIZE]).astype(np.int32)
        sources = self._members(components, self._rings[components, SIZE].astype(np.int64))
        lengths = self._rings[self._nodes[sources, COMPONENT], SIZE].astype(np.int64)
        for piece in pieces(lengths):
            self._check_version(version)
            out = np.empty((int(lengths[piece].sum()), 3), np.int32)
            jit.work(out.shape[0])
            room = np.empty(int(lengths[piece].max()), np.int32)
            expand_cliques(sources[piece], self._nodes, self._rings, self._graph.nodes, room, out)
            yield out

    def _part(self, taken: Edges) -> None:
        """Parts the components that the removed edges held together."""
        graph, out, into = self._graph, self._graph.outgoing, self._graph.incoming
        blocks = (out.starts, out.counts, out.payload, into.starts, into.counts, into.payload)
        state = (self._nodes, self._rings, self._journal, self._tally, self._free, self._left)
        jit.work(4 * taken.sources.size)
        room = np.empty((2, graph.node_count), np.int32)
        components = self._nodes[taken.sources, COMPONENT]
        reached = part_ends(
            taken.sources, taken.targets, _FEW_STEPS + graph.edge_count // 4,
            *blocks, *state, *graph.marks.take(2 * taken.sources.size), room, np.empty(taken.sources.size, np.int32),
        )  # fmt: skip
        if reached < taken.sources.size:
            # One search of a whole component costs less than many searches in it.
            seen = np.zeros(graph.node_count, np.uint8)
            part_components(np.unique(components), *blocks, *state, seen, room[0])

    def _join(self, put: Edges) -> None:
        self._reserve()
        join_ends(
            put.sources, put.targets, self._nodes, self._rings, self._journal, self._tally, self._free, self._left
        )  # fmt: skip

    def _drop_bare(self, taken: Edges) -> None:
        out, into = self._graph.outgoing, self._graph.incoming
        ends = np.concatenate([taken.sources, taken.targets])
        drop_bare(ends, out.counts, into.counts, self._nodes, self._rings, self._journal, self._tally, self._left)

    def _read_journal(self) -> ClosureDelta:
        """What has changed for the nodes noted; the notes are cleared."""
        notes = self._journal[: int(self._tally[NOTES])]
        self._tally[NOTES] = 0
        nodes, old = notes[:, 0], notes[:, 1]
        self._nodes[nodes, NOTED] = 0
        moved = np.flatnonzero(old != self._nodes[nodes, COMPONENT])
        if not moved.size:
            return NOTHING
        nodes, old = nodes[moved], old[moved]
        moves = _Moves(nodes, old, self._nodes[nodes, COMPONENT])
        appeared, vanished = moves.count_pairs(self._rings, self._moved)
        self.count += appeared - vanished
        version = self._version

        def expand(side: Side) -> Rows:
            self._check_version(version)
            return self._expand(moves, appeared if side is Side.NEW else vanished, side)

        def ends(side: Side, _end: End) -> Rows:
            self._check_version(version)
            return self._ends(moves, side)

        return ClosureDelta(appeared, vanished, expand, ends)

    def _expand(self, moves: _Moves, size: int, side: Side) -> Rows:
        """All pairs that were in one component on this side of the change but not on the other."""
        members, blocks, parts = self._split(moves, side)
        out = np.empty((size, 3), np.int32)
        jit.work(size)
        expand_crossings(blocks[0], parts[0], parts[1], blocks[1], members, self._graph.nodes, out)
        return out

    def _ends(self, moves: _Moves, side: Side) -> Rows:
        """All nodes (group, node) that were related to something on this side of the change but not on the other."""
        members, blocks, parts = self._split(moves, side)
        found: Rows = self._graph.nodes[members[parts[1] - parts[0] < blocks[1] - blocks[0]]]
        return found

    def _split(
        self, moves: _Moves, side: Side
    ) -> tuple[Numbers, tuple[Positions, Positions], tuple[Positions, Positions]]:
        """The members of components that have changed, side by side by component on this side, and within it on the
        other; for each where its component begins and ends, and those that were with it on the other side."""
        members, components = self._touched(moves)
        blocks, parts = components[side], components[1 - side]
        inside = np.flatnonzero(blocks >= 0)
        order = inside[np.lexsort((parts[inside], blocks[inside]))]
        block, part = blocks[order], parts[order]
        block_begins, block_ends = _runs(block[1:] != block[:-1])
        part_begins, part_ends = _runs((block[1:] != block[:-1]) | (part[1:] != part[:-1]))
        alone = part < 0
        part_begins[alone] = part_ends[alone] = block_begins[alone]
        return members[order], (block_begins, block_ends), (part_begins, part_ends)

    def _touched(self, moves: _Moves) -> tuple[Numbers, tuple[Numbers, Numbers]]:
        """The nodes of all components that have changed; for each its component before, and now, -1 for none."""
        components = np.unique(np.concatenate([moves.old, moves.new]))
        components = components[components >= 0]
        staying = self._members(components, self._rings[components, SIZE].astype(np.int64))
        moved = np.zeros(self._graph.node_count, np.bool_)
        moved[moves.nodes] = True
        staying = staying[~moved[staying]]
        there = self._nodes[staying, COMPONENT]
        members = np.concatenate([moves.nodes, staying])
        return members, (np.concatenate([moves.old, there]), np.concatenate([moves.new, there]))

    def _members(self, components: Numbers, sizes: Positions) -> Numbers:
        out = np.empty(int(sizes.sum()), np.int32)
        jit.work(out.size)
        list_rings(components, self._nodes, self._rings, out)
        return out

    def _find_components(self, rows: Rows, columns: npt.NDArray[np.int64]) -> Numbers:
        numbers = self._graph.find(np.ascontiguousarray(rows, np.int32), columns)
        found: Numbers = np.where(numbers >= 0, self._nodes[numbers, COMPONENT], -1) if self._nodes.size else numbers
        return found

    def _settle(self) -> None:
        """Makes the components that the last change emptied free again, and forgets nodes where most have no edges."""
        self._version += 1
        free, gone = int(self._tally[FREE]), int(self._tally[LEFT])
        self._free[free : free + gone] = self._left[:gone]
        self._tally[FREE] += gone
        self._tally[LEFT] = 0
        if self._had_removals and self._graph.node_count > self._reviewed:
            self._graph.catch_up()
            if 2 * self._graph.live_count() < self._graph.node_count:
                edges = self._graph.rows()
                self._graph = Graph()
                self._graph.add(edges)
                self._rebuild()
            self._reviewed = max(_FEW_NODES, 2 * self._graph.node_count)

    def _rebuild(self) -> None:
        """Computes everything from the edges."""
        self._graph.catch_up()
        self._start_over()
        edges = self._graph.rows()
        self._join(Edges(self._graph.find(edges, SOURCE), self._graph.find(edges, TARGET)))
        self._read_journal()

    def _start_over(self) -> None:
        self.count = 0
        self._nodes: Rows = np.empty((0, 4), np.int32)
        self._rings: Rows = np.zeros((0, 3), np.int32)
        self._moved: Rows = np.zeros((0, 2), np.int32)
        self._journal: Rows = np.empty((0, 2), np.int32)
        self._free: Numbers = np.empty(0, np.int32)
        self._left: Numbers = np.empty(0, np.int32)
        self._tally = np.zeros(4, np.int64)

    def _reserve(self) -> None:
        """Makes room for all nodes. Twice as many components may take part in one change: old ones and new ones."""
        before, count = self._nodes.shape[0], self._graph.node_count
        if count > before:
            size = max(count, before + before // 2)
            nodes = np.zeros((size - before, 4), np.int32)
            nodes[:, COMPONENT] = -1
            self._nodes = np.concatenate([self._nodes, nodes])
            self._rings = _lengthen(self._rings, 2 * size)
            self._moved = _lengthen(self._moved, 2 * size)
            self._journal = _lengthen(self._journal, size)
            self._free = _lengthen(self._free, 2 * size)
            self._left = _lengthen(self._left, 2 * size)

    def _check_version(self, version: int) -> None:
        if version != self._version:
            raise UsageError("the closure has changed since; read pairs and deltas before the next update")


@dataclass(frozen=True, slots=True)
class _Moves:
    """Nodes that have changed their component: from `old` to `new`, -1 for none."""

    nodes: Numbers
    old: Numbers
    new: Numbers

    def count_pairs(self, rings: Rows, moved: Rows) -> tuple[int, int]:
        """How many pairs of members there are that there were not, and how many there were that there are not now."""
        appeared, vanished = count_related(self.old, self.new, rings, moved)
        both = (self.old >= 0) & (self.new >= 0)
        keys = (self.old[both].astype(np.int64) << 32) | self.new[both]
        together = np.unique(keys, return_counts=True)[1]
        common = int((together * together).sum())
        return int(appeared) - common, int(vanished) - common


def _runs(breaks: Mask) -> tuple[Positions, Positions]:
    """For each element, where its run begins and ends; breaks[i] says that one ends between i and i + 1."""
    edges = np.concatenate([[0], np.flatnonzero(breaks) + 1, [breaks.size + 1]])
    lengths = np.diff(edges)
    return np.repeat(edges[:-1], lengths), np.repeat(edges[1:], lengths)


def _lengthen(array: npt.NDArray[np.int32], size: int) -> npt.NDArray[np.int32]:
    return np.concatenate([array, np.zeros((size - array.shape[0], *array.shape[1:]), np.int32)])
