"""A transitive closure under change: strongly connected components, and for each the set of components it reaches."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import numpy as np
import numpy.typing as npt

from tidelog.errors import UsageError
from tidelog.facts.closure import (
    ClosureDelta,
    ClosureTooLarge,
    End,
    Positions,
    Ranges,
    Side,
    begins_of,
    different_numbers,
    pieces,
    spread,
)
from tidelog.facts.graph import NO_EDGES, NO_NUMBERS, Edges, Found, Graph
from tidelog.facts.holders import find_holders, measure_holders
from tidelog.facts.membership import Mask, Rows
from tidelog.facts.nodes import SOURCE, TARGET, Numbers
from tidelog.facts.reach_change import ReachChange, compare_rows
from tidelog.facts.reach_rows import BitRows, Components, ListRows, ReachRows, SlotTable, TooLong
from tidelog.kernels import jit
from tidelog.kernels.closure import expand_pairs, expand_rows, has_pairs
from tidelog.kernels.components import UNSEEN, find_detours, mark_ancestors, strong_components
from tidelog.kernels.reach_size import REGISTERS, estimate_reach
from tidelog.kernels.slots import assign_slots, compare_components, number_slots

FEW_BYTES = 1 << 26
"""Bits for all pairs that take no more than this are always worth it."""

MOST_BYTES = 1 << 29
"""What bits for all pairs, or lists, may take."""

_TOO_LARGE = "a transitive closure needs more than {megabytes} MB in compact form"

_SURELY = 1.25
"""How many times as much as it may take a closure must be estimated to take to be refused before it is computed."""

_NO_ROWS: Rows = np.empty((0, 3), np.int32)
_NO_CHANGES = np.empty((0, 7), np.int64)
_DETOUR_EDGES = 1 << 12
_FEW_NODES = 1 << 12


class Form(Enum):
    """How rows are kept."""

    BITS = "bits"
    LISTS = "lists"


class TransitiveClosure:
    """All (x, y) of a group such that a path of one edge or more leads from x to y. See facts.closure.Closure.

    `form` is chosen by size unless given. A change looks only at nodes that can reach one of the changed edges.
    """

    def __init__(self, *, form: Form | None = None, most_bytes: int = MOST_BYTES) -> None:
        self.count = 0
        self._graph = Graph()
        self._forced = form
        self._most_bytes = most_bytes
        self._bits_may_take = FEW_BYTES
        self._reviewed = _FEW_NODES
        self._version = 0
        self._known = 0
        self._table: SlotTable
        self._rows: ReachRows
        self._retired: Numbers
        self._changed: npt.NDArray[np.int64]
        self._start_over()

    def update(self, added: Rows, removed: Rows) -> ClosureDelta:
        """Adds and removes edges, all or none; returns what that changes."""
        self._settle()
        jit.work(added.shape[0] + removed.shape[0])
        if self._graph.is_unused:
            return self._begin(np.ascontiguousarray(added, np.int32))
        taken = put = NO_EDGES
        try:
            taken, found = self._graph.remove(np.ascontiguousarray(removed, np.int32))
            put = self._graph.add(np.ascontiguousarray(added, np.int32))
            return self._follow_change(put, self._mattering(taken, found))
        except TooLong:
            size = self._bits_bytes()
            self._take_back(put, taken)
            self._check_that_bits_may_do(size)
        except BaseException:
            self._take_back(put, taken)
            raise
        return self.update(added, removed)

    def _begin(self, added: Rows) -> ClosureDelta:
        """As `update` where there never was an edge: everything appears."""
        try:
            self._graph.begin(added)
            self._compute_first()
        except TooLong:
            size = self._bits_bytes()
            self._forget_edges()
            self._check_that_bits_may_do(size)
            return self._begin(added)
        except BaseException:
            self._forget_edges()
            raise
        version = self._version

        def expand(side: Side) -> Rows:
            self._check_version(version)
            return np.concatenate([_NO_ROWS, *(self.pairs() if side is Side.NEW else ())])

        def ends(side: Side, end: End) -> Rows | None:
            self._check_version(version)
            if end is End.TARGET:
                return None
            lengths = self._table.weights[self._table.slot_of[: self._known]]
            return self._graph.nodes[lengths > 0 if side is Side.NEW else slice(0)]

        return ClosureDelta(self.count, 0, expand, ends)

    def _forget_edges(self) -> None:
        """Makes a first change that has failed undone."""
        self._graph = Graph()
        self._take_back(NO_EDGES, NO_EDGES)

    def _check_that_bits_may_do(self, size: int) -> None:
        """Raises ClosureTooLarge unless bits of that size may take the place of lists that were too long."""
        if size > self._most_bytes or self._forced is Form.LISTS:
            raise self._refusal() from None

    def contains(self, rows: Rows) -> Mask:
        """Which of the rows (group, source, target) are in the closure."""
        jit.work(rows.shape[0])
        return self._connects(self._find_slots(rows, SOURCE), self._find_slots(rows, TARGET))

    def successors(self, keys: Rows) -> Ranges:
        """For each key (group, node) the nodes that it reaches."""
        jit.work(keys.shape[0])
        table, rows = self._table, self._rows
        slots = self._find_slots(keys, SOURCE)
        present = slots >= 0
        distinct, inverse = different_numbers(slots[present], self._table.capacity)
        lengths = table.weights[distinct]
        begins = begins_of(lengths)
        jit.work(int(begins[-1]))
        payload = np.empty((int(begins[-1]), 1), np.int32)
        expand_rows(
            rows.words, rows.lists, table.places[distinct], table.tops[distinct], begins,
            table.firsts, table.nexts, self._graph.nodes, self._scratch(), payload,
        )  # fmt: skip
        return spread(present, inverse, lengths, payload)

    def predecessors(self, keys: Rows) -> Ranges:
        """For each key (group, node) the nodes that reach it."""
        jit.work(keys.shape[0])
        slots = self._find_slots(keys, SOURCE)
        present = slots >= 0
        distinct, inverse = different_numbers(slots[present], self._table.capacity)
        lengths, payload = find_holders(self._rows, self._table, self._graph, distinct)
        return spread(present, inverse, lengths, payload)

    def classes(self, keys: Rows) -> Numbers:
        """For each key (group, node) the slot of its component, -1 for none."""
        jit.work(keys.shape[0])
        return self._find_slots(keys, SOURCE)

    @property
    def class_bound(self) -> int:
        """A number above those of all slots."""
        return self._table.capacity

    def count_successors(self, keys: Rows) -> Positions:
        """For each key (group, node) how many nodes it reaches."""
        slots = self.classes(keys)
        counts = np.zeros(slots.size, np.int64)
        counts[slots >= 0] = self._table.weights[slots[slots >= 0]]
        return counts

    def count_predecessors(self, keys: Rows) -> Positions:
        """For each key (group, node) how many nodes reach it."""
        slots = self.classes(keys)
        present = slots >= 0
        distinct, inverse = different_numbers(slots[present], self._table.capacity)
        counts = np.zeros(slots.size, np.int64)
        counts[present] = measure_holders(self._rows, self._table, self._graph, distinct)[inverse]
        return counts

    def pairs(self) -> Iterator[Rows]:
        """All rows (group, source, target), about PAIRS_AT_ONCE at a time."""
        version, table, rows = self._version, self._table, self._rows
        lengths = table.weights[table.slot_of[: self._graph.node_count]]
        nodes = np.flatnonzero(lengths).astype(np.int32)
        for piece in pieces(lengths[nodes]):
            self._check_version(version)
            out = np.empty((int(lengths[nodes[piece]].sum()), 3), np.int32)
            jit.work(out.shape[0])
            expand_pairs(
                rows.words, rows.lists, table.places, table.tops, nodes[piece],
                table.slot_of, table.firsts, table.nexts, self._graph.nodes, self._scratch(), out,
            )  # fmt: skip
            yield out

    def _follow_change(self, put: Edges, taken: Edges) -> ClosureDelta:
        self._table.reserve_nodes(self._graph.node_count)
        new = np.arange(self._known, self._graph.node_count, dtype=np.int32)
        self._known = self._graph.node_count
        if not new.size and isinstance(self._rows, BitRows) and self._keeps_components(put, taken):
            change = self._ripple(self._rows, put, taken)
        else:
            change = self._recompute(self._sources_to_follow(put, taken), new)
        appeared, vanished = change.appeared_count, change.vanished_count
        self.count += appeared - vanished
        version = self._version

        def expand(side: Side) -> Rows:
            self._check_version(version)
            return change.expand(self._rows, self._table, self._graph, side)

        def ends(side: Side, end: End) -> Rows | None:
            self._check_version(version)
            return change.sources(self._table, self._graph, side) if end is End.SOURCE else None

        return ClosureDelta(appeared, vanished, expand, ends)

    def _mattering(self, taken: Edges, found: Found) -> Edges:
        if not taken.sources.size or not isinstance(self._rows, BitRows):
            return taken
        return self._graph.mattering(taken, found, self._table.slot_of)

    def _keeps_components(self, put: Edges, taken: Edges) -> bool:
        """Whether all components keep their members. If so, ranks fit the edges afterwards."""
        table = self._table
        here, there = table.slot_of[put.sources], table.slot_of[put.targets]
        against = put.sources[(table.ranks[here] <= table.ranks[there]) & (here != there)]
        here = table.slot_of[taken.sources]
        inside = taken.where((here == table.slot_of[taken.targets]) & (table.sizes[here] > 1))
        if inside.sources.size:
            inside = inside.where(~self._have_detours(inside))
        first = np.concatenate([against, inside.sources])
        if not first.size:
            return True
        order, begins = self._find_components(first)
        kinds = np.empty(begins.size - 1, np.uint8)
        if compare_components(order, begins, table.slot_of, table.sizes, kinds)[0]:
            return False
        table.rank(table.slot_of[order[begins[:-1]]])
        return True

    def _ripple(self, rows: BitRows, put: Edges, taken: Edges) -> ReachChange:
        jit.work((put.sources.size + taken.sources.size) * (1 + self._table.capacity // 1024))
        self._changed = rows.ripple(self._graph, self._table, put, taken)
        return compare_rows(
            rows, self._table, self._changed, np.empty((0, 3), np.int32), np.zeros(self._table.capacity, np.bool_)
        )

    def _sources_to_follow(self, put: Edges, taken: Edges) -> Numbers:
        """Sources of the changed edges that matter: a pair that is still connected without the removed edge changes
        nothing, nor does a new edge between nodes that were connected before."""
        if taken.sources.size:
            taken = taken.where(~self._have_detours(taken))
        slot_of = self._table.slot_of
        # Nodes without a slot are followed anyway.
        put = put.where(slot_of[put.sources] >= 0)
        if put.sources.size and not taken.sources.size:
            put = put.where(~self._connects(slot_of[put.sources], slot_of[put.targets]))
        return np.concatenate([put.sources, taken.sources])

    def _have_detours(self, taken: Edges) -> Mask:
        table, rows, graph = self._table, self._rows, self._graph
        result = np.empty(taken.sources.size, np.bool_)
        jit.work(4 * result.size)
        out, into = graph.outgoing, graph.incoming
        budget = _DETOUR_EDGES + graph.edge_count // 16
        seen, base = graph.marks.take(2 * result.size)
        find_detours(
            taken.sources, taken.targets, budget, min(_DETOUR_EDGES, 16 + budget // result.size),
            out.starts, out.counts, out.payload, into.starts, into.counts, into.payload,
            table.slot_of, rows.words, rows.lists, table.places, table.tops, seen, base, result,
        )  # fmt: skip
        return result

    def _recompute(self, sources: Numbers, new: Numbers) -> ReachChange:
        """Computes again what the nodes `sources` reach, and all that reach them; nodes `new` have no slot yet."""
        graph, table = self._graph, self._table
        order, begins = self._find_components(np.concatenate([sources, new]))
        kinds = np.empty(begins.size - 1, np.uint8)
        made, moved = compare_components(order, begins, table.slot_of, table.sizes, kinds)
        available = table.take(int(made))
        slots = np.empty(kinds.size, np.int32)
        moves = np.empty((int(moved), 3), np.int32)
        retired = np.empty(int(moved), np.int32)
        special = np.zeros(table.capacity, np.bool_)
        gone = assign_slots(
            order, begins, kinds, available, table.slot_of, table.sizes, table.firsts, table.nexts,
            slots, moves, retired, special,
        )  # fmt: skip
        self._retired = retired[:gone]
        self._fit_form()
        table.rank(slots)
        dirty = np.zeros(graph.node_count, np.bool_)
        dirty[sources] = True
        jit.work(kinds.size * (1 + table.capacity // 1024))
        self._changed = self._rows.compute(graph, table, Components(order, begins, kinds, slots, dirty))
        return compare_rows(self._rows, table, self._changed, moves, special)

    def _compute_first(self) -> None:
        """Computes what all nodes reach, where none has a slot yet."""
        graph, table = self._graph, self._table
        if graph.is_unused:
            return
        self._known = graph.node_count
        table.reserve_nodes(self._known)
        order, begins = self._find_components(np.arange(self._known, dtype=np.int32))
        table.begin(begins.size - 1)
        number_slots(order, begins, table.slot_of, table.sizes, table.firsts, table.nexts)
        self._foresee_form(order, begins)
        self._fit_form()
        jit.work(begins.size * (1 + table.capacity // 1024))
        self.count = self._rows.compute_first(graph, table, order, begins)

    def _find_components(self, first: Numbers) -> tuple[Numbers, npt.NDArray[np.int64]]:
        """The components of `first` and of all that reach them: order and begins, see kernels.components."""
        graph = self._graph
        marks = graph.marks.heads
        out = graph.outgoing
        if first.size < graph.node_count:
            into = graph.incoming
            found = np.empty(graph.node_count, np.int32)
            size = int(mark_ancestors(first, into.starts, into.counts, into.payload, marks, found))
            found = found[:size]
        else:
            found = np.arange(graph.node_count, dtype=np.int32)
            marks[: graph.node_count] = UNSEEN
        jit.work(found.size)
        order = np.empty(found.size, np.int32)
        begins = np.empty(found.size + 1, np.int64)
        count = int(strong_components(found, out.starts, out.counts, out.payload, marks, order, begins))
        return order, begins[: count + 1]

    def _foresee_form(self, order: Numbers, begins: Positions) -> None:
        """Chooses bits or lists by how long lists would be, before any are made, or refuses both."""
        bits_bytes = self._bits_bytes()
        if self._forced is not None or bits_bytes <= self._bits_may_take:
            return
        out = self._graph.outgoing
        registers = np.zeros((self._table.capacity, REGISTERS), np.uint8)
        jit.work(self._graph.edge_count)
        slots = np.arange(begins.size - 1, dtype=np.int32)
        numbers = estimate_reach(
            order, begins, slots, out.starts, out.counts, out.payload, self._table.slot_of, registers
        )  # fmt: skip
        if bits_bytes <= self._most_bytes:
            if numbers > self._list_limit():
                self._bits_may_take = self._most_bytes
        elif 4 * numbers > _SURELY * self._most_bytes:
            raise self._refusal()

    def _refusal(self) -> ClosureTooLarge:
        return ClosureTooLarge(_TOO_LARGE.format(megabytes=self._most_bytes >> 20))

    def _fit_form(self) -> None:
        """Turns bits into lists when they would take too much room for so many slots."""
        rows = self._rows
        if self._forced is None and isinstance(rows, BitRows) and self._bits_bytes() > self._bits_may_take:
            self._rows = ListRows.of_bits(self._table, rows.words, self._list_limit())
        if isinstance(self._rows, ListRows):
            self._rows.limit = self._list_limit()

    def _list_limit(self) -> int:
        """How many numbers lists may have: fewer where bits could do instead."""
        size = self._bits_bytes()
        if self._forced is None and size <= self._most_bytes:
            return size // 16
        # Old rows and new ones lie side by side.
        return 2 * self._most_bytes // 4

    def _bits_bytes(self) -> int:
        return self._table.capacity**2 // 8

    def _settle(self) -> None:
        """Lets go of what only the last delta could still read, and of nodes where most have lost all edges."""
        self._version += 1
        if self._changed.size or self._retired.size:
            self._rows.release(self._table, self._changed, self._retired)
            self._table.release(self._retired)
            self._forget_changes()
        if self._graph.node_count > self._reviewed:
            if 2 * self._graph.live_count() < self._graph.node_count:
                edges = self._graph.rows()
                self._graph = Graph()
                self._graph.add(edges)
                self._rebuild()
            self._reviewed = max(_FEW_NODES, 2 * self._graph.node_count)

    def _take_back(self, put: Edges, taken: Edges) -> None:
        """Makes a change that has failed undone."""
        self._graph.marks.clear()
        self._graph.drop(put)
        self._graph.put(taken)
        if not self._graph.edge_count:
            self._graph = Graph()
        if self._bits_bytes() <= self._most_bytes:
            self._bits_may_take = self._most_bytes
        self._rebuild()

    def _rebuild(self) -> None:
        """Computes everything from the edges."""
        self._start_over()
        try:
            self._compute_first()
        except TooLong:
            self._bits_may_take = self._most_bytes
            self._start_over()
            self._compute_first()

    def _start_over(self) -> None:
        self.count = 0
        self._table = SlotTable()
        listed = self._forced is Form.LISTS
        self._rows = ListRows(self._list_limit()) if listed else BitRows()
        self._known = 0
        self._forget_changes()

    def _forget_changes(self) -> None:
        self._retired, self._changed = NO_NUMBERS, _NO_CHANGES

    def _connects(self, sources: Numbers, targets: Numbers) -> Mask:
        rows, table = self._rows, self._table
        result = np.empty(sources.size, np.bool_)
        has_pairs(rows.words, rows.lists, table.places, table.tops, sources, targets, result)
        return result

    def _find_slots(self, rows: Rows, columns: npt.NDArray[np.int64]) -> Numbers:
        """The slots of the nodes in these columns, -1 where there is none."""
        numbers = self._graph.find(np.ascontiguousarray(rows, np.int32), columns)
        slots: Numbers = np.where(numbers >= 0, self._table.slot_of[numbers], -1) if self._known else numbers
        return slots

    def _scratch(self) -> Numbers:
        return np.empty(self._table.capacity, np.int32)

    def _check_version(self, version: int) -> None:
        if version != self._version:
            raise UsageError("the closure has changed since; read pairs and deltas before the next update")
