"""Seconds for each batch of a stream that is watched, beside a stream that nobody looks at and one that Spark joins.

`python -m benchmarks.spark_watch MASTER` prints them as JSON, by tuples in a batch. The rule is UC: `near` arrives in
files, `use` and `request` are there, and every `use` is near. The join is what one writes without rules: three streams
joined, whose state Spark keeps. It takes no deletes and tells a row once for each match; a watch does both otherwise.
Time counts from the end of a batch to the end of the next, so that Spark's own share is in all three.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

import pyarrow as pa
import pyarrow.csv as pc
from pyspark.sql import DataFrame, SparkSession

from benchmarks.generators import Rows
from benchmarks.spark_follow import between
from benchmarks.yield_workloads import UC
from tidelog.backends.spark.session import SessionSettings, start_session
from tidelog.maintain.protocol import Limits
from tidelog.pipeline.config import (
    ChangeKind,
    ChangeSource,
    EngineSettings,
    FollowSettings,
    Format,
    Output,
    Pipeline,
    Source,
    StateSettings,
    WatchSettings,
)
from tidelog.pipeline.run import Hearer
from tidelog.pipeline.watching.run import take_all

THERE = 20_000
"""Tuples of `use` and of `request`."""

BATCHES = 5
SMALL, LARGE = 100, 20_000
"""Tuples of a batch: where the batch itself is what costs, and where its tuples are."""

COLUMNS = {"near": ("x", "z"), "use": ("x", "z"), "request": ("z", "y")}
MATCHES = "matches"


def main(arguments: list[str]) -> None:
    (master,) = arguments
    spark = start_session(SessionSettings(master=master))
    figures: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="tidelog-spark-") as scratch:
        for size in (SMALL, LARGE):
            folder = Path(scratch) / str(size)
            write_tuples(UC.tuples(max(THERE, BATCHES * size), share=1.0), size, folder)
            empty, _ = timed(spark, stream_of(spark, folder, "near"), folder / "empty", lambda _: 0)
            joined, by_join = timed(spark, joined_stream(spark, folder), folder / "joined", written_to(folder / "join"))
            watched, by_watch = watch(folder, master)
            if by_join != by_watch:
                sys.exit(f"the join tells {by_join:,} rows, the watch {by_watch:,}")
            figures[size] = {"empty": empty, "join": joined, "watch": watched, MATCHES: by_watch}
    spark.stop()
    print(json.dumps(figures))


def write_tuples(tuples: Mapping[str, Rows], size: int, folder: Path) -> None:
    """A file of `near` for each batch, and one of each other relation, which comes with the first."""
    parts = {"near": [tuples["near"][at * size : (at + 1) * size] for at in range(BATCHES)]}
    parts |= {name: [tuples[name][:THERE]] for name in ("use", "request")}
    for name, files in parts.items():
        (folder / name).mkdir(parents=True)
        for number, rows in enumerate(files):
            columns = {column: rows[:, at] for at, column in enumerate(COLUMNS[name])}
            pc.write_csv(pa.table({**columns, "op": ["+"] * len(rows)}), folder / name / f"{number}.csv")


def joined_stream(spark: SparkSession, folder: Path) -> DataFrame:
    near, use, request = (stream_of(spark, folder, name) for name in COLUMNS)
    return near.join(use, ["x", "z"]).join(request, "z").select("x", "y")


def stream_of(spark: SparkSession, folder: Path, relation: str) -> DataFrame:
    first, second = COLUMNS[relation]
    reader = spark.readStream.schema(f"{first} long, {second} long, op string").option("header", True)
    return reader.option("maxFilesPerTrigger", 1).csv(str(folder / relation)).drop("op")


def written_to(folder: Path) -> Callable[[DataFrame], int]:
    """What writes the rows of a batch to files, as a watch does, and says how many they are."""

    def write(rows: DataFrame) -> int:
        rows.persist()
        count = rows.count()
        if count:
            rows.write.mode("append").parquet(str(folder))
        rows.unpersist()
        return count

    return write


def timed(
    spark: SparkSession, rows: DataFrame, checkpoint: Path, take: Callable[[DataFrame], int]
) -> tuple[float, int]:
    """The median of seconds between batches, and how many rows they have in all."""
    ends: list[float] = []
    counts: list[int] = []

    def note(batch: DataFrame, _number: int) -> None:
        counts.append(take(batch))
        ends.append(perf_counter())

    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    writer = rows.writeStream.foreachBatch(note).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    return median(between(ends[:BATCHES])), sum(counts)


def watch(folder: Path, master: str) -> tuple[float, int]:
    """As `timed`, by a pipeline that watches."""
    ends: list[float] = []
    counts: list[int] = []

    def note(_version: int, told: Mapping[str, tuple[int, int]]) -> None:
        counts.append(sum(map(sum, told.values())))
        ends.append(perf_counter())

    program = folder / "uc.dl"
    program.write_text(UC.text, encoding="utf-8")
    sources = {name: Source(Format.CSV, str(folder / name)) for name in COLUMNS}
    pipeline = Pipeline(
        file=folder / "pipeline.toml",
        program=program,
        state=StateSettings(str(folder / "state")),
        inputs={name: sources[name] for name in ("use", "request")},
        changes={"near": ChangeSource(ChangeKind.OPERATIONS, sources["near"])},
        outputs={"result": Output(Format.PARQUET, deltas=str(folder / "deltas"))},
        spark=SessionSettings(master=master),
        engine=EngineSettings(),
        follow=FollowSettings(str(folder / "watched"), every=0.0, files_per_batch=1),
        limits=Limits(),
        watch=WatchSettings(),
    )
    take_all(pipeline, Hearer(progress=lambda _: None, changed=lambda _: None, watched=note))
    return median(between(ends)), sum(counts)


if __name__ == "__main__":
    main(sys.argv[1:])
