"""Connected components of a graph that may be too big for one task: (node, representative) for each node.

A node belongs to the partition of its value, and an edge goes to the partitions of both its ends. In a round each
partition joins what its edges connect and says for every node the least one it is connected with, as an edge between
the two. That makes paths a few times shorter in every round, and when nobody has a new edge to say, each component is a
star around its least node: at the partition of a node that had two such neighbours they would have been joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.analysis.checked import ClosureGroup
from tidelog.backends.spark.closure_stage import EDGES, PartitionEdges
from tidelog.backends.spark.engine_stage import ROWS_SENT, numbered
from tidelog.backends.spark.layout import column_names
from tidelog.backends.spark.packed_rows import PACKED, answers, has_packed, packed, packed_marker, unpacked
from tidelog.backends.spark.partitions import Partitioner
from tidelog.backends.spark.reduction_closure import by_columns
from tidelog.backends.spark.reduction_protocol import Settings, delivered, own_errors
from tidelog.backends.spark.tagged_rows import TAG, TO, Layout, union_all
from tidelog.errors import LimitError
from tidelog.facts.columns import values_of
from tidelog.schema import Kind, Schema

NEWS = "news"
"""The tag of an edge that nobody had before."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ComponentScript:
    """Which columns are closed; `is_whole` where each component lies in one partition from the start."""

    closure: ClosureGroup
    schema: Schema
    layout: Layout
    partitioner: Partitioner
    is_whole: bool


def find_components(
    spark: SparkSession,
    closure: ClosureGroup,
    edges: DataFrame,
    schema: Schema,
    partitioner: Partitioner,
    settings: Settings,
) -> DataFrame:
    """A row for each node that has an edge: its group, itself in the column of the source, and in the column of the
    target the least node of its component."""
    if partitioner.partitions == 1:
        return _run_once(spark, _script(closure, schema, partitioner, is_whole=True), edges, sf.lit(0))
    script = _script(closure, schema, partitioner, is_whole=False)
    ends = (closure.source, closure.target)
    to = sf.explode(sf.array_distinct(sf.array(*(by_columns(partitioner, schema, (end,)) for end in ends))))
    rows = delivered(script.layout, [script.layout.tag(EDGES, edges, to)], spark, partitioner.partitions)
    step = partial(join_first, script)
    for _ in range(settings.most_rounds):
        found = settings.keep(rows.mapInArrow(step, PACKED))
        with own_errors():
            has_news = has_packed(found.where(sf.col(TAG) == script.layout.tags[NEWS]))
        if not has_news:
            return _answers(script, found)
        rows = found.repartitionById(partitioner.partitions, TO)
        step = partial(join_again, script)
    raise LimitError(f"the limit of {settings.most_rounds:,} rounds was reached: the components of {closure.relation}")


def find_components_by_group(
    spark: SparkSession, closure: ClosureGroup, edges: DataFrame, schema: Schema, partitioner: Partitioner
) -> DataFrame:
    """As `find_components`, in one stage: no component reaches from one group into another."""
    script = _script(closure, schema, partitioner, is_whole=True)
    return _run_once(spark, script, edges, by_columns(partitioner, schema, closure.group))


def related_pairs(members: DataFrame, closure: ClosureGroup, schema: Schema) -> DataFrame:
    """All pairs of nodes of one component, from what `find_components` gives."""
    names = column_names(schema.arity)
    one = members.select(*(sf.col(name).alias(f"one_{name}") for name in names))
    other = members.select(*(sf.col(name).alias(f"other_{name}") for name in names))
    shared = [names[column] for column in (*closure.group, closure.target)]
    condition = [sf.col(f"one_{name}") == sf.col(f"other_{name}") for name in shared]
    target = names[closure.target]
    return one.join(other, condition).select(
        *(
            (sf.col(f"other_{names[closure.source]}") if name == target else sf.col(f"one_{name}")).alias(name)
            for name in names
        )
    )


