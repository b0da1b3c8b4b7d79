"""What a change of a flow did: for each relation the rows that appeared and vanished, as DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.arrow_frames import frame_of_table
from tidelog.errors import UsageError
from tidelog.facts.change import NetDelta
from tidelog.facts.columns import empty_table
from tidelog.language.words import nearest
from tidelog.pipeline.config import Tier
from tidelog.pipeline.engine import Taken
from tidelog.schema import Schema
from tidelog.world.delta import Counts


class FlowDelta:
    """What a change did: `delta["path"].appeared`, `delta["path"].vanished`, `delta.counts`, `delta.version`.

    Iterating gives the names of the relations that changed. It stays as it is, whatever changes later.
    """

    def __init__(
        self, spark: SparkSession, taken: Taken, schemas: Mapping[str, Schema], version: int, tier: Tier
    ) -> None:
        self.counts: Counts = taken.counts
        self.version = version
        self.tier = tier
        self._spark = spark
        self._deltas = taken.outcome.deltas
        self._schemas = schemas

    def __getitem__(self, relation: str) -> FlowRelationDelta:
        if relation not in self._schemas:
            near = nearest(str(relation), self._schemas)
            raise UsageError(f"no relation '{relation}'" + (f"; did you mean '{near}'?" if near else ""))
        schema = self._schemas[relation]
        return FlowRelationDelta(self._spark, schema, self._deltas.get(relation) or _unchanged(schema))

    def __iter__(self) -> Iterator[str]:
        return (relation for relation in self._schemas if relation in self._deltas)

    def __len__(self) -> int:
        """How many relations changed."""
        return len(self._deltas)

    def __contains__(self, relation: object) -> bool:
        return relation in self._deltas

    def __repr__(self) -> str:
        lines = [f"version {self.version} ({self.tier.value}): {self.counts}"]
        parts = ((relation, self[relation]) for relation in self)
        lines += [f"  {relation}  +{part.appeared_count:,}  -{part.vanished_count:,}" for relation, part in parts]
        return "\n".join(lines)


class FlowRelationDelta:
    """The rows of one relation that a change made appear and vanish."""

    def __init__(self, spark: SparkSession, schema: Schema, net: NetDelta) -> None:
        self._spark = spark
        self._schema = schema
        self._net = net

    @property
    def schema(self) -> Schema:
        """The names, types and kinds of the columns."""
        return self._schema

    @property
    def appeared(self) -> DataFrame:
        """The rows that are there now and were not before."""
        return self._frame(self._net.appeared())

    @property
    def vanished(self) -> DataFrame:
        """The rows that were there before and are not now."""
        return self._frame(self._net.vanished())

    @property
    def appeared_count(self) -> int:
        return self._net.appeared_count

    @property
    def vanished_count(self) -> int:
        return self._net.vanished_count

    @property
    def net(self) -> NetDelta:
        """The rows where the tier has them."""
        return self._net

    def __repr__(self) -> str:
        return f"{self._schema}: {self.appeared_count:,} appeared, {self.vanished_count:,} vanished"

    def _frame(self, rows: pa.Table) -> DataFrame:
        return rows if isinstance(rows, DataFrame) else frame_of_table(self._spark, rows, self._schema)


def _unchanged(schema: Schema) -> NetDelta:
    return NetDelta(0, 0, lambda: empty_table(schema), lambda: empty_table(schema))
