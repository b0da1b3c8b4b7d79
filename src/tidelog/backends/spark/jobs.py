"""Where plans become jobs: rows fetched when there are few, kept in the cluster when there are many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.kept_rows import keep
from tidelog.backends.spark.layout import from_carried, spark_schema_of, to_carried
from tidelog.backends.spark.reasons import SPARK_ERRORS, job_error
from tidelog.schema import Kind


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """How the Spark backend works; answers never depend on it.

    Up to `near_rows` rows of a relation are kept in the driver, as Arrow, until a plan reads them. After `most_parts`
    additions the parts of a relation are brought together.
    """

    near_rows: int = 4096
    most_parts: int = 12


class Jobs:
    """Runs plans in one Spark session. `count` says how many jobs there were."""

    def __init__(self, spark: SparkSession, settings: SparkSettings) -> None:
        self.spark = spark
        self.settings = settings
        self.count = 0

    def is_few(self, rows: int) -> bool:
        """Whether so many rows are kept in the driver."""
        return rows <= self.settings.near_rows

    def frame(self, rows: pa.Table, kinds: tuple[Kind, ...]) -> DataFrame:
        """A DataFrame of rows that are in the driver; few are one partition."""
        names = tuple(rows.column_names)
        frame = self.spark.createDataFrame(to_carried(rows, kinds), schema=spark_schema_of(kinds, names))
        return frame.coalesce(1) if self.is_few(rows.num_rows) else frame

    def fetch(self, frame: DataFrame, kinds: tuple[Kind, ...]) -> pa.Table:
        """All rows of `frame`, which are few."""
        with self._job():
            return from_carried(frame.toArrow(), kinds)

    def keep(self, frame: DataFrame) -> DataFrame:
        """`frame`, computed once when somebody reads it and cut off from the plan it comes from."""
        with self._job():
            return keep(frame)

    def size(self, frame: DataFrame) -> int:
        """How many rows `frame` has."""
        with self._job():
            return frame.count()

    @contextmanager
    def _job(self) -> Iterator[None]:
        self.count += 1
        try:
            yield
        except SPARK_ERRORS as reason:
            raise job_error(reason) from reason
