"""Strata whose rows never leave their partition: one stage that runs to the fixpoint in each."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.engine_stage import Script, run_to_the_end
from tidelog.backends.spark.packed_rows import PACKED, answers
from tidelog.backends.spark.reduction_protocol import Settings, Tables, copies_sent, delivered, first_mail
from tidelog.backends.spark.tagged_rows import plain_struct


def run_in_one_stage(spark: SparkSession, script: Script, tables: Tables, settings: Settings) -> dict[str, DataFrame]:
    """All rows of each derived relation.

    Nothing runs before somebody asks for the rows. Those of a single relation are computed whenever somebody asks.
    """
    sent = [*copies_sent(script, tables), *first_mail(script, tables)]
    rows = delivered(script.layout, sent, spark, script.partitioner.partitions)
    derived = script.placement.derived
    if len(derived) == 1:
        return {derived[0]: rows.mapInArrow(partial(run_to_the_end, script), plain_struct(script.schemas[derived[0]]))}
    kept = settings.keep(rows.mapInArrow(partial(run_to_the_end, script), PACKED))
    return {name: answers(script.layout, name, kept) for name in derived}
