"""A set of edges between nodes of groups, reachable from both ends; the ground that closures stand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.facts.growing import longer
from tidelog.facts.membership import Mask, Rows
from tidelog.facts.nodes import SOURCE, TARGET, Nodes, Numbers, count_of_ids
from tidelog.kernels.blocks import append_blocks, fill_blocks, lay_out_blocks
from tidelog.kernels.edges import (
    ABSENT,
    choose_mattering,
    find_new_edges,
    lay_out_edges,
    list_edges,
    list_ends,
    remove_edges,
    reverse_edges,
    turn_edges,
)

_FIRST = np.array([0])
_TAIL = 1 << 8

_IDS_OF_A_NODE = 2
"""How many ids there may be for each node of a graph whose nodes are numbered by them."""

_MANY_GO = 1 / 8
"""The share of the edges from which on it is quicker to write those that stay again than to take out those that go."""

_IDS_OF_AN_EDGE = 2 * _IDS_OF_A_NODE


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges by the numbers of their nodes."""

    sources: Numbers
    targets: Numbers

    def where(self, mask: Mask) -> Edges:
        """The edges that `mask` chooses."""
        return self if mask.all() else Edges(self.sources[mask], self.targets[mask])


Found = npt.NDArray[np.int8]

NO_NUMBERS: Numbers = np.empty(0, np.int32)
NO_EDGES = Edges(NO_NUMBERS, NO_NUMBERS)

_NO_PAYLOAD: Rows = np.empty((0, 1), np.int32)
_NONE_FOUND: Found = np.empty(0, np.int8)
_NO_STAMPS = np.empty(0, np.int64)
_NONE_FREE = np.full(32, -1, np.int32)


