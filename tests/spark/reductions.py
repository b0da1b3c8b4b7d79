"""Programs evaluated with a reduction for each recursive stratum: on Spark, or in this process stage by stage.

What is not recursive runs in the local engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from answers import Failure, checked_program, stored_relations
from tidelog.analysis.checked import CheckedProgram, ClosureKind
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.spark import components
from tidelog.backends.spark.closure_stage import EDGES, ClosureScript, close_partition
from tidelog.backends.spark.engine_stage import (
    Pace,
    Script,
    mail_to,
    run_first_round,
    run_round,
    run_to_the_end,
)
from tidelog.backends.spark.layout import (
    from_carried,
    public_table,
    spark_schema_of,
    stored_kinds,
    stored_table,
    to_carried,
)
from tidelog.backends.spark.packed_rows import IS_ANSWER, plain_rows
from tidelog.backends.spark.partitions import Partitioner, Partitions, hash_of_numbers, hash_of_rows, hash_of_texts
from tidelog.backends.spark.reduction import evaluate, script_of
from tidelog.backends.spark.reduction_protocol import LOCAL, Settings, own_errors
from tidelog.backends.spark.tagged_rows import MARKER, TAG, TO, Layout, sent, slots_of, stored_columns
from tidelog.errors import EvaluationError, UsageError
from tidelog.facts.columns import column_of, values_of
from tidelog.maintain.materialize import Run
from tidelog.maintain.protocol import SILENT, Limits
from tidelog.plan.lower import lower
from tidelog.plan.modules import with_modules
from tidelog.plan.nodes import Plan, StratumPlan, Version
from tidelog.plan.optimize import optimize
from tidelog.plan.placement import EVERYWHERE, WHOLE_ROW, copy_of
from tidelog.plan.reduction import Reduction, Strategy, choose
from tidelog.schema import Kind, Row, Schema

Facts = Mapping[str, Iterable[Row]]
Tables = Mapping[str, pa.Table]
Evaluator = Callable[[Reduction, Tables, Plan], Mapping[str, pa.Table]]
Stage = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Case:
    """A program with facts. `taken` has the reductions of the last evaluation."""

    def __init__(self, text: str | CheckedProgram, facts: Facts, *, modules: bool = True) -> None:
        self.checked = checked_program(text) if isinstance(text, str) else text
        plan = optimize(lower(self.checked))
        self.plan: Plan = with_modules(plan) if modules else plan
        self.schemas = {**self.plan.schemas, **self.plan.hidden}
        self.facts = facts
        self.taken: list[Reduction] = []

    def answers(self, run: Evaluator, strategy: Strategy | None, partitions: int = 3) -> dict[str, set[Row]] | Failure:
        """The rows of every relation of the program, or that there was an error.

        A stratum that cannot have the strategy is evaluated by asynchronous rounds, or alone.
        """
        backend = LocalBackend(self.schemas)
        for name, rows in self.facts.items():
            kept = f"{name}@given" if f"{name}@given" in self.schemas else name
            backend.insert(kept, table_of(self.schemas[kept], list(rows)))
        local = Run(self.plan, backend, Limits(), SILENT)
        self.taken = []
        try:
            for number, stratum in enumerate(self.plan.strata, start=1):
                reduction = self.reduction(stratum, backend, strategy, partitions)
                if reduction is None:
                    local.evaluate(number, stratum)
                else:
                    self.taken.append(reduction)
                    self._store(
                        run(reduction, {name: backend.table(name) for name in self.schemas}, self.plan), backend
                    )
        except EvaluationError:
            return Failure()
        return {
            name: rows_of(backend.table(name), self.schemas[name]) for name in stored_relations(self.checked.program)
        }

    def reduction(
        self, stratum: StratumPlan, backend: LocalBackend, strategy: Strategy | None, partitions: int
    ) -> Reduction | None:
        """The reduction of a stratum, None if it is not recursive or cannot be reduced."""
        if not stratum.rounds and stratum.closed is None:
            return None
        sizes = {name: backend.statistics().rows(name, Version.FULL) for name in self.schemas}
        for forced in (strategy, Strategy.ASYNCHRONOUS, Strategy.ALONE, Strategy.FRAMES):
            try:
                found = choose(stratum, self.plan, sizes, partitions=partitions, forced=forced)
            except UsageError:
                continue
            return None if found.strategy is Strategy.FRAMES else found
        return None

    def _store(self, found: Tables, backend: LocalBackend) -> None:
        for name, table in found.items():
            before = backend.statistics().rows(name, Version.FULL)
            assert backend.insert(name, table) + before == table.num_rows, f"{name} has a row twice"


def on_spark(spark: SparkSession, settings: Settings = LOCAL) -> Evaluator:
    """Evaluates reductions on Spark."""

    def run(reduction: Reduction, tables: Tables, plan: Plan) -> Mapping[str, pa.Table]:
        schemas = {**plan.schemas, **plan.hidden}
        frames = {name: frame_of(spark, table, schemas[name]) for name, table in tables.items()}
        found = {}
        for name, frame in evaluate(reduction, frames, plan, spark, settings).items():
            with own_errors():
                rows = from_carried(frame.toArrow(), stored_kinds(schemas[name]))
            found[name] = public_table(rows, schemas[name]) if schemas[name].arity else rows
        return found

    return run


def in_process(reduction: Reduction, tables: Tables, plan: Plan) -> Mapping[str, pa.Table]:
    """Evaluates reductions as Spark would, with lists of batches for partitions."""
    schemas = {**plan.schemas, **plan.hidden}
    if reduction.placement is None:
        closed = reduction.stratum.closed
        assert closed is not None
        name = closed.closure.relation
        return {name: _closed_in_process(reduction, tables[closed.edges], schemas[name])}
    script = script_of(reduction, plan, LOCAL, Partitioner(reduction.partitions))
    placement, partitioner = script.placement, script.partitioner
    lower_rows = [
        (copy_of(name, way), table_of_way)
        for name, way in placement.copies()
        for table_of_way in [_addressed(partitioner, schemas[name], tables[name], way)]
    ]
    mail = [
        (mail_to(name), _addressed(partitioner, schemas[name], tables[name], way))
        for name in placement.derived
        for way in ([EVERYWHERE] if EVERYWHERE in placement.ways[name] else placement.ways[name])
    ]
    given = _batches(script.layout, [*lower_rows, *mail])
    if reduction.strategy in (Strategy.ALONE, Strategy.PRESERVED):
        found = _stage(partial(run_to_the_end, script), script.layout, partitioner, given)
        if len(placement.derived) == 1:
            (name,) = placement.derived
            return {name: _plain(found, schemas[name])}
        return {name: _answer(script.layout, name, found) for name in placement.derived}
    return _rounds_in_process(reduction, script, given)


def _rounds_in_process(reduction: Reduction, script: Script, given: list[pa.RecordBatch]) -> Mapping[str, pa.Table]:
    pace = Pace.RUN_AHEAD if reduction.strategy is Strategy.ASYNCHRONOUS else Pace.ONE_ROUND
    tags = {script.layout.tags[mail_to(name)] for name in script.placement.derived}
    found = _stage(partial(run_first_round, script, pace), script.layout, script.partitioner, given)
    known: list[pa.RecordBatch] = []
    while True:
        letters = [batch for batch in found if _column(batch, TAG)[0] in tags]
        known += [batch for batch in found if _column(batch, TAG)[0] not in tags]
        if not letters:
            return {name: _answer(script.layout, name, known) for name in script.placement.derived}
        found = _packed_stage(partial(run_round, script, pace), script.partitioner, [*known, *letters])


def _closed_in_process(reduction: Reduction, edges: pa.Table, schema: Schema) -> pa.Table:
    closed = reduction.stratum.closed
    assert closed is not None
    group, partitioner = closed.closure, Partitioner(reduction.partitions)
    if group.kind is ClosureKind.TRANSITIVE:
        layout = Layout({EDGES: schema})
        is_by_source = reduction.columns == (group.source,)
        way = EVERYWHERE if is_by_source else reduction.columns
        script = ClosureScript(group, schema, layout, partitioner, is_by_source)
        sent = _batches(layout, [(EDGES, _addressed(partitioner, schema, edges, way))])
        return _plain(_stage(partial(close_partition, script), layout, partitioner, sent), schema)
    layout = Layout({EDGES: schema, components.NEWS: schema})
    is_whole = bool(reduction.columns) or partitioner.partitions == 1
    joining = components.ComponentScript(group, schema, layout, partitioner, is_whole)
    ends = (group.source, group.target)
    ways = [reduction.columns] if is_whole else [(end,) for end in ends]
    rows = _batches(layout, [(EDGES, _addressed(partitioner, schema, edges, way)) for way in ways])
    rows = _stage(partial(components.join_first, joining), layout, partitioner, rows)
    while not is_whole and any(_column(batch, TAG)[0] == layout.tags[components.NEWS] for batch in rows):
        rows = _packed_stage(partial(components.join_again, joining), partitioner, rows)
    members = [row for tag in layout.schemas for row in _answer(layout, tag, rows).to_pylist()]
    names = schema.names
    key = [names[column] for column in (*group.group, group.target)]
    source, target = names[group.source], names[group.target]
    pairs = [
        {**one, target: other[source]} for one in members for other in members if all(one[k] == other[k] for k in key)
    ]
    return table_of(schema, [tuple(pair[name] for name in names) for pair in pairs])


def _stage(run: Stage, layout: Layout, partitioner: Partitioner, rows: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """What the stage gives for all partitions, for the rows that are for each."""
    markers = [_marker(layout, number) for number in range(partitioner.partitions)]
    return _packed_stage(run, partitioner, [*markers, *rows])


def _packed_stage(run: Stage, partitioner: Partitioner, rows: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """As `_stage`, for rows among which each partition has a marker."""
    found: list[pa.RecordBatch] = []
    for number in range(partitioner.partitions):
        mine = [batch.filter(pa.array(_column(batch, TO) == number)) for batch in rows]
        found += [batch for batch in run(mine) if batch.num_rows]
    return found


def _marker(layout: Layout, number: int) -> pa.RecordBatch:
    columns = [pa.array([number], pa.int32()), pa.array([MARKER], pa.int32())]
    columns += [pa.nulls(1, kind_type) for kind_type in map(_carried_type, layout.slots.values())]
    return pa.RecordBatch.from_arrays(columns, names=[TO, TAG, *layout.slots])


def _carried_type(kind: Kind) -> pa.DataType:
    return {
        Kind.NUMBER: pa.int64(),
        Kind.UNSIGNED: pa.decimal128(20, 0),
        Kind.FLOAT: pa.float64(),
        Kind.SYMBOL: pa.string(),
    }[kind]


def _addressed(
    partitioner: Partitioner, schema: Schema, table: pa.Table, way: int | tuple[int, ...]
) -> tuple[pa.Table, Partitions]:
    """The rows of a table, each once for each partition that it is for."""
    count = table.num_rows
    if way == EVERYWHERE:
        places = np.repeat(np.arange(count), partitioner.partitions)
        to = np.tile(np.arange(partitioner.partitions, dtype=np.int32), count)
        return (table.take(pa.array(places)) if schema.arity else pa.table({"": pa.nulls(places.size)})), to
    if isinstance(way, int) and way != WHOLE_ROW:
        way = (way,)
    columns = range(schema.arity) if way == WHOLE_ROW else way
    values = [(schema.kinds[column], values_of(table.column(column).combine_chunks())) for column in columns]
    if len(values) == 1 and way != WHOLE_ROW:
        kind, found = values[0]
        if kind is Kind.SYMBOL:
            return table, partitioner.of_texts(found)
        return table, partitioner.of_numbers(kind, np.array(found, _dtype(kind)))
    hashes = [
        hash_of_texts(found) if kind is Kind.SYMBOL else hash_of_numbers(kind, np.array(found, _dtype(kind)))
        for kind, found in values
    ]
    return table, partitioner.of_hashes(hash_of_rows(hashes, count))


def _dtype(kind: Kind) -> type:
    return {Kind.NUMBER: np.int64, Kind.UNSIGNED: np.uint64, Kind.FLOAT: np.float64}[kind]


def _batches(layout: Layout, parts: list[tuple[str, tuple[pa.Table, Partitions]]]) -> list[pa.RecordBatch]:
    """Rows as a frame has them that goes into a stage."""
    found: list[pa.RecordBatch] = []
    for name, (table, to) in parts:
        schema = layout.schemas[name]
        places = dict(zip(slots_of(schema), stored_columns(table if schema.arity else table.select([])), strict=True))
        columns = [pa.array(to, pa.int32()), pa.array(np.full(to.size, layout.tags[name]), pa.int32())]
        columns += [
            sent(kind, places[place]) if place in places else pa.nulls(to.size, _carried_type(kind))
            for place, kind in layout.slots.items()
        ]
        found += pa.table(columns, names=[TO, TAG, *layout.slots]).combine_chunks().to_batches()
    return found


def _column(batch: pa.RecordBatch, name: str) -> np.ndarray:
    return np.array(batch.column(batch.schema.get_field_index(name)).to_pylist())


def _answer(layout: Layout, name: str, batches: list[pa.RecordBatch]) -> pa.Table:
    mine = [
        batch.filter(batch.column(batch.schema.get_field_index(IS_ANSWER)))
        for batch in batches
        if _column(batch, TAG)[0] == layout.tags[name]
    ]
    schema = layout.schemas[name]
    return _plain([batch for each in mine for batch in plain_rows(schema, [each])], schema)


def _plain(batches: list[pa.RecordBatch], schema: Schema) -> pa.Table:
    return table_of(schema, [tuple(row.values()) for batch in batches for row in batch.to_pylist()])


def frame_of(spark: SparkSession, table: pa.Table, schema: Schema) -> DataFrame:
    """The rows of a relation as Spark has them."""
    kinds = stored_kinds(schema)
    rows = stored_table(table, schema)
    return spark.createDataFrame(to_carried(rows, kinds), schema=spark_schema_of(kinds, tuple(rows.column_names)))


def table_of(schema: Schema, rows: list[Row]) -> pa.Table:
    columns = [
        column_of(kind, [int(row[n]) if kind is Kind.UNSIGNED else row[n] for row in rows])
        for n, kind in enumerate(schema.kinds)
    ]
    return pa.Table.from_arrays(columns, names=list(schema.names)) if columns else pa.table({"": pa.nulls(len(rows))})


def rows_of(table: pa.Table, schema: Schema) -> set[Row]:
    if not schema.arity:
        return {()} if table.num_rows else set()
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))
