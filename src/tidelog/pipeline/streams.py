"""Changes as they arrive: a Structured Streaming query whose every batch is one commit of the state.

A batch is known by its number and by the checkpoint it belongs to. Both are committed with what the batch did, so a
batch that comes again after a crash is known and left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from time import monotonic, perf_counter

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StringType, StructField, StructType

from tidelog.backends.spark.reasons import SPARK_ERRORS, cause_of, first_line
from tidelog.connectors.atomic import Publication
from tidelog.connectors.problems import Problem, input_error
from tidelog.errors import InputError, OutputError, TidelogError, UsageError
from tidelog.pipeline.arrow_rows import errors_told
from tidelog.pipeline.changes import BadRow, change_stream, read_batch
from tidelog.pipeline.config import ChangeKind, ChangeSource, FollowSettings
from tidelog.pipeline.config_file import IS_FILE_SYSTEM
from tidelog.pipeline.flow import Flow
from tidelog.pipeline.flow_delta import FlowDelta
from tidelog.pipeline.sinks import Sinks
from tidelog.pipeline.state.files import explaining, open_files

STREAM = "changes"
NO_FEED = "DELTA_MISSING_CHANGE_DATA"


class Streams:
    """The changes of a pipeline that arrive by themselves, taken one batch after the other."""

    def __init__(
        self,
        spark: SparkSession,
        flow: Flow,
        sinks: Sinks,
        changes: Mapping[str, ChangeSource],
        settings: FollowSettings,
        progress: Callable[[str], None],
        changed: Callable[[FlowDelta], None],
    ) -> None:
        self._spark = spark
        self._flow = flow
        self._sinks = sinks
        self._changes = changes
        self._settings = settings
        self._progress = progress
        self._changed = changed
        self._stream = ""
        self._is_named = Event()
        self._failure: BaseException | None = None
        self._written_at = monotonic()

    def take_all(self) -> None:
        """Takes everything that is there now."""
        self._await(self._start(self._writer().trigger(availableNow=True)))

    def follow(self) -> None:
        """Takes what arrives until it is interrupted or a batch fails."""
        query = self._start(self._writer().trigger(processingTime=f"{self._settings.every} seconds"))
        try:
            self._await(query)
        finally:
            query.stop()

    def _writer(self) -> DataStreamWriter:
        if type(self._spark).__module__.startswith("pyspark.sql.connect"):
            raise UsageError(
                "changes cannot be followed through Spark Connect: batches would be taken in another process\n"
                "  hint: use a session of this process, or take the changes with flow.apply"
            )
        files, batches = self._settings.files_per_batch, self._flow.batches
        rows = change_stream(self._spark, self._changes, self._flow.schemas, files, batches)
        return rows.writeStream.foreachBatch(self._take).option("checkpointLocation", self._settings.checkpoint)

    def _start(self, writer: DataStreamWriter) -> StreamingQuery:
        try:
            query = writer.start()
        except SPARK_ERRORS as reason:
            raise InputError(
                f"the stream does not start: {first_line(str(reason))}", str(self._settings.checkpoint)
            ) from None
        self._stream = f"{STREAM}:{query.id}"
        try:
            self._check_checkpoint()
        except BaseException:
            self._failure = UsageError("stopped")
            self._is_named.set()
            query.stop()
            raise
        self._is_named.set()
        return query

    def _check_checkpoint(self) -> None:
        """Raises UsageError where the checkpoint is not the state's: changes would be taken twice, or never."""
        others = [name for name in self._flow.batches if name.startswith(f"{STREAM}:") and name != self._stream]
        if others and self._stream not in self._flow.batches:
            raise UsageError(
                f"the state has taken changes under another checkpoint than {self._settings.checkpoint}\n"
                "  hint: bring that checkpoint back; without it, files that were taken would be taken again; or derive "
                "all of it from the inputs and the files that are there: tidelog pipeline run --anew"
            )
        if _last_batch(self._settings) > self._flow.batches.get(self._stream, -1):
            raise UsageError(
                f"the checkpoint {self._settings.checkpoint} has taken changes that the state does not have\n"
                "  hint: it is of another state, or of this one before it was made anew; remove it, and all files of "
                "changes are taken from the first on"
            )

    def _await(self, query: StreamingQuery) -> None:
        try:
            query.awaitTermination()
        except StreamingQueryException as reason:
            if isinstance(self._failure, TidelogError):
                raise self._failure from None
            if NO_FEED in str(reason):
                raise InputError(_no_feed(self._changes)) from reason
            raise InputError(f"the stream of changes failed: {cause_of(reason)}") from reason

    def _take(self, batch: DataFrame, number: int) -> None:
        """Takes one batch, all of it or nothing."""
        self._is_named.wait()
        if self._failure is not None:
            raise self._failure
        try:
            self._take_batch(batch, number)
        except BaseException as reason:
            self._failure = reason
            raise

    def _take_batch(self, batch: DataFrame, number: int) -> None:
        started = perf_counter()
        if number <= self._flow.batches.get(self._stream, -1):
            self._progress(f"batch {number} was taken before")
            self._sinks.catch_up()
            return
        with errors_told(f"batch {number} of changes"):
            rows = batch.toArrow()
        read = read_batch(rows, self._flow.schemas)
        if read.bad and not self._settings.bad_rows:
            raise _bad_batch(read.bad, number)
        if read.bad:
            self._divert(read.bad, number)
        change = read.change
        delta = self._flow.take(change.inserted, change.retracted, {self._stream: number}, f"batch {number}")
        self._sinks.write_deltas(delta)
        self._progress(f"batch {number} taken as version {delta.version} in {perf_counter() - started:.2f} s")
        self._changed(delta)
        if monotonic() - self._written_at > self._settings.refresh:
            self._sinks.write_rows()
            self._written_at = monotonic()

    def _divert(self, bad: list[BadRow], number: int) -> None:
        """Puts rows that cannot be taken aside; the same batch puts them in the same place."""
        name = f"{self._stream.partition(':')[2]}-{number}"
        lines = [json.dumps({"relation": one.relation, "problem": one.problem, "row": one.row}) for one in bad]
        place = self._settings.bad_rows
        try:
            if IS_FILE_SYSTEM.match(place):
                text = StructType([StructField("value", StringType())])
                frame = self._spark.createDataFrame([(line,) for line in lines], text)
                frame.write.mode("overwrite").text(f"{place.rstrip('/')}/batch={name}")
            else:
                with Publication() as publication:
                    publication.stage(Path(place) / f"{name}.jsonl").write_text(
                        "\n".join(lines) + "\n", encoding="utf-8"
                    )
        except (OSError, *SPARK_ERRORS) as reason:
            raise OutputError(f"{place}: bad rows cannot be written: {first_line(str(reason))}") from reason
        self._progress(f"batch {number}: {len(bad):,} bad rows put aside in {place}")


