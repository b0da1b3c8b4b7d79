"""Stored relations on Spark: parts that were added one after the other, each row with its age."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from tidelog.backends.spark.facts import SparkFacts, nothing, settled
from tidelog.backends.spark.jobs import Jobs
from tidelog.backends.spark.layout import AGE_COLUMN, column_names, no_rows, stored_kinds
from tidelog.facts.change import difference
from tidelog.facts.columns import column_of, column_of_numbers, values_of
from tidelog.plan.nodes import Version
from tidelog.schema import Kind, Row, Schema


class StoredRelation:
    """The rows of a relation: `near` those in the driver, `far` the parts in the cluster."""

    def __init__(self, jobs: Jobs, schema: Schema) -> None:
        self._jobs = jobs
        self.schema = schema
        self.kinds = stored_kinds(schema)
        self.names = column_names(len(self.kinds))
        self.clear()

    def clear(self) -> None:
        """Forgets all rows."""
        self._near = _with_age(no_rows(self.kinds), 0)
        self._far: list[DataFrame] = []
        self._far_count = 0
        self._full: DataFrame | None = None
        self.staged: SparkFacts = nothing(self._jobs, self.kinds)
        self.delta: SparkFacts = nothing(self._jobs, self.kinds)
        self._delta_age = 0

    @property
    def count(self) -> int:
        return self._near.num_rows + self._far_count

    @property
    def is_near(self) -> bool:
        """Whether all rows are in the driver."""
        return not self._far

    @property
    def near_rows(self) -> pa.Table:
        """The rows that are in the driver, without their ages."""
        return self._near.select(list(self.names))

    @property
    def full(self) -> DataFrame:
        """All rows, with their ages."""
        if self._full is None:
            near = (
                [self._jobs.frame(self._near, (*self.kinds, Kind.NUMBER))]
                if self._near.num_rows or not self._far
                else []
            )
            self._full = reduce(DataFrame.unionByName, [*self._far, *near])
        return self._full

    def frame(self, version: Version) -> DataFrame:
        """The rows of that version; those of the delta have no age."""
        match version:
            case Version.DELTA:
                return self.delta.frame
            case Version.OLD if len(self.delta):
                return self.full.where(sql.col(AGE_COLUMN) < sql.lit(self._delta_age))
            case _:
                return self.full

    def conformed(self, frame: DataFrame) -> DataFrame:
        """The rows of a table of the relation in stored columns."""
        if not self.schema.arity:
            return frame.select(sql.lit(0).cast("long").alias("c0"))
        return frame.toDF(*self.names)

    def facts(self) -> SparkFacts:
        """All rows as facts."""
        if self.is_near:
            return SparkFacts(self._jobs, self.kinds, self.near_rows, self.count)
        return SparkFacts(self._jobs, self.kinds, self.full.select(*self.names), self.count)

    def stored(self, facts: SparkFacts) -> SparkFacts:
        """Those of `facts` that are here."""
        if not len(facts) or not self.count:
            return facts.none()
        if self.is_near and facts.rows is not None:
            here = difference(facts.rows, difference(facts.rows, self.near_rows))
            return SparkFacts(self._jobs, self.kinds, here, here.num_rows)
        known = self.full.select(*self.names)
        found = facts.frame.join(known, list(self.names), "left_semi")
        return settled(self._jobs, self.kinds, found, min(len(facts), self.count))

    def unknown(self, facts: SparkFacts) -> SparkFacts:
        """Those of `facts` that are not here."""
        return facts.minus(self.facts()) if self.count else facts

    def add(self, facts: SparkFacts, age: int) -> None:
        """Stores facts that are not here yet."""
        if not len(facts):
            return
        rows = facts.rows
        if rows is not None and self._jobs.is_few(self._near.num_rows + rows.num_rows):
            self._near = pa.concat_tables([self._near, _with_age(rows, age)])
        elif rows is not None:
            self._put_far(self._jobs.frame(self._near, (*self.kinds, Kind.NUMBER)), self._near.num_rows)
            self._near = _with_age(rows, age)
        else:
            self._put_far(facts.frame.withColumn(AGE_COLUMN, sql.lit(age).cast("long")), len(facts))
        self._full = None

    def remove(self, facts: SparkFacts) -> None:
        """Removes facts that are here."""
        if not len(facts):
            return
        before = self._near.num_rows
        if facts.rows is not None:
            self._near = _without(self._near, facts.rows)
        elif before:
            left = self._jobs.frame(self._near, (*self.kinds, Kind.NUMBER))
            left = left.join(facts.frame, list(self.names), "left_anti")
            self._near = self._jobs.fetch(left, (*self.kinds, Kind.NUMBER))
        gone_far = len(facts) - (before - self._near.num_rows)
        if gone_far:
            together = reduce(DataFrame.unionByName, self._far).join(facts.frame, list(self.names), "left_anti")
            self._far_count -= gone_far
            self._far = [self._kept(together)] if self._far_count else []
        self._full = None

    def advance(self, age: int) -> int:
        """Makes what is staged the delta, with this age; its size."""
        self.delta, self._delta_age = self.staged, age
        self.staged = self.delta.none()
        self.add(self.delta, age)
        return len(self.delta)

    def settle(self) -> None:
        """Makes the delta old."""
        self.delta = self.delta.none()

    def _put_far(self, frame: DataFrame, count: int) -> None:
        self._far.append(frame)
        self._far_count += count
        if len(self._far) > self._jobs.settings.most_parts:
            self._far = [self._kept(reduce(DataFrame.unionByName, self._far))]

    def _kept(self, frame: DataFrame) -> DataFrame:
        partitions = int(self._jobs.spark.conf.get("spark.sql.shuffle.partitions") or 200)
        return self._jobs.keep(frame.select(*self.names, AGE_COLUMN).coalesce(partitions))


class Store:
    """The relations of a program, the marked rows, and the clock. It is also the `Statistics` of the Spark backend."""

    def __init__(self, jobs: Jobs, schemas: Mapping[str, Schema]) -> None:
        self.jobs = jobs
        self.relations: dict[str, StoredRelation] = {}
        self.marked: dict[str, SparkFacts] = {}
        self._now = 0
        for schema in schemas.values():
            self.declare(schema)

    @cached_property
    def unit(self) -> DataFrame:
        """One row."""
        return self.jobs.frame(pa.table({"c0": column_of(Kind.NUMBER, [0])}), (Kind.NUMBER,))

    def declare(self, schema: Schema) -> None:
        """Makes room for a relation."""
        self.relations[schema.relation] = StoredRelation(self.jobs, schema)

    def next_age(self) -> int:
        """The age of rows that come now: more than that of everything they may follow from."""
        self._now += 1
        return self._now

    def is_near(self, relation: str, version: Version) -> bool:
        """Whether the rows of that version are in the driver."""
        stored = self.relations[relation]
        match version:
            case Version.MARKED:
                return self.marked[relation].rows is not None
            case Version.DELTA:
                return stored.delta.rows is not None
            case _:
                return stored.is_near

    def rows(self, relation: str, version: Version) -> int:
        stored = self.relations[relation]
        match version:
            case Version.MARKED:
                return len(self.marked[relation])
            case Version.DELTA:
                return len(stored.delta)
            case Version.OLD:
                return stored.count - len(stored.delta)
            case _:
                return stored.count

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int:
        """A guess: what is kept in a cluster is not counted for it."""
        stored = self.relations[relation]
        guess: float = float(stored.count) ** (len(columns) / len(stored.kinds))
        return max(1, round(guess))


def _with_age(rows: pa.Table, age: int) -> pa.Table:
    ages = column_of_numbers(Kind.NUMBER, np.full(rows.num_rows, age, np.int64))
    return rows.append_column(AGE_COLUMN, ages)


def _without(aged: pa.Table, rows: pa.Table) -> pa.Table:
    """The rows of `aged` that, their ages apart, are not among `rows`."""
    gone: set[Row] = set(zip(*map(values_of, rows.columns), strict=True))
    held = zip(*map(values_of, aged.columns[:-1]), strict=True)
    return aged.take(column_of(Kind.NUMBER, [place for place, row in enumerate(held) if row not in gone]))
