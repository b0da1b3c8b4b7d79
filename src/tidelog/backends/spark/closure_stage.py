"""A transitive closure inside an Arrow stage: the edges of a partition in, what its own sources reach out.

Own sources are shared out by hash, so a partition that has all edges gives only its part of the closure; where edges
are shared out by group, a partition has all edges of its groups and gives all that follows from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.analysis.checked import ClosureGroup
from tidelog.backends.spark.engine_stage import ROWS_SENT, numbered
from tidelog.backends.spark.partitions import Partitioner
from tidelog.backends.spark.tagged_rows import Layout, plain_batches
from tidelog.errors import LimitError
from tidelog.facts.closure import begins_of
from tidelog.facts.columns import arrow_schema, values_of
from tidelog.facts.graph import Graph
from tidelog.facts.membership import Rows, RowSet
from tidelog.facts.transitive import TransitiveClosure
from tidelog.facts.values import Values
from tidelog.kernels import jit
from tidelog.kernels.closure import search_holders
from tidelog.schema import Kind, Schema

MOST_BYTES = 1 << 28
"""What the closure of a partition's graph may take in memory; sources of larger ones are searched from one by one."""

_SOURCES = 64

EDGES = "edges"
"""The tag of the rows of such a stage."""


@dataclass(frozen=True, slots=True)
class ClosureScript:
    """Which columns are closed; `is_by_source` where partitions have all edges and give what their sources reach."""

    closure: ClosureGroup
    schema: Schema
    layout: Layout
    partitioner: Partitioner
    is_by_source: bool
    most_bytes: int = MOST_BYTES


def close_partition(script: ClosureScript, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All that the own sources of a partition reach by its edges."""
    number, batches = numbered(batches)
    tables = script.layout.tables(batches)
    if EDGES not in tables:
        return
    edges = PartitionEdges(script.closure, script.schema, script.partitioner, tables.pop(EDGES))
    keys = edges.sources()
    if script.is_by_source:
        keys = np.ascontiguousarray(keys[edges.partitions()[keys[:, 1]] == number])
    reach = _follow(edges.triples, script.most_bytes)
    for sources, lengths, targets in reach.pieces(keys):
        rows = np.repeat(sources, lengths, axis=0)
        yield from plain_batches(script.schema, edges.decoded(rows, targets))


class PartitionEdges:
    """The edges of a partition as (group, source, target), with the values behind the numbers."""

    def __init__(self, closure: ClosureGroup, schema: Schema, partitioner: Partitioner, table: pa.Table) -> None:
        self._closure, self._schema, self._partitioner = closure, schema, partitioner
        self.values = Values()
        kinds = schema.kinds
        self.kind = kinds[closure.source]
        self._group = np.array(closure.group, np.int64)
        self._groups = RowSet(max(1, self._group.size))
        ids = self.values.encode_rows(kinds, table.columns, table.num_rows)
        jit.work(ids.shape[0])
        groups = self._groups.number(ids, self._group) if self._group.size else np.zeros(ids.shape[0], np.int32)
        self.triples: Rows = np.column_stack([groups, ids[:, closure.source], ids[:, closure.target]])

    def sources(self) -> Rows:
        """The sources (group, node), each once."""
        words = self.triples[:, 0].astype(np.int64) << 32 | self.triples[:, 1]
        different = np.unique(words)
        return np.column_stack([different >> 32, different & 0xFFFFFFFF]).astype(np.int32)

    def decoded(self, sources: Rows, targets: Rows) -> pa.Table:
        """The rows of the closure for pairs of a source (group, node) and a target."""
        closure, schema = self._closure, self._schema
        ids = np.empty((sources.shape[0], schema.arity), np.int32)
        ids[:, closure.source], ids[:, closure.target] = sources[:, 1], targets
        if self._group.size:
            ids[:, self._group] = self._groups.rows[sources[:, 0]]
        columns = [
            self.values.decode(kind, np.ascontiguousarray(ids[:, column])) for column, kind in enumerate(schema.kinds)
        ]
        return pa.Table.from_arrays(columns, schema=arrow_schema(schema))

    def partitions(self) -> npt.NDArray[np.int32]:
        """The partition of each node by its id."""
        all_ids = np.arange(self.values.size(self.kind), dtype=np.int32)
        if self.kind is Kind.SYMBOL:
            texts = values_of(self.values.decode(self.kind, all_ids))
            return self._partitioner.of_texts(texts)  # type: ignore[arg-type]
        return self._partitioner.of_numbers(self.kind, self.values.numbers(self.kind, all_ids))


Piece = tuple[Rows, npt.NDArray[np.int64], Rows]
"""Some sources, how many nodes each reaches, and those nodes, one source after the other."""


class KnownReach:
    """What nodes reach, from a closure that is in memory."""

    def __init__(self, closure: TransitiveClosure) -> None:
        self._closure = closure

    def pieces(self, keys: Rows) -> Iterator[Piece]:
        at, step = 0, _SOURCES
        while at < keys.shape[0]:
            part = keys[at : at + step]
            begins, lengths, payload = self._closure.successors(part)
            total = int(lengths.sum())
            # Nodes that reach each other share a range.
            places = np.arange(total) + np.repeat(begins - begins_of(lengths)[:-1], lengths)
            yield part, lengths, payload[places, 0]
            at += step
            step = int(np.clip(ROWS_SENT * step // max(1, total), 1, 1 << 16))


class SearchedReach:
    """What nodes reach, found by a search from each along the edges."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def pieces(self, keys: Rows) -> Iterator[Piece]:
        graph, out = self._graph, self._graph.outgoing
        numbers = graph.find(keys, np.array([0, 1]))
        for at in range(0, keys.shape[0], _SOURCES):
            asked = numbers[at : at + _SOURCES]
            lengths = np.empty(asked.size, np.int64)
            begins = np.zeros(asked.size + 1, np.int64)
            where = (asked, out.starts, out.counts, out.payload, graph.nodes)
            jit.work(graph.edge_count)
            search_holders(*where, begins, lengths, np.empty((0, 1), np.int32))
            begins = begins_of(lengths)
            found = np.empty((int(begins[-1]), 1), np.int32)
            if found.shape[0]:
                search_holders(*where, begins, lengths, found)
                yield keys[at : at + _SOURCES], lengths, found[:, 0]


def _follow(edges: Rows, most_bytes: int) -> KnownReach | SearchedReach:
    closure = TransitiveClosure(most_bytes=most_bytes)
    try:
        closure.update(edges, edges[:0])
    except LimitError:
        graph = Graph()
        graph.add(np.ascontiguousarray(edges, np.int32))
        return SearchedReach(graph)
    return KnownReach(closure)
