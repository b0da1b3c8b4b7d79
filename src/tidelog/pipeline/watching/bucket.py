"""One bucket: takes tuples that come and go, returns the rows of heads that appear and vanish with all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.activation.protocol import Matches
from tidelog.activation.watcher import Watcher
from tidelog.backends.spark.layout import public_table, stored_table
from tidelog.facts.columns import arrow_schema, column_of
from tidelog.pipeline.watching.script import Script
from tidelog.schema import Schema

SIGN = "~sign"
"""The column behind those of a head: 1 where a row appears, -1 where it vanishes. No attribute has such a name."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tuples of one relation that come (`sign` 1) or go (-1), as bytes."""

    relation: str
    sign: int
    rows: bytes

    def table(self, schemas: Mapping[str, Schema]) -> pa.Table:
        return public_table(pa.ipc.open_stream(self.rows).read_all(), schemas[self.relation])


def chunk_of(schema: Schema, sign: int, rows: pa.Table) -> Chunk:
    """`rows` of a relation as a chunk."""
    return Chunk(schema.relation, sign, to_bytes(stored_table(rows, schema)))


def to_bytes(rows: pa.Table) -> bytes:
    """A table as Arrow writes it to a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()


class Bucket:
    """The index over the tuples of one bucket."""

    def __init__(self, script: Script, number: int) -> None:
        self._script = script
        self._number = number
        self._watcher = Watcher()
        for relation in script.bucketing.relations:
            self._watcher.add_relation(script.schemas[relation])
        for head, rules in script.watches.items():
            self._watcher.add_watch(rules, script.schemas[head].kinds)

    def take(self, chunks: Sequence[Chunk]) -> Iterator[tuple[str, pa.Table]]:
        """The rows of each head that appear and vanish with all the tuples of `chunks`: what goes comes first."""
        found = []
        for chunk in sorted(chunks, key=lambda each: each.sign):
            rows = chunk.table(self._script.schemas)
            found.append(self._watcher.apply(self._watcher.arrivals(chunk.relation, rows, chunk.sign)))
        for watch, head in enumerate(self._script.watches):
            rows = self._script.own(self._number, head, self._net(watch, self._script.schemas[head], found))
            if rows.num_rows:
                yield head, rows

    def _net(self, watch: int, schema: Schema, found: Sequence[Matches]) -> pa.Table:
        """The rows of one head, without those that both appear and vanish, and their signs."""
        of_watch = [each.rules == watch for each in found]
        parts = [each.heads[here, : schema.arity] for each, here in zip(found, of_watch, strict=True)]
        heads = np.concatenate([np.zeros((0, schema.arity), np.int64), *parts])
        signs = np.concatenate(
            [np.zeros(0, np.int64), *(each.signs[here] for each, here in zip(found, of_watch, strict=True))]
        )
        heads, signs = _summed(heads, signs)
        rows = self._watcher.codes.rows(heads, schema.kinds)
        columns = [column_of(kind, [row[at] for row in rows]) for at, kind in enumerate(schema.kinds)]
        fields = [*arrow_schema(schema), pa.field(SIGN, pa.int64())]
        return pa.Table.from_arrays([*columns, pa.array(signs, pa.int64())], schema=pa.schema(fields))


def facts_left(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The tuples that are there after `chunks`, one after the other, as one chunk for each relation."""
    left = []
    for relation in dict.fromkeys(chunk.relation for chunk in chunks):
        tables = [
            _signed(pa.ipc.open_stream(chunk.rows).read_all(), chunk.sign)
            for chunk in chunks
            if chunk.relation == relation
        ]
        together = pa.concat_tables(tables)
        names = [name for name in together.column_names if name != SIGN]
        last = together.group_by(names, use_threads=False).aggregate([(SIGN, "last")])
        there = last.filter(pc.equal(last.column(f"{SIGN}_last"), pa.scalar(1, pa.int8()))).select(names)
        if there.num_rows:
            left.append(Chunk(relation, 1, to_bytes(there.combine_chunks())))
    return left


def _signed(rows: pa.Table, sign: int) -> pa.Table:
    return rows.append_column(SIGN, pa.array(np.full(rows.num_rows, sign, np.int8)))


def _summed(
    heads: npt.NDArray[np.int64], signs: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Each row once with the sum of its signs, without those that have none left."""
    if not heads.shape[1]:
        total = np.array([signs.sum()]) if signs.size else signs
        return np.zeros((int(np.count_nonzero(total)), 0), np.int64), total[total != 0]
    rows, places = np.unique(heads, axis=0, return_inverse=True)
    sums = np.zeros(len(rows), np.int64)
    np.add.at(sums, places.reshape(-1), signs)
    return rows[sums != 0], sums[sums != 0]
