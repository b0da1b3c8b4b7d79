"""Where the rows of a transitive closure are kept: as bits, or as lists where few of the bits would be set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.facts.graph import NO_NUMBERS, Adjacency, Edges, Graph, Marks
from tidelog.facts.growing import longer
from tidelog.facts.nodes import Numbers
from tidelog.kernels.first_reach import first_reach_in_bits
from tidelog.kernels.reach import (
    bits_to_lists,
    move_lists,
    move_rows,
    reach_in_bits,
    reach_in_lists,
    restore_rows,
)
from tidelog.kernels.ripple import begin_ripple, ripple
from tidelog.kernels.slots import FRESH

Words = npt.NDArray[np.uint64]
Longs = npt.NDArray[np.int64]

NO_WORDS: Words = np.empty((0, 0), np.uint64)
NO_LISTS = NO_NUMBERS

_NO_LONGS: Longs = np.empty(0, np.int64)
_NO_LINE: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
_NO_BITS: Words = np.empty((1, 1), np.uint64)
"""The words of rows of bits where there are none: lists have no words at all."""

_LOG_OF_A_ROW = 32
"""Words of log for each row that there is room for at first; what is never written to takes no memory."""

_SMALLEST = 64
_TAIL = 1 << 10


class TooLong(Exception):
    """The lists would take more room than they may."""


class SlotTable:
    """The slots of components: their members, and where the row of each lies. See kernels.slots, kernels.closure."""

    def __init__(self) -> None:
        self.slot_of = self.nexts = self.sizes = self.firsts = self.tops = self.ranks = self.by_rank = NO_NUMBERS
        self.places = self.weights = _NO_LONGS
        self._ranked = 0
        self._used = 0
        self._free = NO_NUMBERS

    @property
    def capacity(self) -> int:
        """How many slots there is room for."""
        return self.sizes.size

    def reserve_nodes(self, count: int) -> None:
        """Makes room for nodes; a new one has slot -1."""
        before = self.slot_of.size
        if not before:
            self.slot_of, self.nexts = np.empty((2, count), np.int32)
            self.slot_of.fill(-1)
        elif count > before:
            size = max(count, before + before // 2)
            self.slot_of = longer(self.slot_of, size)
            self.slot_of[before:] = -1
            self.nexts = longer(self.nexts, size)

    def take(self, count: int) -> Numbers:
        """Slots that are not in use, in ascending order where possible."""
        reused = self._free[:count]
        fresh = np.arange(self._used, self._used + count - reused.size, dtype=np.int32)
        self._free = self._free[count:]
        self._used += fresh.size
        if self._used > self.capacity:
            self._grow(max(self._used + self._used // 8, self.capacity + self.capacity // 2, _SMALLEST))
        return np.concatenate([reused, fresh])

    def begin(self, count: int) -> None:
        """Takes the first slots of an empty table, in order of rank; who calls it writes sizes and members."""
        size = max(count + count // 8, _SMALLEST)
        self._used = self._ranked = count
        self.sizes, self.tops, self.ranks, self.firsts = np.zeros((4, size), np.int32)
        self.weights, self.places = np.zeros((2, size), np.int64)
        self.firsts.fill(-1)
        self.places.fill(-1)
        self.by_rank = np.arange(2 * count, dtype=np.int32)
        self.ranks[:count] = self.by_rank[:count]

    def release(self, slots: Numbers) -> None:
        """Makes slots free to be taken again."""
        self.tops[slots] = self.sizes[slots] = 0
        self.places[slots] = -1
        self._free = np.concatenate([self._free, slots])

    def rank(self, slots: Numbers) -> None:
        """Gives slots ranks above those of all others, in this order. See kernels.ripple."""
        if self._ranked + slots.size > self.by_rank.size:
            self._close_ranks(slots.size)
        ranks = np.arange(self._ranked, self._ranked + slots.size, dtype=np.int32)
        self.ranks[slots] = ranks
        self.by_rank[self._ranked : self._ranked + slots.size] = slots
        self._ranked += slots.size

    def _close_ranks(self, more: int) -> None:
        """Makes room for more ranks, and no gaps between the others."""
        slots = self.by_rank[: self._ranked]
        live = slots[(self.ranks[slots] == np.arange(self._ranked)) & (self.firsts[slots] >= 0)]
        self._ranked = live.size
        self.ranks[live] = np.arange(live.size)
        self.by_rank = longer(live, 2 * (live.size + more))

    def _grow(self, size: int) -> None:
        before = self.capacity
        self.ranks = longer(self.ranks, size)
        self.sizes, self.firsts, self.tops = (longer(array, size) for array in (self.sizes, self.firsts, self.tops))
        self.firsts[before:] = -1
        self.places = np.concatenate([self.places, np.full(size - before, -1, np.int64)])
        self.weights = np.concatenate([self.weights, np.zeros(size - before, np.int64)])


@dataclass(frozen=True, slots=True)
class Components:
    """Components in Tarjan's order, with kinds (see kernels.slots) and slots; `dirty` nodes have changed edges."""

    order: Numbers
    begins: Longs
    kinds: npt.NDArray[np.uint8]
    slots: Numbers
    dirty: npt.NDArray[np.bool_]


