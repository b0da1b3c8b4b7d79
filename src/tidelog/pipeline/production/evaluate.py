"""Takes a choice and the facts as frames, returns what the production rules leave."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.spark.partitions import Partitioner
from tidelog.maintain.protocol import Limits
from tidelog.pipeline.production.alone import run_in_one_task
from tidelog.pipeline.production.director import Pace
from tidelog.pipeline.production.ends import Ends
from tidelog.pipeline.production.handler import Work
from tidelog.pipeline.production.rounds import run_rounds
from tidelog.pipeline.production.strategy import ProductionReduction
from tidelog.plan.reduction import Strategy
from tidelog.schema import Schema


def evaluate(
    reduction: ProductionReduction,
    checked: CheckedProgram,
    tables: Mapping[str, DataFrame],
    spark: SparkSession,
    limits: Limits,
) -> Ends:
    """What the production rules of `checked` do to the facts of `tables`; a relation that is missing there has none.

    Raises OscillationError when they come back to a state, LimitError at a limit; `limits.rounds` counts cycles.
    """
    tables = {name: _stored(frame, checked.schemas[name]) for name, frame in tables.items()}
    if reduction.placement is None:
        return run_in_one_task(spark, checked, tables, limits)
    work = Work(checked, reduction.placement, Partitioner(reduction.partitions), limits)
    pace = Pace.SYNCHRONOUS if reduction.strategy is Strategy.SYNCHRONOUS else Pace.ASYNCHRONOUS
    return run_rounds(spark, work, checked.productions, pace, tables)


def _stored(frame: DataFrame, schema: Schema) -> DataFrame:
    """The rows of a table of the relation, with a column where it has none."""
    return frame if schema.arity else frame.select(sf.lit(0).cast("long").alias("c0"))
