"""Where plans become jobs: rows fetched when there are few, kept in the cluster when there are many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.layout import from_carried, spark_schema_of, to_carried
from tidelog.errors import TidelogError
from tidelog.schema import Kind


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """How the Spark backend works; answers never depend on it.

    Up to `near_rows` rows of a relation are kept in the driver, as Arrow, until a plan reads them. After `most_parts`
    additions the parts of a relation are brought together. `storage` is where rows are kept between jobs: None means
    two copies where there are several executors, so that the loss of one costs nothing.
    """

    near_rows: int = 4096
    most_parts: int = 12
    storage: StorageLevel | None = None


class JobError(TidelogError):
    """Spark could not run a job: its own words, shortened, with the whole of them as the cause."""


class Jobs:
    """Runs plans in one Spark session. `count` says how many jobs there were."""

    def __init__(self, spark: SparkSession, settings: SparkSettings) -> None:
        self.spark = spark
        self.settings = settings
        self.count = 0
        is_local = (spark.conf.get("spark.master", None) or "").partition("[")[0] == "local"
        self._storage = settings.storage or (
            StorageLevel.MEMORY_AND_DISK if is_local else StorageLevel.MEMORY_AND_DISK_2
        )

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
            return frame.localCheckpoint(eager=False, storageLevel=self._storage)

    def size(self, frame: DataFrame) -> int:
        """How many rows `frame` has."""
        with self._job():
            return frame.count()

    @contextmanager
    def _job(self) -> Iterator[None]:
        self.count += 1
        try:
            yield
        except PySparkException as problem:
            raise JobError(f"Spark could not run a job: {_in_short(problem)}") from problem


def _in_short(problem: PySparkException) -> str:
    """The first line that says something; what follows is Java's."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(problem).__name__
