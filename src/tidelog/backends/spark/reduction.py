"""Takes a reduction and the rows of relations, returns those of the relations of its stratum, as frames."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from tidelog.analysis.checked import ClosureKind
from tidelog.backends.spark.components import find_components, find_components_by_group, related_pairs
from tidelog.backends.spark.engine_stage import Pace, Script, layout_of
from tidelog.backends.spark.partitions import Partitioner
from tidelog.backends.spark.reduction_closure import close_in_one_stage
from tidelog.backends.spark.reduction_preserved import run_in_one_stage
from tidelog.backends.spark.reduction_protocol import LOCAL, Settings, Tables
from tidelog.backends.spark.reduction_rounds import run_rounds
from tidelog.backends.spark.skew import weigh
from tidelog.plan.nodes import ClosedRelation, Plan
from tidelog.plan.reduction import Reduction, Strategy
from tidelog.schema import Schema


def evaluate(
    reduction: Reduction, tables: Tables, plan: Plan, spark: SparkSession, settings: Settings = LOCAL
) -> Mapping[str, DataFrame]:
    """Every row of each relation of the stratum: those that `tables` has of them and all that follow.

    `tables` has the relations that the stratum reads; one that is missing has no rows. Rounds run before this returns;
    what takes one stage runs when the rows are asked for, each time, and raises its errors then (see `own_errors`).
    """
    schemas = {**plan.schemas, **plan.hidden}
    placement, closed = reduction.placement, reduction.stratum.closed
    if placement is None:
        assert closed is not None, f"the strategy {reduction.strategy.value} is not one of data reduction"
        return {closed.closure.relation: _close(reduction, closed, tables, schemas, spark, settings)}
    partitioner = weigh(reduction.weighed, tables, schemas, reduction.partitions)
    script = script_of(reduction, plan, settings, partitioner)
    match reduction.strategy:
        case Strategy.ALONE | Strategy.PRESERVED:
            return run_in_one_stage(spark, script, tables, settings)
        case Strategy.ASYNCHRONOUS:
            return run_rounds(spark, script, Pace.RUN_AHEAD, tables, settings)
        case _:
            return run_rounds(spark, script, Pace.ONE_ROUND, tables, settings)


def script_of(reduction: Reduction, plan: Plan, settings: Settings, partitioner: Partitioner) -> Script:
    """What the stages of a reduction by rules are told."""
    schemas, placement = {**plan.schemas, **plan.hidden}, reduction.placement
    assert placement is not None, f"the strategy {reduction.strategy.value} has no rules"
    return Script(
        placement,
        {name: schemas[name] for name in (*placement.ways, *placement.derived)},
        layout_of(placement, schemas),
        partitioner,
        settings.most_rounds,
        settings.most_rows,
        {name: limit for name, limit in plan.size_limits.items() if name in placement.derived},
    )


def _close(
    reduction: Reduction,
    closed: ClosedRelation,
    tables: Tables,
    schemas: Mapping[str, Schema],
    spark: SparkSession,
    settings: Settings,
) -> DataFrame:
    schema, edges = schemas[closed.closure.relation], tables[closed.edges]
    partitioner = weigh(reduction.weighed, tables, schemas, reduction.partitions)
    if closed.closure.kind is ClosureKind.TRANSITIVE:
        return close_in_one_stage(spark, closed, edges, schema, reduction.columns, partitioner)
    if reduction.columns:
        members = find_components_by_group(spark, closed.closure, edges, schema, partitioner)
    else:
        members = find_components(spark, closed.closure, edges, schema, partitioner, settings)
    return related_pairs(settings.keep(members), closed.closure, schema)
