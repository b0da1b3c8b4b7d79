"""Opens the state of a pipeline, whichever way it is kept."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pyspark.sql import SparkSession

from tidelog.errors import StateError, UsageError
from tidelog.pipeline.state.delta import LAYOUT as DELTA
from tidelog.pipeline.state.delta import DeltaState
from tidelog.pipeline.state.files import Files, explaining, open_files
from tidelog.pipeline.state.history import layout_of, other_program
from tidelog.pipeline.state.parquet import LAYOUT as PARQUET
from tidelog.pipeline.state.parquet import ParquetState
from tidelog.pipeline.state.protocol import StateStore, VersionInfo

Format: TypeAlias = Literal["auto", "parquet", "delta"]

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def open_state(path: str, spark: SparkSession, *, format: Format = "auto") -> StateStore:
    """The state at `path`, a local path or a URI; nothing is made there before the first commit.

    `auto` keeps to the format that is there; a new state is in Delta Lake where the session has it, else in Parquet.
    """
    files = open_files(path)
    there = layout_of(files)
    if there is None:
        _check_nothing_else(files)
    if format not in ("auto", PARQUET, DELTA):
        raise UsageError(f"a state cannot be kept as '{format}': use auto, parquet or delta")
    if format != "auto" and there is not None and format != there:
        raise UsageError(
            f"the state at {files.address} is kept as {there}, not as {format}; use another folder, or auto"
        )
    chosen = there or (format if format != "auto" else DELTA if has_delta(spark) else PARQUET)
    if chosen == PARQUET:
        return ParquetState(files, spark)
    if not has_delta(spark):
        raise UsageError(
            f"the state at {files.address} is to be kept in Delta Lake, which this Spark session does not have: start "
            f"it with spark.jars.packages=io.delta:delta-spark_<Spark>_2.13:<version>, "
            f"spark.sql.extensions={DELTA_EXTENSION} and "
            f"spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
    return DeltaState(files, spark)


def last_version(state: StateStore, fingerprint: str) -> VersionInfo | None:
    """The last version of `state`, None before the first; an error where another program wrote it."""
    last = state.last()
    if last is not None and last.fingerprint != fingerprint:
        raise other_program(state.address, last, fingerprint)
    return last


def has_delta(spark: SparkSession) -> bool:
    """Whether the session was started with Delta Lake."""
    return DELTA_EXTENSION in (spark.conf.get("spark.sql.extensions", "") or "")


def _check_nothing_else(files: Files) -> None:
    with explaining(files.address):
        names = [name for name in files.names("") if name not in ("versions", "parts", "tables")]
    if names:
        raise StateError(
            f"{files.address} is not empty and has no Tidelog state in it (it has {', '.join(sorted(names)[:3])}): "
            f"name a folder of its own for the state"
        )