class Graph:
    """Edges as rows (group, source, target). A node is a pair (group, id); it has a number while this lives."""

    def __init__(self) -> None:
        self._nodes = Nodes()
        self.edge_count = 0
        self.outgoing = Adjacency()
        self.marks = Marks()
        self._incoming: Adjacency | None = None
        self._waiting: list[Edges] = []

    @property
    def incoming(self) -> Adjacency:
        """The edges by their targets. They are laid out when somebody asks: who only computes a closure does not."""
        if self._incoming is None:
            self._incoming = self.outgoing.reversed(self.edge_count)
        return self._incoming

    @property
    def node_count(self) -> int:
        """How many nodes have a number, those without edges among them."""
        return self._nodes.count

    @property
    def nodes(self) -> Rows:
        """(group, id) of each node by number."""
        return self._nodes.rows

    def find(self, rows: Rows, columns: npt.NDArray[np.int64]) -> Numbers:
        """The numbers of the nodes in these two columns of `rows`, -1 where there is no such node."""
        return self._nodes.find(rows, columns)

    @property
    def is_unused(self) -> bool:
        """Whether there never was an edge, or a node."""
        return not self.node_count

    def add(self, rows: Rows) -> Edges:
        """Adds edges; returns those that were not there."""
        if not rows.shape[0]:
            return NO_EDGES
        return self._add(Edges(*self._nodes.number(rows)))

    def begin(self, rows: Rows) -> None:
        """Adds the first edges. Ids are dense: where at least half of them are ends, they are the numbers of nodes."""
        count = count_of_ids(rows)
        if count is not None and count <= _IDS_OF_AN_EDGE * rows.shape[0]:
            self.outgoing.reserve(count)
            self.marks.reserve(count)
            self.edge_count, ends = self.outgoing.lay_out(Edges(rows[:, 1], rows[:, 2]), self.marks)
            if _IDS_OF_A_NODE * ends >= count:
                self._nodes.number_by_ids(count)
                self._incoming = None
                return
            self.outgoing, self.marks, self.edge_count = Adjacency(), Marks(), 0
        self.add(rows)

    def add_later(self, rows: Rows) -> Edges:
        """Numbers the nodes of edges, present ones or not; they are added when `catch_up` is called."""
        edges = Edges(*self._nodes.number(rows))
        self._waiting.append(edges)
        return edges

    def catch_up(self) -> None:
        """Adds the edges that wait to be added."""
        waiting, self._waiting = self._waiting, []
        for edges in waiting:
            self._add(edges)

    def forget(self, edges: Edges) -> None:
        """Lets edges that wait to be added go."""
        self._waiting = [waiting for waiting in self._waiting if waiting is not edges]

    def _add(self, edges: Edges) -> Edges:
        self.outgoing.reserve(self.node_count)
        self.marks.reserve(self.node_count)
        if self._incoming is not None:
            self._incoming.reserve(self.node_count)
        elif self.outgoing.is_unused:
            self.edge_count, _ = self.outgoing.lay_out(edges, self.marks)
            return edges if self.edge_count == edges.sources.size else self.outgoing.edges(self.edge_count)
        edges = edges.where(self.outgoing.unknown(edges, self.marks))
        self.put(edges)
        return edges

    def remove(self, rows: Rows) -> tuple[Edges, Found]:
        """Takes edges out; returns those that were there, and what each was (see kernels.edges). Nodes keep their
        numbers."""
        if not rows.shape[0]:
            return NO_EDGES, _NONE_FOUND
        edges = Edges(self.find(rows, SOURCE), self.find(rows, TARGET))
        edges = edges.where((edges.sources >= 0) & (edges.targets >= 0))
        found = self.outgoing.remove(edges.sources, edges.targets, self.marks)
        present = found != ABSENT
        if not present.all():
            edges, found = edges.where(present), found[present]
        self._remove_incoming(edges)
        self.edge_count -= edges.sources.size
        return edges, found

    def _remove_incoming(self, edges: Edges) -> None:
        """Takes edges, which were present, out by their targets too."""
        if self._incoming is None:
            return
        if edges.sources.size > _MANY_GO * self.edge_count:
            self._incoming.keep_those_of(self.outgoing)
        else:
            self._incoming.remove(edges.targets, edges.sources, self.marks)

    def mattering(self, taken: Edges, found: Found, slot_of: Numbers) -> Edges:
        """Removed edges without those that brought nothing to the row of their source beside its others."""
        chosen = np.empty((2, taken.sources.size + 1), np.int32)
        out = self.outgoing
        many = choose_mattering(taken.sources, taken.targets, found, slot_of, out.counts, out.covers, *chosen)
        return Edges(chosen[0, :many], chosen[1, :many])

    def put(self, edges: Edges) -> None:
        """Adds edges that are known to be absent."""
        if not edges.sources.size:
            return
        self.outgoing.append(edges.sources, edges.targets)
        if self._incoming is not None:
            self._incoming.append(edges.targets, edges.sources)
        self.edge_count += edges.sources.size

    def drop(self, edges: Edges) -> None:
        """Takes out edges that are known to be present."""
        if not edges.sources.size:
            return
        self.outgoing.remove(edges.sources, edges.targets, self.marks)
        self._remove_incoming(edges)
        self.edge_count -= edges.sources.size

    def rows(self) -> Rows:
        """All edges."""
        out = np.empty((self.edge_count, 3), np.int32)
        list_edges(self.outgoing.starts, self.outgoing.counts, self.outgoing.payload, self.nodes, out)
        return out

    def live_count(self) -> int:
        """How many nodes have edges."""
        return int(np.count_nonzero(self.outgoing.counts + self.incoming.counts))


