"""What a change of a flow did: for each relation the rows that appeared and vanished, as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.arrow_frames import frame_of_table
from tidelog.facts.change import NetDelta
from tidelog.pipeline.config import Tier
from tidelog.pipeline.engine import Taken
from tidelog.schema import Schema
from tidelog.world.delta import ChangedRelation, ChangedRelations


class FlowDelta(ChangedRelations):
    """What a change did: `delta["path"].appeared`, `delta["path"].vanished`, `delta.counts`, `delta.version`."""

    def __init__(
        self, spark: SparkSession, taken: Taken, schemas: Mapping[str, Schema], version: int, tier: Tier
    ) -> None:
        super().__init__(taken.outcome.deltas, schemas, taken.counts)
        self.version = version
        self.tier = tier
        self._spark = spark

    def __getitem__(self, relation: str) -> FlowRelationDelta:
        return FlowRelationDelta(self._spark, *self._delta_of(relation))

    def __repr__(self) -> str:
        return f"version {self.version} ({self.tier.value}): {super().__repr__()}"


class FlowRelationDelta(ChangedRelation):
    """The rows of one relation that a change made appear and vanish."""

    def __init__(self, spark: SparkSession, schema: Schema, net: NetDelta) -> None:
        super().__init__(schema, net)
        self._spark = spark

    @property
    def appeared(self) -> DataFrame:
        """The rows that are there now and were not before."""
        return self._frame(self._net.appeared())

    @property
    def vanished(self) -> DataFrame:
        """The rows that were there before and are not now."""
        return self._frame(self._net.vanished())

    @property
    def net(self) -> NetDelta:
        """The rows where the tier has them."""
        return self._net

    def __repr__(self) -> str:
        return f"{self._schema}: {self.appeared_count:,} appeared, {self.vanished_count:,} vanished"

    def _frame(self, rows: pa.Table) -> DataFrame:
        return rows if isinstance(rows, DataFrame) else frame_of_table(self._spark, rows, self._schema)