def forget_checkpoint(settings: FollowSettings) -> None:
    """Removes what Spark has noted of the files taken, so that all of them are new."""
    files = open_files(settings.checkpoint)
    with explaining(files.address):
        for name in files.names(""):
            files.delete(name)


def _last_batch(settings: FollowSettings) -> int:
    """The last batch that the checkpoint knows as taken; -1 where there is none."""
    files = open_files(settings.checkpoint)
    with explaining(files.address):
        return max((int(name) for name in files.names("commits") if name.isdecimal()), default=-1)


def _no_feed(changes: Mapping[str, ChangeSource]) -> str:
    """What to do where a table has not noted its changes since the state has read it."""
    tables = ", ".join(change.source.path for change in changes.values() if change.kind is ChangeKind.FEED)
    return (
        f"a table has had no change data feed since the state has read it: {tables}\n"
        "  hint: ALTER TABLE … SET TBLPROPERTIES (delta.enableChangeDataFeed = true), then tidelog pipeline run --anew;"
        " or compare all rows, with kind = 'snapshot'"
    )


def _bad_batch(bad: list[BadRow], number: int) -> InputError:
    problems = [Problem(f"{one.problem} (in {one.row})") for one in bad]
    error = input_error(problems, f"batch {number} of changes")
    error.add_note(
        "  nothing of the batch was taken\n"
        '  hint: repair the files and start again, or put bad rows aside with bad_rows = "FOLDER" in [follow]'
    )
    return error
