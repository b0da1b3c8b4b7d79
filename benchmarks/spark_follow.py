"""Seconds for each batch of a stream: `follow` with 100 changes of DAG-R, beside a `foreachBatch` that does nothing.

`python -m benchmarks.spark_follow INPUTS MASTER` prints them as JSON. Time counts from the end of a batch to the end of
the next, so that Spark's own share is in both.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

from pyspark.sql import SparkSession

import tidelog
from benchmarks.workloads import PROGRAMS
from tidelog.backends.spark.session import SessionSettings, start_session
from tidelog.pipeline.config import ChangeKind, ChangeSource, FollowSettings, Format, Source
from tidelog.pipeline.sinks import Sinks
from tidelog.pipeline.streams import Streams

BATCHES = 8
CHANGES = 100


def main(arguments: list[str]) -> None:
    inputs, master = arguments
    spark = start_session(SessionSettings(master=master))
    with tempfile.TemporaryDirectory(prefix="tidelog-spark-") as scratch:
        edges = spark.read.parquet(f"{inputs}/edge")
        write_changes(edges.limit(BATCHES * CHANGES).toArrow().to_pylist(), Path(scratch) / "changes")
        figures = {
            "empty": median(without_rules(spark, Path(scratch))),
            "rules": median(with_rules(spark, inputs, Path(scratch))),
        }
    spark.stop()
    print(json.dumps(figures))


def write_changes(edges: Sequence[dict[str, int]], folder: Path) -> None:
    """A file for each batch, which retracts edges."""
    folder.mkdir()
    for number in range(BATCHES):
        lines = [f"-,{row['c0']},{row['c1']}\n" for row in edges[number * CHANGES : (number + 1) * CHANGES]]
        (folder / f"{number}.csv").write_text("op,a,b\n" + "".join(lines), encoding="utf-8")


def without_rules(spark: SparkSession, scratch: Path) -> list[float]:
    """Seconds between batches that nobody looks at."""
    ends: list[float] = []
    reader = spark.readStream.schema("op string, a string, b string").option("header", True)
    rows = reader.option("maxFilesPerTrigger", 1).csv(str(scratch / "changes"))
    writer = rows.writeStream.foreachBatch(lambda _rows, _number: ends.append(perf_counter()))
    writer.option("checkpointLocation", str(scratch / "empty")).trigger(availableNow=True).start().awaitTermination()
    return between(ends)


def with_rules(spark: SparkSession, inputs: str, scratch: Path) -> list[float]:
    """Seconds between batches that change DAG-R and its closure, in a state on disk."""
    ends: list[float] = []
    program = (PROGRAMS / "tc_dag10k_lin.dl").read_text(encoding="utf-8")
    flow = tidelog.spark.open(
        program, spark, inputs={"edge": spark.read.parquet(f"{inputs}/edge")}, state=scratch / "state", keep=["path"]
    )
    change = ChangeSource(ChangeKind.OPERATIONS, Source(Format.CSV, str(scratch / "changes")))
    settings = FollowSettings(str(scratch / "checkpoint"), every=0.0, files_per_batch=1)
    sinks = Sinks(flow, {}, "benchmark")
    Streams(
        spark, flow, sinks, {"edge": change}, settings, lambda _: None, lambda _: ends.append(perf_counter())
    ).take_all()
    return between(ends)


def between(ends: Sequence[float]) -> list[float]:
    """Seconds from each end of a batch to the next; the first batches load what later ones find loaded."""
    return [after - before for before, after in pairwise(ends[1:])]


if __name__ == "__main__":
    main(sys.argv[1:])