class ReachRows(Protocol):
    """Rows in one form; `words` or `lists` is empty. See kernels.closure."""

    words: Words
    lists: Numbers
    wide: npt.NDArray[np.uint64]

    def compute(self, graph: Graph, table: SlotTable, components: Components) -> Longs:
        """Computes rows where needed; returns the changed ones, see kernels.reach."""
        ...

    def compute_first(self, graph: Graph, table: SlotTable, order: Numbers, begins: Longs) -> int:
        """Computes all rows where there are none yet: component k of Tarjan's order has slot k. How many pairs of nodes
        they stand for."""
        ...

    def old_rows(self, table: SlotTable, changed: Longs, old: Longs) -> tuple[Words, Numbers, Longs]:
        """Where the old rows of `changed` are, and those of the slots `old`, which may be -1: words, lists, places."""
        ...

    def release(self, table: SlotTable, changed: Longs, retired: Numbers) -> None:
        """Lets go of the old rows of `changed` and of those of slots that retire."""
        ...


class BitRows:
    """Rows of bits, all of the same room. What is never written to takes no memory."""

    def __init__(self) -> None:
        self.words = _NO_BITS
        self.lists = NO_LISTS
        self.wide = self._log = _NO_LINE
        self._spare = _NO_LONGS

    def compute(self, graph: Graph, table: SlotTable, components: Components) -> Longs:
        bare = components.slots[table.places[components.slots] < 0]
        self._reserve(table, bare.size)
        self._mark_wide(bare, table.sizes)
        changed = np.empty((components.slots.size, 7), np.int64)
        row = np.empty(self.words.shape[1], np.uint64)
        spared = self._spare.size
        reached = logged = found = 0
        while True:
            reached, spared, logged, found = reach_in_bits(
                reached, components.order, components.begins, components.kinds, components.slots, components.dirty,
                table.slot_of, table.sizes, self.wide,
                *_blocks(graph.outgoing), graph.outgoing.covers, *_blocks(graph.incoming),
                table.places, table.tops, table.weights, self.words, self._spare, spared,
                row, self._log, logged, changed, found,
            )  # fmt: skip
            if reached == components.slots.size:
                self._spare = self._spare[:spared]
                return changed[:found]
            self._lengthen_log()

    def compute_first(self, graph: Graph, table: SlotTable, order: Numbers, begins: Longs) -> int:
        self._reserve(table, begins.size - 1)
        found, pairs = first_reach_in_bits(
            order, begins, table.slot_of, table.sizes, self.wide, *_blocks(graph.outgoing), graph.outgoing.covers,
            table.places, table.tops, table.weights, self.words,
        )  # fmt: skip
        self._spare = self._spare[: self._spare.size - found]
        return int(pairs)

    def ripple(self, graph: Graph, table: SlotTable, put: Edges, taken: Edges) -> Longs:
        """Computes rows that the edges matter to, which leave all components as they are; returns the changed ones."""
        sources = table.slot_of[np.concatenate([put.sources, taken.sources])]
        ends = table.slot_of[np.concatenate([put.targets, taken.targets])]
        dirty = np.zeros((table.by_rank.size + 63) // 64, np.uint64)
        heads = np.zeros(table.capacity, np.int32)
        chain = np.empty(sources.size, np.int32)
        begin_ripple(sources, table.ranks, heads, chain, dirty)
        stride = self.words.shape[1]
        room = (
            np.empty(graph.edge_count + graph.node_count, np.int32),
            np.empty(stride, np.uint64), np.zeros((table.capacity, 3), np.int64),
        )  # fmt: skip
        changed = np.empty((table.capacity, 7), np.int64)
        spared = self._spare.size
        reached = logged = found = 0
        while True:
            reached, spared, logged, found = ripple(
                reached, dirty, table.by_rank, table.ranks, heads, chain, ends, put.sources.size,
                table.slot_of, table.firsts, table.nexts, table.sizes, self.wide,
                *_blocks(graph.outgoing), graph.outgoing.covers, *_blocks(graph.incoming),
                table.places, table.tops, table.weights, self.words, self._spare, spared,
                *room, self._log, logged, changed, found,
            )  # fmt: skip
            if reached == dirty.size:
                self._spare = self._spare[:spared]
                return changed[:found]
            self._lengthen_log()

    def _mark_wide(self, slots: Numbers, sizes: Numbers) -> None:
        """Sets the bit of each of `slots` that has more than one member, and clears the others."""
        bits = np.left_shift(np.uint64(1), (slots & 63).astype(np.uint64))
        places = slots >> 6
        different = np.flatnonzero(((self.wide[places] & bits) != 0) != (sizes[slots] > 1))
        np.bitwise_xor.at(self.wide, places[different], bits[different])

    def _lengthen_log(self) -> None:
        more = max(self._log.size, _LOG_OF_A_ROW * self.words.shape[0]) + 2 * self.words.shape[1]
        log = np.empty(self._log.size + more, np.uint64)
        log[: self._log.size] = self._log
        self._log = log

    def old_rows(self, table: SlotTable, changed: Longs, old: Longs) -> tuple[Words, Numbers, Longs]:
        words = np.empty((max(1, changed.shape[0] + old.size), self.words.shape[1]), np.uint64)
        restore_rows(changed, table.places, table.tops, self.words, self._log, words)
        moved = np.flatnonzero(old >= 0)
        words[changed.shape[0] + moved] = self.words[table.places[old[moved]]]
        return words, NO_LISTS, np.arange(changed.shape[0] + old.size)

    def release(self, table: SlotTable, changed: Longs, retired: Numbers) -> None:  # noqa: ARG002
        places = table.places[retired]
        self._spare = np.concatenate([self._spare, places[places >= 0]])

    def _reserve(self, table: SlotTable, spare: int) -> None:
        """Makes rows wide enough for all slots, and `spare` places free."""
        stride = (table.capacity + 63) // 64
        if stride <= self.wide.size and table.capacity <= self.words.shape[0] and spare <= self._spare.size:
            return
        used = int(np.count_nonzero(table.tops))
        words = np.empty((max(1, used + spare, table.capacity), max(1, stride)), np.uint64)
        filled = move_rows(table.places, table.tops, self.words, words) if used else 0
        self._spare = np.arange(words.shape[0] - 1, filled - 1, -1)
        self.words = words
        wide = np.zeros(words.shape[1], np.uint64)
        wide[: self.wide.size] = self.wide
        self.wide = wide


class ListRows:
    """Rows as ascending lists in one array; changed lists are appended, and now and then all are moved together."""

    def __init__(self, limit: int) -> None:
        self.words = NO_WORDS
        self.lists: Numbers = np.empty(_TAIL, np.int32)
        self.wide: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)
        self.limit = limit
        self._tail = 0
        self._dead = 0
        self._marks = Marks()

    @classmethod
    def of_bits(cls, table: SlotTable, words: Words, limit: int) -> ListRows:
        """The same rows, as lists; raises TooLong if they have more than `limit` numbers."""
        rows = cls(limit)
        length = int(bits_to_lists(table.places, table.tops, words, NO_LISTS))
        if length > limit:
            raise TooLong
        rows.lists = np.empty(length + _TAIL, np.int32)
        rows._tail = int(bits_to_lists(table.places, table.tops, words, rows.lists))
        return rows

    def compute(self, graph: Graph, table: SlotTable, components: Components) -> Longs:
        changed = np.empty((components.slots.size, 7), np.int64)
        self._marks.reserve(table.capacity)
        stamps, base = self._marks.take(components.slots.size)
        reached = found = 0
        while True:
            reached, self._tail, found = reach_in_lists(
                reached, components.order, components.begins, components.kinds, components.slots, components.dirty,
                table.slot_of, table.sizes, *_blocks(graph.outgoing), *_blocks(graph.incoming),
                table.places, table.tops, table.weights, self.lists, self._tail, stamps, base, changed, found,
            )  # fmt: skip
            if reached == components.slots.size:
                return changed[:found]
            self._make_room()

    def compute_first(self, graph: Graph, table: SlotTable, order: Numbers, begins: Longs) -> int:
        slots = np.arange(begins.size - 1, dtype=np.int32)
        kinds = np.full(slots.size, FRESH, np.uint8)
        dirty = np.zeros(graph.node_count, np.bool_)
        self.compute(graph, table, Components(order, begins, kinds, slots, dirty))
        return int(table.sizes @ table.weights)

    def old_rows(self, table: SlotTable, changed: Longs, old: Longs) -> tuple[Words, Numbers, Longs]:
        return self.words, self.lists, np.concatenate([changed[:, 1], np.where(old >= 0, table.places[old], 0)])

    def release(self, table: SlotTable, changed: Longs, retired: Numbers) -> None:
        self._dead += int(changed[:, 2].sum()) + int(table.tops[retired].sum())
        table.tops[retired] = 0
        if 2 * self._dead > self._tail + _TAIL:
            live = self._tail - self._dead
            lists = np.empty(live + live // 2 + _TAIL, np.int32)
            self._tail = int(move_lists(table.places, table.tops, self.lists, lists))
            self.lists, self._dead = lists, 0

    def _make_room(self) -> None:
        if self.lists.size >= self.limit:
            raise TooLong
        lists = np.empty(min(self.limit, 2 * self.lists.size + _TAIL), np.int32)
        lists[: self._tail] = self.lists[: self._tail]
        self.lists = lists


def _blocks(adjacency: Adjacency) -> tuple[Numbers, Numbers, Numbers]:
    return adjacency.starts, adjacency.counts, adjacency.payload
