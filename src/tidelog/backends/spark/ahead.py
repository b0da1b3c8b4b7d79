"""Strata that SparkBackend need not run in rounds of jobs: data reduction, chosen stratum by stratum."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.backend import RunAhead
from tidelog.backends.spark.reduction import evaluate
from tidelog.plan.nodes import Plan, StratumPlan
from tidelog.plan.reduction import Reduction, Strategy, choose

Hear = Callable[[Reduction], None]


def reducing(spark: SparkSession, partitions: int, forced: Strategy | None, hear: Hear) -> RunAhead:
    """Runs each stratum by the strategy that suits it, or that is `forced`; `hear` is told the choice."""

    def run(
        stratum: StratumPlan, plan: Plan, tables: Mapping[str, DataFrame], sizes: Mapping[str, int]
    ) -> Mapping[str, DataFrame] | None:
        reduction = choose(stratum, plan, sizes, partitions=partitions, forced=forced)
        hear(reduction)
        if reduction.strategy is Strategy.FRAMES:
            return None
        return evaluate(reduction, tables, plan, spark)

    return run
