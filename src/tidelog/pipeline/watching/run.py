"""Follows the tuples of a pipeline that watches: what appears and vanishes goes to the deltas of its outputs.

Spark's checkpoint has the tuples of each bucket and the files that were taken. A batch that comes again after a crash
finds the tuples of before and writes the same version again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidelog.backends.spark.arrow_frames import frame_of_table
from tidelog.errors import UsageError
from tidelog.pipeline.arrow_rows import errors_told
from tidelog.pipeline.bad_rows import bad_batch, put_aside
from tidelog.pipeline.batches import Batches
from tidelog.pipeline.changes import change_stream
from tidelog.pipeline.config import ChangeKind, Pipeline, WatchSettings
from tidelog.pipeline.run import Hearer, started
from tidelog.pipeline.sinks import APPEARED, VANISHED, check_folders, set_mark, write_changes
from tidelog.pipeline.sources import read_source
from tidelog.pipeline.state import fingerprint
from tidelog.pipeline.streams import check_process, last_batch
from tidelog.pipeline.watching.record import WatchRecord, keep_record, read_record
from tidelog.pipeline.watching.script import Script, facts_of_text, script_of
from tidelog.pipeline.watching.stages import CHANGE, PROBLEM, RELATION, bad_row, found_stream, rows_of_head

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def take_all(pipeline: Pipeline, hearer: Hearer) -> None:
    """Takes everything that has arrived."""
    with _watching(pipeline, hearer) as batches:
        batches.take_all()


def follow(pipeline: Pipeline, hearer: Hearer) -> None:
    """Takes tuples as they arrive, until it is interrupted or a batch fails."""
    with _watching(pipeline, hearer) as batches:
        hearer.progress("following tuples; Ctrl-C ends it")
        batches.follow(pipeline.follow.every)


@contextmanager
def _watching(pipeline: Pipeline, hearer: Hearer) -> Iterator[Batches]:
    """Spark started, and the batches of what appears and vanishes."""
    assert pipeline.watch is not None
    script = script_of(pipeline.checked, list(pipeline.outputs), pipeline.watch.buckets)
    _check(pipeline)
    with started(pipeline, hearer) as spark, _options(spark, pipeline.watch):
        check_process(spark)
        check_folders(pipeline.outputs.values())
        changes = change_stream(spark, pipeline.changes, script.schemas, pipeline.follow.files_per_batch, {})
        found = found_stream(changes, _there(spark, pipeline, script), script, pipeline.state.path)
        _tell(script, hearer)
        watching = _Watching(spark, pipeline, script, hearer)
        yield Batches(found, pipeline.follow.checkpoint, watching.begin, watching.take)


@dataclass(slots=True)
class _Watching:
    """Who takes the batches of a watch."""

    spark: SparkSession
    pipeline: Pipeline
    script: Script
    hearer: Hearer
    query: str = ""

    def begin(self, query: str) -> None:
        """Notes which watch it is; UsageError or StateError where the state or the checkpoint is of another one."""
        pipeline = self.pipeline
        assert pipeline.watch is not None
        self.query = query
        if read_record(pipeline.state.path) is None and last_batch(pipeline.follow) >= 0:
            raise UsageError(
                f"the checkpoint {pipeline.follow.checkpoint} has taken tuples that are not of this watch\n"
                "  hint: name another one in [follow], or remove it"
            )
        keep_record(
            pipeline.state.path,
            WatchRecord(fingerprint(pipeline.checked), list(pipeline.outputs), pipeline.watch.buckets, query),
        )

    def take(self, batch: DataFrame, number: int) -> None:
        """Writes what appeared and vanished with a batch; where it raises, nothing of the batch was taken."""
        began = perf_counter()
        batch.persist()
        try:
            with errors_told(f"batch {number} of tuples"):
                counted = batch.groupBy(f"`{RELATION}`", f"`{CHANGE}`").count().collect()
            self._take_bad(batch, number, any(row[RELATION] is None for row in counted))
            counts = {(row[RELATION], row[CHANGE]): int(row["count"]) for row in counted}
            self._write(batch, number + 1, {name for name, _ in counts if name is not None})
        finally:
            batch.unpersist()
        told = {
            name: (counts.get((name, APPEARED), 0), counts.get((name, VANISHED), 0)) for name in self.pipeline.outputs
        }
        self.hearer.progress(f"batch {number} taken as version {number + 1} in {perf_counter() - began:.2f} s")
        self.hearer.watched(number + 1, told)

    def _take_bad(self, batch: DataFrame, number: int, is_any: bool) -> None:
        if not is_any:
            return
        bad = [
            bad_row(row[PROBLEM])
            for row in batch.where(f.col(f"`{PROBLEM}`").isNotNull()).select(f"`{PROBLEM}`").collect()
        ]
        place = self.pipeline.follow.bad_rows
        if not place:
            raise bad_batch(bad, number)
        put_aside(self.spark, bad, place, f"{self.query}-{number}")
        self.hearer.progress(f"batch {number}: {len(bad):,} bad rows put aside in {place}")

    def _write(self, batch: DataFrame, version: int, changed: set[str]) -> None:
        for name, output in self.pipeline.outputs.items():
            set_mark(
                output, version - 1
            )  # before there is anything else, so that a crash leaves a folder known as ours
            if name in changed:
                rows = rows_of_head(batch, name, self.script)
                write_changes(rows, output, version, f"tidelog:{self.pipeline.state.path}")
            set_mark(output, version)


def _check(pipeline: Pipeline) -> None:
    """Raises UsageError for what a watch cannot do."""

    def refuse(key: str, problem: str, hint: str) -> None:
        raise UsageError(f"{pipeline.file}: {key}: {problem}\n  hint: {hint}")

    if not pipeline.changes:
        refuse("changes", "is missing, so no tuple arrives", "add a table for a relation, as in [changes.edge]")
    if not pipeline.outputs:
        refuse("outputs", "is missing, so nothing is watched", "add a table for a relation, with deltas")
    facts = facts_of_text(pipeline.checked)
    for name, output in pipeline.outputs.items():
        if output.path:
            refuse(f"outputs.{name}.path", "a watch keeps no rows, it tells what changes", "give deltas only")
        if name in pipeline.inputs or name in pipeline.changes or name in facts:
            refuse(f"outputs.{name}", "is given and watched", "give the facts to another relation that a rule reads")
    for name, change in pipeline.changes.items():
        if change.kind is not ChangeKind.OPERATIONS:
            refuse(f"changes.{name}.kind", f"'{change.kind.value}' cannot be watched", "a watch takes 'operations'")


def _there(spark: SparkSession, pipeline: Pipeline, script: Script) -> dict[str, DataFrame]:
    """The tuples that are there from the start, of the relations that rules read: inputs, and facts of the text."""
    read = script.bucketing.relations
    facts = {name: rows for name, rows in facts_of_text(pipeline.checked).items() if name in read}
    frames = {name: frame_of_table(spark, rows, script.schemas[name]) for name, rows in facts.items()}
    for name, source in pipeline.inputs.items():
        if name in read:
            rows = read_source(spark, source, script.schemas[name])
            frames[name] = frames[name].unionAll(rows) if name in frames else rows
    return frames


def _tell(script: Script, hearer: Hearer) -> None:
    everywhere = [name for name, column in script.bucketing.relations.items() if column is None]
    copies = f"; tuples of {', '.join(everywhere)} go to each of them" if everywhere else ""
    hearer.progress(f"watching {', '.join(script.watches)} in {script.buckets} buckets{copies}")


@contextmanager
def _options(spark: SparkSession, watch: WatchSettings) -> Iterator[None]:
    """A block in which a stateful query is started as suits a few buckets."""
    options = {
        "spark.sql.streaming.stateStore.providerClass": ROCKS,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.shuffle.partitions": str(min(watch.buckets, spark.sparkContext.defaultParallelism)),
    }
    before = {name: spark.conf.get(name, None) for name in options}
    for name, value in options.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)