def join_first(script: ComponentScript, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """As `join_again`, from rows that are not packed yet."""
    number, batches = numbered(batches)
    yield from _join(script, number, script.layout.tables(batches))


def join_again(script: ComponentScript, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For each node of this partition the least one that it is connected with, and edges that others have not."""
    number, batches = numbered(batches)
    yield from _join(script, number, unpacked(script.layout, batches))


def _join(script: ComponentScript, number: int, tables: Mapping[str, pa.Table]) -> Iterator[pa.RecordBatch]:
    yield packed_marker(number)
    if not tables:
        return
    edges = PartitionEdges(script.closure, script.schema, script.partitioner, pa.concat_tables(tables.values()))
    nodes, here, there = _ordered_nodes(edges)
    least = least_connected(nodes.shape[0], here, there)
    where = edges.partitions()[nodes[:, 1]] if not script.is_whole else np.full(nodes.shape[0], number, np.int32)
    own = where == number
    is_new = (least != np.arange(least.size)) & ~_has_edges(here, there, least)
    center = where[least]
    for partition in np.unique(np.concatenate([where, center])).tolist():
        home, away = where == partition, (where != partition) & (center == partition)
        for tag, chosen in ((EDGES, own & ~is_new), (NEWS, is_new)):
            pairs = (edges, nodes, least, np.flatnonzero(chosen & home))
            yield from _sent(script, tag, *pairs, partition, is_answer=partition == number)
            pairs = (edges, nodes, least, np.flatnonzero(chosen & away))
            yield from _sent(script, tag, *pairs, partition, is_answer=False)


def least_connected(count: int, here: Numbers, there: Numbers) -> Numbers:
    """For each of `count` nodes the least one that edges connect it with: trees are hooked on lesser ones and flattened
    until no edge leads from one to another."""
    least = np.arange(count)
    while here.size:
        one, other = least[here], least[there]
        apart = one != other
        here, there, one, other = here[apart], there[apart], one[apart], other[apart]
        np.minimum.at(least, one, other)
        np.minimum.at(least, other, one)
        while True:
            further = least[least]
            if (further == least).all():
                break
            least = further
    return least


def _ordered_nodes(edges: PartitionEdges) -> tuple[npt.NDArray[np.int32], Numbers, Numbers]:
    """The nodes (group, id), those of a group in the order of their values, and the edges by the numbers of nodes."""
    ranks = _ranks(edges)
    triples = edges.triples.astype(np.int64)
    words = np.concatenate([triples[:, 0] << 32 | ranks[triples[:, end]] for end in (1, 2)])
    different, numbers = np.unique(words, return_inverse=True)
    ids = np.argsort(ranks)
    nodes = np.column_stack([different >> 32, ids[different & 0xFFFFFFFF]]).astype(np.int32)
    return nodes, numbers[: triples.shape[0]], numbers[triples.shape[0] :]


def _ranks(edges: PartitionEdges) -> Numbers:
    """For each id its place in the order of values, which is the same in every partition."""
    ids = np.arange(edges.values.size(edges.kind), dtype=np.int32)
    if edges.kind is Kind.SYMBOL:
        texts = values_of(edges.values.decode(edges.kind, ids))
        order = np.array(sorted(ids.tolist(), key=texts.__getitem__), np.int64)
    else:
        order = np.argsort(edges.values.numbers(edges.kind, ids))
    ranks = np.empty(ids.size, np.int64)
    ranks[order] = np.arange(ids.size)
    return ranks


def _has_edges(here: Numbers, there: Numbers, least: Numbers) -> npt.NDArray[np.bool_]:
    """For each node whether there is an edge between it and its least one."""
    count = least.size
    known = np.unique(np.minimum(here, there) * count + np.maximum(here, there))
    asked = least * count + np.arange(count)
    places = np.minimum(np.searchsorted(known, asked), max(0, known.size - 1))
    found: npt.NDArray[np.bool_] = known[places] == asked
    return found


def _sent(
    script: ComponentScript,
    tag: str,
    edges: PartitionEdges,
    nodes: npt.NDArray[np.int32],
    least: Numbers,
    chosen: Numbers,
    to: int,
    *,
    is_answer: bool,
) -> Iterator[pa.RecordBatch]:
    """The chosen nodes, each with its least one, on their way to a partition."""
    for begin in range(0, chosen.size, ROWS_SENT):
        some = chosen[begin : begin + ROWS_SENT]
        table = edges.decoded(nodes[some], nodes[least[some], 1])
        yield packed(script.layout, tag, table, to, is_answer=is_answer)


def _script(closure: ClosureGroup, schema: Schema, partitioner: Partitioner, *, is_whole: bool) -> ComponentScript:
    return ComponentScript(closure, schema, Layout({EDGES: schema, NEWS: schema}), partitioner, is_whole)


def _run_once(spark: SparkSession, script: ComponentScript, edges: DataFrame, to: Column) -> DataFrame:
    rows = delivered(script.layout, [script.layout.tag(EDGES, edges, to)], spark, script.partitioner.partitions)
    return _answers(script, rows.mapInArrow(partial(join_first, script), PACKED))


def _answers(script: ComponentScript, rows: DataFrame) -> DataFrame:
    return union_all([answers(script.layout, tag, rows) for tag in (EDGES, NEWS)])
