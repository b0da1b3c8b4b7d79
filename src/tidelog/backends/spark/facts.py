"""Facts on Spark: few of them as Arrow in the driver, many as a DataFrame that is kept in the cluster."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.backends.spark.jobs import Jobs
from tidelog.backends.spark.layout import column_names, no_rows
from tidelog.facts.change import difference, distinct, joined
from tidelog.schema import Kind


class SparkFacts:
    """Different rows of one relation, in its stored columns. They never change."""

    def __init__(self, jobs: Jobs, kinds: tuple[Kind, ...], rows: pa.Table | DataFrame, count: int) -> None:
        self._jobs = jobs
        self.kinds = kinds
        self._rows = rows if isinstance(rows, pa.Table) else None
        self._frame = None if isinstance(rows, pa.Table) else rows
        self._count = count

    def __len__(self) -> int:
        return self._count

    @property
    def names(self) -> tuple[str, ...]:
        return column_names(len(self.kinds))

    @property
    def rows(self) -> pa.Table | None:
        """The rows where they are in the driver; None where they are only in the cluster."""
        return self._rows

    @property
    def frame(self) -> DataFrame:
        """The rows as a DataFrame."""
        if self._frame is None:
            assert self._rows is not None
            self._frame = self._jobs.frame(self._rows, self.kinds)
        return self._frame

    def none(self) -> SparkFacts:
        """No facts, of the same relation."""
        return nothing(self._jobs, self.kinds)

    def union(self, *others: SparkFacts) -> SparkFacts:
        """The facts of all."""
        some = [each for each in (self, *others) if len(each)]
        if len(some) < 2:
            return some[0] if some else self
        near = [each.rows for each in some if each.rows is not None]
        if len(near) == len(some):
            return near_facts(self._jobs, self.kinds, joined(near))
        frame = some[0].frame
        for each in some[1:]:
            frame = frame.unionByName(each.frame)
        return settled(self._jobs, self.kinds, frame.distinct(), sum(map(len, some)))

    def beside(self, *others: SparkFacts) -> SparkFacts:
        """The facts of all, which have none in common."""
        return self.union(*others)

    def minus(self, other: SparkFacts, /) -> SparkFacts:
        """The facts that `other` has not."""
        if not len(self) or not len(other):
            return self
        if self.rows is not None and other.rows is not None:
            left = difference(self.rows, other.rows)
            return SparkFacts(self._jobs, self.kinds, left, left.num_rows)
        frame = self.frame.join(other.frame, list(self.names), "left_anti")
        return settled(self._jobs, self.kinds, frame, len(self))


def nothing(jobs: Jobs, kinds: tuple[Kind, ...]) -> SparkFacts:
    """No facts of these kinds."""
    return SparkFacts(jobs, kinds, no_rows(kinds), 0)


def near_facts(jobs: Jobs, kinds: tuple[Kind, ...], rows: pa.Table) -> SparkFacts:
    """The different rows of a table that is in the driver."""
    if jobs.is_few(rows.num_rows):
        once = distinct(rows)
        return SparkFacts(jobs, kinds, once, once.num_rows)
    return settled(jobs, kinds, jobs.frame(rows, kinds).distinct(), rows.num_rows)


def settled(jobs: Jobs, kinds: tuple[Kind, ...], frame: DataFrame, most: int | None = None) -> SparkFacts:
    """The rows of `frame`, which are different, computed now. There are at `most` so many, if anybody knows."""
    if most is not None and jobs.is_few(most):
        rows = jobs.fetch(frame, kinds)
        return SparkFacts(jobs, kinds, rows, rows.num_rows)
    kept = jobs.keep(frame)
    return counted(jobs, kinds, kept, jobs.size(kept))


def counted(jobs: Jobs, kinds: tuple[Kind, ...], kept: DataFrame, count: int) -> SparkFacts:
    """The rows of a frame that is kept and has `count` rows; few are fetched."""
    if not count:
        return nothing(jobs, kinds)
    if jobs.is_few(count):
        return SparkFacts(jobs, kinds, jobs.fetch(kept, kinds), count)
    return SparkFacts(jobs, kinds, kept, count)
