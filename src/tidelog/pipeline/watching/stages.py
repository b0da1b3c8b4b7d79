"""The plan of a watch on Spark: changes as one stream in, rows of heads that appear and vanish out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from tidelog.backends.spark.layout import CARRIED, spark_schema, to_carried
from tidelog.connectors.conform import conform
from tidelog.pipeline import sinks
from tidelog.pipeline.changes import BadRow, read_batch
from tidelog.pipeline.sinks import APPEARED, VANISHED
from tidelog.pipeline.watching.bucket import SIGN, Chunk, chunk_of
from tidelog.pipeline.watching.processor import ARRIVING, BAD, FOUND, BucketProcessor
from tidelog.pipeline.watching.script import Script
from tidelog.schema import Schema

RELATION, CHANGE, PROBLEM = "~relation", "~change", "~problem"
"""Columns of what is found; no relation and no attribute has such a name."""


def found_stream(changes: DataFrame, there: Mapping[str, DataFrame], script: Script, stream: str) -> DataFrame:
    """What appears and vanishes with each batch of `changes`, which come from `change_stream`.

    Rows have the name of the head in RELATION, what became of it in CHANGE, and itself in a struct, see `rows_of_head`;
    or, where a row of the changes cannot be taken, what is wrong with it in PROBLEM. `there` are tuples of before the
    first batch: what they complete among themselves does not appear.
    """
    arriving = changes.mapInArrow(partial(_shared_out, script), ARRIVING)
    parts = [frame.mapInArrow(partial(_there, script, name), ARRIVING) for name, frame in there.items()]
    initial = reduce(DataFrame.unionAll, parts).groupBy("bucket") if parts else None
    found = arriving.groupBy("bucket").transformWithState(
        BucketProcessor(script, stream), FOUND, "Append", "None", initialState=initial
    )
    return found.mapInArrow(partial(_spread, script), _found_schema(script))


def rows_of_head(found: DataFrame, head: str, script: Script) -> DataFrame:
    """The rows of a head that appear and vanish, with a column that says which."""
    own = [f.col(f"{_struct_of(head, script)}.`{name}`") for name in script.schemas[head].names]
    return found.where(f.col(f"`{RELATION}`") == head).select(*own, f.col(f"`{CHANGE}`").alias(sinks.CHANGE))


def _struct_of(head: str, script: Script) -> str:
    """The column for rows of a head. It is a number: Spark does not tell upper from lower case in names."""
    return f"head{list(script.watches).index(head)}"


def _found_schema(script: Script) -> StructType:
    texts = [StructField(name, StringType()) for name in (RELATION, CHANGE, PROBLEM)]
    heads = [StructField(_struct_of(head, script), _own(script.schemas[head])) for head in script.watches]
    return StructType([*texts, *heads])


def _own(schema: Schema) -> StructType:
    """The columns of a head; one without columns has one that is always NULL."""
    return spark_schema(schema) if schema.arity else StructType([StructField("_", StringType())])


def _shared_out(script: Script, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        read = read_batch(pa.Table.from_batches([batch]), script.schemas)
        bad = [Chunk(row.relation, BAD, json.dumps(asdict(row)).encode()) for row in read.bad]
        yield _arriving([(0, chunk) for chunk in bad])
        for sign, tables in ((-1, read.change.retracted), (1, read.change.inserted)):
            for relation, rows in tables.items():
                yield _arriving(_chunks(script, relation, sign, rows))


def _there(script: Script, relation: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = conform(pa.Table.from_batches([batch]), script.schemas[relation])
        yield _arriving(_chunks(script, relation, 1, rows))


def _chunks(script: Script, relation: str, sign: int, rows: pa.Table) -> list[tuple[int, Chunk]]:
    schema = script.schemas[relation]
    return [(bucket, chunk_of(schema, sign, some)) for bucket, some in script.shares(relation, rows)]


def _arriving(chunks: list[tuple[int, Chunk]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "bucket": pa.array([bucket for bucket, _ in chunks], pa.int32()),
            "relation": pa.array([chunk.relation for _, chunk in chunks], pa.string()),
            "sign": pa.array([chunk.sign for _, chunk in chunks], pa.int32()),
            "rows": pa.array([chunk.rows for _, chunk in chunks], pa.binary()),
        }
    )


def _spread(script: Script, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            if row["sign"] == BAD:
                yield _columns(script, 1, {PROBLEM: pa.array([row["rows"].decode()])})
                continue
            head = row["relation"]
            rows = pa.ipc.open_stream(row["rows"]).read_all()
            signs: list[int] = rows.column(SIGN).to_pylist()  # type: ignore[assignment]
            yield _columns(
                script,
                len(signs),
                {
                    RELATION: pa.array([str(head)] * len(signs), pa.string()),
                    CHANGE: pa.array([APPEARED if sign > 0 else VANISHED for sign in signs], pa.string()),
                    _struct_of(head, script): _struct(script.schemas[head], rows),
                },
            )


def _columns(script: Script, count: int, given: Mapping[str, Any]) -> pa.RecordBatch:
    """The columns of `found_stream`, NULL where nothing is given."""
    types: dict[str, Any] = {
        **{name: pa.string() for name in (RELATION, CHANGE, PROBLEM)},
        **{_struct_of(head, script): _struct_type(script.schemas[head]) for head in script.watches},
    }
    columns = [given[name] if name in given else pa.nulls(count, kind) for name, kind in types.items()]
    return pa.RecordBatch.from_arrays(columns, names=list(types))


def _struct(schema: Schema, rows: pa.Table) -> pa.StructArray:
    if not schema.arity:
        return pa.StructArray.from_arrays([pa.nulls(rows.num_rows, pa.string())], names=["_"])
    carried = to_carried(rows.select(list(schema.names)), schema.kinds)
    columns = [column.combine_chunks() for column in carried.columns]
    return pa.StructArray.from_arrays(columns, fields=list(_struct_type(schema)))


def _struct_type(schema: Schema) -> pa.StructType:
    if not schema.arity:
        return pa.struct([("_", pa.string())])
    fields = zip(schema.names, schema.kinds, strict=True)
    return pa.struct([pa.field(name, CARRIED[kind], nullable=False) for name, kind in fields])


def bad_row(problem: str) -> BadRow:
    """A row that cannot be taken, from what `problem` says of it."""
    return BadRow(**json.loads(problem))
