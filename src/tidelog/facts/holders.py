"""Who reaches a component: columns of a transitive closure, whose rows say only what each component reaches."""

from __future__ import annotations

import numpy as np

from tidelog.facts.closure import Positions, begins_of
from tidelog.facts.graph import Graph
from tidelog.facts.membership import Rows
from tidelog.facts.nodes import Numbers
from tidelog.facts.reach_rows import ReachRows, SlotTable
from tidelog.kernels import jit
from tidelog.kernels.closure import count_holders, fill_holders, search_holders

_NO_PAYLOAD: Rows = np.empty((0, 1), np.int32)


def find_holders(rows: ReachRows, table: SlotTable, graph: Graph, slots: Numbers) -> tuple[Positions, Rows]:
    """How many nodes reach each of `slots`, and their ids: read off rows of bits, else searched along the edges."""
    lengths = measure_holders(rows, table, graph, slots)
    begins = begins_of(lengths)
    payload = np.empty((int(begins[-1]), 1), np.int32)
    if rows.words.size:
        fill_holders(
            rows.words, table.places, table.tops, slots, begins, table.firsts, table.nexts, graph.nodes, payload
        )  # fmt: skip
    else:
        _search(graph, table.firsts[slots], begins, lengths, payload)
    return lengths, payload


def measure_holders(rows: ReachRows, table: SlotTable, graph: Graph, slots: Numbers) -> Positions:
    """How many nodes reach each of `slots`."""
    lengths = np.empty(slots.size, np.int64)
    if rows.words.size:
        jit.work(slots.size * (1 + table.capacity // 1024))
        count_holders(rows.words, table.places, table.tops, table.sizes, table.firsts, slots, lengths)
    else:
        _search(graph, table.firsts[slots], lengths, lengths, _NO_PAYLOAD)
    return lengths


def _search(graph: Graph, nodes: Numbers, begins: Positions, lengths: Positions, payload: Rows) -> None:
    into = graph.incoming
    search_holders(nodes, into.starts, into.counts, into.payload, graph.nodes, begins, lengths, payload)
