"""What a change did to the rows of a transitive closure: counted at once, written out on demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.facts.closure import Side, begins_of
from tidelog.facts.graph import Graph
from tidelog.facts.membership import Rows
from tidelog.facts.nodes import Numbers
from tidelog.facts.reach_rows import Longs, ReachRows, SlotTable, Words
from tidelog.kernels import jit
from tidelog.kernels.closure import add_common_parts, common_weights, expand_difference
from tidelog.kernels.slots import list_members

RowsAtOnce = tuple[Words, Numbers, Longs, Longs]
"""Rows at one time: words, lists, places, tops; see kernels.closure."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Nodes that have moved from one slot to another: for each pair of slots (old or -1, new, how many nodes)."""

    slots: Longs
    begins: Longs
    nodes: Numbers


_NO_PARTS = Parts(np.empty((0, 3), np.int64), np.zeros(1, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True, slots=True)
class ReachChange:
    """Rows before and after: first those `changed` (see kernels.reach), of the same members, then those of parts.

    For each row: how many nodes it is the row of (`sizes`), how many nodes it had (`old_weights`), has (`weights`) and
    has kept (`common`). `special` marks slots that were left by, or made of, nodes with another slot before.
    """

    changed: Longs
    parts: Parts
    sizes: Longs
    old_weights: Longs
    weights: Longs
    common: Longs
    special: npt.NDArray[np.bool_]

    @property
    def appeared_count(self) -> int:
        """How many pairs there are now that there were not."""
        return int(self.sizes @ (self.weights - self.common))

    @property
    def vanished_count(self) -> int:
        """How many pairs there were that there are not now."""
        return int(self.sizes @ (self.old_weights - self.common))

    def expand(self, stored: ReachRows, table: SlotTable, graph: Graph, side: Side) -> Rows:
        """The pairs of one side that the other does not have, as rows (group, source, target)."""
        lengths = self._lengths(side)
        chosen = np.flatnonzero(lengths)
        begins, sources = self._sources(table, chosen)
        whole = int(np.searchsorted(chosen, self.changed.shape[0]))
        sides = sides_of(
            stored, table, self.changed[chosen[:whole]], self.parts.slots[chosen[whole:] - len(self.changed)]
        )
        here, there = sides[side], sides[1 - side]
        out = np.empty((int((self.sizes * lengths).sum()), 3), np.int32)
        jit.work(out.shape[0])
        expand_difference(
            *here, *there, begins, sources, self.parts.slots, self.parts.begins, self.parts.nodes, side, self.special,
            table.firsts, table.nexts, graph.nodes,
            np.empty(table.capacity, np.int32), np.empty(graph.node_count, np.int32), out,
        )  # fmt: skip
        return out

    def sources(self, table: SlotTable, graph: Graph, side: Side) -> Rows:
        """The sources (group, node) of the pairs of one side that the other does not have."""
        nodes: Rows = graph.nodes[self._sources(table, np.flatnonzero(self._lengths(side)))[1]]
        return nodes

    def _lengths(self, side: Side) -> Longs:
        """How many nodes each row has on one side only."""
        return (self.weights if side is Side.NEW else self.old_weights) - self.common

    def _sources(self, table: SlotTable, chosen: Longs) -> tuple[Longs, Numbers]:
        """For each of the rows `chosen` the nodes that it is the row of: begins and nodes."""
        begins = begins_of(self.sizes[chosen])
        rows = self.changed.shape[0]
        whole = int(np.searchsorted(chosen, rows))
        sources = np.empty(int(begins[-1]), np.int32)
        list_members(self.changed[chosen[:whole], 0], table.firsts, table.nexts, sources)
        for place, part in zip(begins[whole:].tolist(), (chosen[whole:] - rows).tolist(), strict=False):
            nodes = self.parts.nodes[self.parts.begins[part] : self.parts.begins[part + 1]]
            sources[place : place + nodes.size] = nodes
        return begins, sources


def compare_rows(
    stored: ReachRows, table: SlotTable, changed: Longs, moves: Rows, special: npt.NDArray[np.bool_]
) -> ReachChange:
    """What has changed: rows `changed` (see kernels.reach) and nodes `moves` (node, old slot, new slot)."""
    if not moves.size:
        slots = changed[:, 0]
        sizes = table.sizes[slots].astype(np.int64)
        return ReachChange(changed, _NO_PARTS, sizes, changed[:, 3], table.weights[slots], changed[:, 4], special)
    parts = _group_moves(moves)
    old, new = parts.slots[:, Side.OLD], parts.slots[:, Side.NEW]
    slots = np.concatenate([changed[:, 0], new])
    common = np.concatenate([changed[:, 4], np.zeros(new.size, np.int64)])
    jit.work(slots.size)
    before, after = sides_of(stored, table, changed, parts.slots)
    apart = changed.shape[0]
    common_weights(
        *before[:2], before[2][apart:], before[3][apart:], *after[:2], after[2][apart:], after[3][apart:],
        table.sizes, stored.wide, common[apart:],
    )  # fmt: skip
    add_common_parts(*before, *after, parts.slots, common)
    return ReachChange(
        changed,
        parts,
        np.concatenate([table.sizes[changed[:, 0]].astype(np.int64), parts.slots[:, 2]]),
        np.concatenate([changed[:, 3], np.where(old >= 0, table.weights[old], 0)]),
        table.weights[slots],
        common,
        special,
    )


def sides_of(stored: ReachRows, table: SlotTable, changed: Longs, parts: Longs) -> tuple[RowsAtOnce, RowsAtOnce]:
    """Old and new rows of `changed` and of parts (old slot or -1, new slot, nodes)."""
    old = parts[:, Side.OLD]
    moved = old >= 0
    words, lists, places = stored.old_rows(table, changed, old)
    tops = np.concatenate([changed[:, 2], np.where(moved, table.tops[old], 0)])
    slots = np.concatenate([changed[:, 0], parts[:, Side.NEW]])
    now = stored.words, stored.lists, table.places[slots], table.tops[slots].astype(np.int64)
    return (words, lists, places, tops), now


def _group_moves(moves: Rows) -> Parts:
    moves = moves[np.lexsort((moves[:, 2], moves[:, 1]))]
    first = np.ones(moves.shape[0], np.bool_)
    first[1:] = (moves[1:, 1:] != moves[:-1, 1:]).any(axis=1)
    begins = np.append(np.flatnonzero(first), moves.shape[0])
    slots = np.column_stack([moves[first, 1], moves[first, 2], np.diff(begins)]).astype(np.int64)
    return Parts(slots, begins, np.ascontiguousarray(moves[:, 0]))
