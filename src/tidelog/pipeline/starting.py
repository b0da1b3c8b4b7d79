"""Takes a program and a tier, returns an engine for it."""

from __future__ import annotations

from functools import partial

from pyspark.sql import SparkSession

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Backend
from tidelog.backends.spark.ahead import reducing
from tidelog.backends.spark.backend import SparkBackend
from tidelog.maintain.protocol import Limits, Maintenance, Observer
from tidelog.pipeline.config import Tier
from tidelog.pipeline.engine import Engine, in_cluster, in_driver
from tidelog.pipeline.production.engine import ProductionEngine
from tidelog.pipeline.production.runs import ClusterRuns, DriverRuns
from tidelog.plan.reduction import Reduction, Strategy
from tidelog.world.model import Model


def start_engine(
    checked: CheckedProgram,
    tier: Tier,
    spark: SparkSession,
    *,
    jobs: int,
    limits: Limits,
    observer: Observer,
    reduction: Strategy | None,
) -> Engine:
    """An engine of that tier, without facts but those of the program's text."""
    choices: list[Reduction] = []

    def model_over(backend: Backend) -> Model:
        return Model(checked, backend, limits, observer, Maintenance())

    match tier:
        case Tier.COMPILED:
            local = LocalBackend(checked.schemas, jobs=jobs)
            if not checked.productions:
                return Engine(checked, tier, model_over(local), in_driver)
            return ProductionEngine(checked, tier, model_over(local), in_driver, DriverRuns(checked, local, limits))
        case Tier.SPARK:
            partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
            ahead = reducing(spark, partitions, reduction, choices.append)
            backend, to_own = SparkBackend(spark, checked.schemas, ahead=ahead), partial(in_cluster, spark)
            if not checked.productions:
                return Engine(checked, tier, model_over(backend), to_own, choices)
            runs = ClusterRuns(checked, backend, limits, spark, partitions, reduction)
            return ProductionEngine(checked, tier, model_over(backend), to_own, runs, choices)
