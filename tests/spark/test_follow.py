"""`tidelog pipeline follow`: changes as they arrive, each batch one version, at little more than Spark's own price."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from threading import Thread

from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import InputError
from tidelog.pipeline.config import ChangeKind, ChangeSource, FollowSettings, Format, Source
from tidelog.pipeline.flow import Flow
from tidelog.pipeline.flow_delta import FlowDelta
from tidelog.pipeline.opening import open_flow
from tidelog.pipeline.sinks import Sinks
from tidelog.pipeline.streams import Streams

PROGRAM = """\
.decl edge(a: number, b: number)
.input edge
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.output path
"""

BATCHES = 6
CHANGES = 100


def put(folder: Path, name: str, lines: list[str]) -> None:
    """A file of changes that appears whole."""
    (folder / f".{name}").write_text("op,a,b\n" + "".join(f"{line}\n" for line in lines))
    (folder / f".{name}").rename(folder / name)


def streams_of(spark: SparkSession, flow: Flow, folder: Path, changed: Callable[[FlowDelta], None]) -> Streams:
    change = ChangeSource(ChangeKind.OPERATIONS, Source(Format.CSV, str(folder / "in")))
    settings = FollowSettings(str(folder / "checkpoint"), every=0.0, files_per_batch=1)
    return Streams(spark, flow, Sinks(flow, {}, "test"), {"edge": change}, settings, lambda _: None, changed)


def flow_in(spark: SparkSession, folder: Path) -> Flow:
    (folder / "in").mkdir()
    edges = spark.range(1, 2000).selectExpr("id a", "id + 10000 b")
    return open_flow(PROGRAM, spark, inputs={"edge": edges}, state=folder / "state")


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def test_files_are_taken_as_they_arrive_until_one_is_bad(spark: SparkSession, tmp_path: Path) -> None:
    flow = flow_in(spark, tmp_path)
    deltas: list[FlowDelta] = []
    failures: list[InputError] = []

    def follow() -> None:
        try:
            streams_of(spark, flow, tmp_path, deltas.append).follow()
        except InputError as error:
            failures.append(error)

    thread = Thread(target=follow)
    thread.start()
    put(tmp_path / "in", "1.csv", ["+,-2,-1", "+,-1,1"])
    wait_for(lambda: len(deltas) == 1)
    assert deltas[0]["path"].appeared_count == 5  # -2 to -1, 1 and 10001, -1 to 1 and 10001
    put(tmp_path / "in", "2.csv", ["-,-1,1"])
    wait_for(lambda: len(deltas) == 2)
    assert deltas[1]["path"].vanished_count == 4
    put(tmp_path / "in", "3.csv", ["+,1,2", "remove,1,2"])
    thread.join(120)
    assert "found 'remove'" in str(failures[0])
    assert flow.version == 3


def test_a_batch_of_100_changes_costs_at_most_a_second_more_than_an_empty_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    flow = flow_in(spark, tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "in").mkdir()

    def nothing(_batch: DataFrame, _number: int) -> None:
        pass

    reader = spark.readStream.schema("op string, a string, b string").option("header", True)
    rows = reader.option("maxFilesPerTrigger", 1).csv(str(tmp_path / "empty" / "in"))
    for number in range(BATCHES):
        lines = [f"+,{10_000_000 + number * CHANGES + at},{at + 1}" for at in range(CHANGES)]
        put(tmp_path / "in", f"{number}.csv", lines)
        put(tmp_path / "empty" / "in", f"{number}.csv", lines)
    query = rows.writeStream.foreachBatch(nothing).option("checkpointLocation", str(tmp_path / "empty" / "checkpoint"))
    started = query.trigger(availableNow=True).start()
    started.awaitTermination()
    empty = [progress["durationMs"]["triggerExecution"] / 1000 for progress in started.recentProgress]
    batches = streams_of(spark, flow, tmp_path, lambda _: None)._batches()
    following = batches._start(batches._writer().trigger(availableNow=True))
    following.awaitTermination()
    ours = [progress["durationMs"]["triggerExecution"] / 1000 for progress in following.recentProgress]
    empty, ours = empty[1:BATCHES], ours[1:BATCHES]
    assert flow.version == 1 + BATCHES
    print(f"\nempty foreachBatch {median(empty):.2f} s, {CHANGES} changes {median(ours):.2f} s a batch")
    # On a machine that does other things as well, both take longer.
    assert median(ours) - median(empty) < max(1.0, 2 * median(empty))