class Adjacency:
    """For each node its neighbours in one direction: payload[starts[n] : starts[n] + counts[n]].

    Who likes may put some before the others; covers[n] are these first ones (see kernels.reach.unite_rows).
    """

    def __init__(self) -> None:
        self.starts = self.counts = self.covers = self._rooms = NO_NUMBERS
        self.payload: Rows = _NO_PAYLOAD
        self._tail = 0
        self._free = _NONE_FREE.copy()

    def reserve(self, nodes: int) -> None:
        """Makes room for that many nodes."""
        if self.starts is NO_NUMBERS:
            self.starts, self.counts, self.covers, self._rooms = np.zeros((4, nodes), np.int32)
        elif nodes > self.starts.size:
            size = max(nodes, self.starts.size + self.starts.size // 2)
            self.starts = longer(self.starts, size)
            self.counts = longer(self.counts, size)
            self.covers = longer(self.covers, size)
            self._rooms = longer(self._rooms, size)

    @property
    def is_unused(self) -> bool:
        """Whether there never was an edge."""
        return self._tail == 0

    def lay_out(self, edges: Edges, marks: Marks) -> tuple[int, int]:
        """Takes edges into blocks that never had any, with no more room than they need; how many are different, and how
        many nodes are ends of them."""
        stamps, base = marks.take(self.starts.size)
        self._tail = edges.sources.size
        self.payload = np.empty((self._tail, 1), np.int32)
        different, ends = lay_out_edges(
            edges.sources, edges.targets, self.starts, self.counts, self._rooms, self.payload, stamps, base
        )  # fmt: skip
        return int(different), int(ends)

    def edges(self, count: int) -> Edges:
        """All edges, of which there are so many."""
        ends = Edges(np.empty(count, np.int32), np.empty(count, np.int32))
        list_ends(self.starts, self.counts, self.payload, ends.sources, ends.targets)
        return ends

    def reversed(self, edge_count: int) -> Adjacency:
        """The same edges by their other end."""
        other = Adjacency()
        other.reserve(self.starts.size)
        other._tail = edge_count
        other.payload = np.empty((edge_count, 1), np.int32)
        reverse_edges(
            self.starts, self.counts, self.payload, other.starts, other.counts, other._rooms, other.payload
        )  # fmt: skip
        return other

    def keep_those_of(self, other: Adjacency) -> None:
        """Takes the edges of `other`, by their other end, instead of those that were here, which were all of them and
        more."""
        turn_edges(other.starts, other.counts, other.payload, self.starts, self.counts, self.payload)

    def unknown(self, edges: Edges, marks: Marks) -> Mask:
        """Which edges of the batch are new, and not a repetition within it."""
        new = np.empty(edges.sources.size, np.bool_)
        stamps, base = marks.take(new.size)
        chain = np.empty(new.size, np.int32)
        find_new_edges(
            edges.sources, edges.targets, self.starts, self.counts, self.payload, marks.heads, chain, stamps, base, new
        )  # fmt: skip
        return new

    def remove(self, nodes: Numbers, neighbours: Numbers, marks: Marks) -> Found:
        """Takes neighbours away from nodes; what each was, see kernels.edges."""
        found = np.empty(nodes.size + 1, np.int8)
        stamps, base = marks.take(nodes.size)
        chain = np.empty(nodes.size, np.int32)
        remove_edges(
            nodes, neighbours, self.starts, self.counts, self.covers, self.payload,
            marks.heads, chain, stamps, base, found,
        )  # fmt: skip
        return found[:-1]

    def append(self, nodes: Numbers, neighbours: Numbers) -> None:
        """Gives each node a neighbour that it does not have."""
        groups, rows = nodes.reshape(-1, 1), neighbours.reshape(-1, 1)
        if self._tail == 0:
            self._tail = int(lay_out_blocks(groups, 0, self.starts, self._rooms))
            self.payload = np.empty((self._tail, 1), np.int32)
            fill_blocks(groups, 0, rows, 0, _FIRST, self.starts, self.counts, self.payload)
            return
        reached = 0
        while True:
            reached, self._tail, _ = append_blocks(
                groups, 0, rows, 0, _FIRST, reached,
                self.starts, self.counts, self._rooms, self.payload, self._tail, self._free,
            )  # fmt: skip
            if reached == nodes.size:
                return
            target = np.empty((self._tail + self._tail // 2 + _TAIL, 1), np.int32)
            target[: self._tail] = self.payload[: self._tail]
            self.payload = target


class Marks:
    """Marks on nodes that need no clearing: each use of `stamps` has numbers above all earlier ones.

    A small change of a large graph must not pay for a number for each node. `heads` are zeros for whoever leaves zeros.
    """

    def __init__(self) -> None:
        self.heads = NO_NUMBERS
        self._stamps = _NO_STAMPS
        self._base = 0

    def reserve(self, nodes: int) -> None:
        """Makes room for that many nodes."""
        if nodes > self.heads.size:
            size = max(nodes, self.heads.size + self.heads.size // 2)
            self.heads = np.zeros(size, np.int32)
            self._stamps = np.zeros(size, np.int64)

    def clear(self) -> None:
        """Makes `heads` zeros again, after a use that was broken off."""
        self.heads[:] = 0

    def take(self, count: int) -> tuple[npt.NDArray[np.int64], int]:
        """Stamps, and a base: the numbers from base + 1 to base + count are on no node."""
        base = self._base
        self._base += count
        return self._stamps, base
