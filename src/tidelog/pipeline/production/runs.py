"""Runs of production rules where a tier keeps its facts: in the driver, or in the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Backend, OwnRows
from tidelog.backends.spark.backend import SparkBackend
from tidelog.backends.spark.job_names import described
from tidelog.facts.change import Change
from tidelog.maintain.protocol import Limits
from tidelog.pipeline.production.evaluate import evaluate
from tidelog.pipeline.production.strategy import ProductionReduction, choose
from tidelog.plan.nodes import Version
from tidelog.plan.reduction import Strategy
from tidelog.production.cycle import run_rules
from tidelog.production.support import relations_needed
from tidelog.world.late_news import LateNews, is_revisable


class Runs(Protocol):
    """What a flow asks about its production rules. `backend` has its facts, `last` says how they were run."""

    backend: Backend
    last: ProductionReduction | None

    def run(self, given: Mapping[str, OwnRows]) -> Change:
        """What the rules do to facts until none is firable: what they insert and retract."""
        ...

    def remembered(self, given: Mapping[str, OwnRows]) -> LateNews | None:
        """The run from these facts, as one that late news can revise; None where there is no such run."""
        ...


class DriverRuns:
    """Runs in this process."""

    def __init__(self, checked: CheckedProgram, backend: LocalBackend, limits: Limits) -> None:
        self.backend: Backend = backend
        self.last: ProductionReduction | None = None
        self._checked = checked
        self._limits = limits

    def run(self, given: Mapping[str, pa.Table]) -> Change:
        self.last = ProductionReduction(Strategy.ALONE, 1, "the facts are in the driver")
        result = run_rules(self._checked, self._fresh(), given, limits=self._limits)
        return Change(result.came, result.went)

    def remembered(self, given: Mapping[str, pa.Table]) -> LateNews | None:
        if not is_revisable(self._checked):
            return None
        return LateNews(self._checked, given, 0, self._limits, self._fresh)

    def _fresh(self) -> Backend:
        return self.backend.fresh(self._checked.schemas)


class ClusterRuns:
    """Runs on Spark."""

    def __init__(
        self,
        checked: CheckedProgram,
        backend: SparkBackend,
        limits: Limits,
        spark: SparkSession,
        partitions: int,
        forced: Strategy | None,
    ) -> None:
        self.backend: Backend = backend
        self.last: ProductionReduction | None = None
        self._checked = checked
        self._limits = limits
        self._spark = spark
        self._partitions = partitions
        self._forced = forced

    def run(self, given: Mapping[str, DataFrame]) -> Change:
        checked, statistics = self._checked, self.backend.statistics()
        sizes = {name: statistics.rows(name, Version.FULL) for name in relations_needed(checked)}
        self.last = choose(checked, sizes, partitions=self._partitions, forced=self._forced)
        with described(self._spark, f"production rules, {self.last.strategy.value}"):
            ends = evaluate(self.last, checked, given, self._spark, self._limits)
        return Change(ends.came, ends.went)  # type: ignore[arg-type]

    def remembered(self, _given: Mapping[str, DataFrame]) -> None:
        """Runs in the cluster keep no chains behind their end."""
