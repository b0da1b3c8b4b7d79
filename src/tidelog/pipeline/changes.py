"""What has changed, as rows to insert and rows to retract: from an operation column, a feed or two snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StringType

from tidelog.connectors.change_files import INSERT, RETRACT
from tidelog.connectors.conform import conform
from tidelog.connectors.python_rows import nullary
from tidelog.facts.change import Change, net_change
from tidelog.pipeline.config import ChangeKind, ChangeSource
from tidelog.pipeline.feeds import feed_options
from tidelog.pipeline.flow import Flow
from tidelog.pipeline.judge import PROBLEM, RAW, quoted
from tidelog.pipeline.sources import judged_source, load_stream, read_source
from tidelog.schema import Schema

RELATION, OPERATION, ORDER = "~relation", "~operation", "~order"
FEED_OPERATION, FEED_VERSION = "_change_type", "_commit_version"
FEED_INSERTS = ("insert", "update_postimage")
FEED_RETRACTS = ("delete", "update_preimage")


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be taken, and why."""

    relation: str
    problem: str
    row: str


@dataclass(frozen=True, slots=True)
class ReadChange:
    """A batch of changes: the part that can be taken, and the rows that cannot."""

    change: Change
    bad: list[BadRow] = field(default_factory=list)


def snapshot_frames(
    spark: SparkSession, flow: Flow, changes: Mapping[str, ChangeSource]
) -> tuple[dict[str, DataFrame], dict[str, DataFrame]]:
    """The rows that each snapshot has more and less than the one before, or than the facts of the flow."""
    inserted, retracted = {}, {}
    for relation, change in changes.items():
        schema = flow.schemas[relation]
        now = read_source(spark, change.source, schema)
        before = flow.given(relation)
        if change.before:
            before = read_source(spark, replace(change.source, path=change.before), schema)
        inserted[relation] = now.subtract(before)
        retracted[relation] = before.subtract(now)
    return inserted, retracted


def change_stream(
    spark: SparkSession,
    changes: Mapping[str, ChangeSource],
    schemas: Mapping[str, Schema],
    files: int,
    batches: Mapping[str, int],
) -> DataFrame:
    """All changes as one stream, each row judged; the row itself is in a struct that is named as its relation.

    `batches` are those of the state: they say from where on a feed has what it does not know yet.
    """
    streams = [_judged_stream(spark, changes[name], schemas[name], files, batches) for name in changes]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), streams)


def read_batch(rows: pa.Table, schemas: Mapping[str, Schema]) -> ReadChange:
    """The change that the rows of one batch of `change_stream` ask for."""
    inserted: dict[str, pa.Table] = {}
    retracted: dict[str, pa.Table] = {}
    bad: list[BadRow] = []
    for relation in map(str, pc.unique(rows.column(RELATION)).to_pylist()):
        schema = schemas[relation]
        own = rows.filter(pc.equal(rows.column(RELATION), pa.scalar(relation)))
        is_bad = pc.is_valid(own.column(PROBLEM))
        bad += [BadRow(relation, row[PROBLEM], row[RAW]) for row in own.filter(is_bad).to_pylist()]
        fit = own.filter(pc.invert(is_bad))
        plus = _last_operation(fit, relation) if pc.max(fit.column(ORDER)).as_py() else fit
        for operation, found in (("+", inserted), ("-", retracted)):
            chosen = plus.filter(pc.equal(plus.column(OPERATION), pa.scalar(operation)))
            if chosen.num_rows:
                found[relation] = _columns_of(chosen, schema)
    return ReadChange(net_change(Change(inserted, retracted)), bad)


def _judged_stream(
    spark: SparkSession, change: ChangeSource, schema: Schema, files: int, batches: Mapping[str, int]
) -> DataFrame:
    """The changes of one relation."""
    source, extra = change.source, [change.operation]
    inserts: tuple[str, ...] = INSERT
    retracts: tuple[str, ...] = RETRACT
    if change.kind is ChangeKind.FEED:
        source = replace(source, options=feed_options(source, batches))
        extra, inserts, retracts = [FEED_OPERATION, FEED_VERSION], FEED_INSERTS, FEED_RETRACTS
    rows = judged_source(load_stream(spark, source, schema, files, extra), source, schema, extra)
    asked = f.col(quoted(extra[0])).cast(StringType())
    operation = f.lower(f.trim(asked))
    sign = f.when(operation.isin(*inserts), "+").when(operation.isin(*retracts), "-")
    order = f.col(FEED_VERSION).cast(LongType()) + 1 if change.kind is ChangeKind.FEED else f.lit(0).cast(LongType())
    expected = f"expected an operation ({', '.join((*inserts, *retracts))}) in '{extra[0]}', found "
    wrong = f.concat(f.lit(expected), f.coalesce(f.concat(f.lit("'"), asked, f.lit("'")), f.lit("NULL")))
    problem = f.coalesce(f.when(sign.isNull(), wrong), f.col(quoted(PROBLEM)))
    own = f.struct(*(f.col(quoted(name)) for name in schema.names)) if schema.arity else f.struct(f.lit(1).alias("_"))
    return rows.select(
        f.lit(schema.relation).alias(RELATION),
        sign.alias(OPERATION),
        order.alias(ORDER),
        problem.alias(PROBLEM),
        f.when(problem.isNotNull(), f.col(quoted(RAW))).alias(RAW),
        own.alias(schema.relation),
    )


def _last_operation(rows: pa.Table, relation: str) -> pa.Table:
    """For each row of the relation only what was done to it last; an insert wins within one commit."""
    flat = _flat(rows, relation)
    names = flat.column_names
    rank = pc.add(
        pc.multiply(rows.column(ORDER), 2), pc.cast(pc.equal(rows.column(OPERATION), pa.scalar("+")), pa.int64())
    )
    grouped = flat.append_column("_rank", rank).group_by(names, use_threads=False).aggregate([("_rank", "max")])
    last = grouped.column("_rank_max")
    operations = pc.if_else(pc.equal(pc.bit_wise_and(last, pa.scalar(1)), pa.scalar(1)), pa.scalar("+"), pa.scalar("-"))
    own = pa.StructArray.from_arrays([grouped.column(name).combine_chunks() for name in names], names=names)
    return pa.table({relation: own, OPERATION: operations})


def _columns_of(rows: pa.Table, schema: Schema) -> pa.Table:
    if not schema.arity:
        return nullary(1)
    return conform(_flat(rows, schema.relation), schema)


def _flat(rows: pa.Table, relation: str) -> pa.Table:
    """The columns of the struct of a relation."""
    fields = [
        rows.schema.field(relation).type.field(at).name for at in range(rows.schema.field(relation).type.num_fields)
    ]
    own = rows.column(relation)
    return pa.table([pc.struct_field(own, [at]) for at in range(len(fields))], names=fields)
