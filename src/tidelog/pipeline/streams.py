"""Changes as they arrive: a Structured Streaming query whose every batch is one commit of the state.

A batch is known by its number and by the checkpoint it belongs to. Both are committed with what the batch did, so a
batch that comes again after a crash is known and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic, perf_counter

from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import InputError, UsageError
from tidelog.pipeline.arrow_rows import errors_told
from tidelog.pipeline.bad_rows import bad_batch, put_aside
from tidelog.pipeline.batches import Batches
from tidelog.pipeline.changes import change_stream, read_batch
from tidelog.pipeline.config import ChangeKind, ChangeSource, FollowSettings
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
        self._written_at = monotonic()

    def take_all(self) -> None:
        """Takes everything that is there now."""
        with self._naming_feeds():
            self._batches().take_all()

    def follow(self) -> None:
        """Takes what arrives until it is interrupted or a batch fails."""
        with self._naming_feeds():
            self._batches().follow(self._settings.every)

    def _batches(self) -> Batches:
        check_process(self._spark)
        files, batches = self._settings.files_per_batch, self._flow.batches
        rows = change_stream(self._spark, self._changes, self._flow.schemas, files, batches)
        return Batches(rows, self._settings.checkpoint, self._started, self._take_batch)

    @contextmanager
    def _naming_feeds(self) -> Iterator[None]:
        """A block in which a feed that lacks changes is named, with what to do."""
        try:
            yield
        except InputError as reason:
            if NO_FEED in str(reason.__cause__):
                raise InputError(_no_feed(self._changes)) from reason
            raise

    def _started(self, query: str) -> None:
        self._stream = f"{STREAM}:{query}"
        self._check_checkpoint()

    def _check_checkpoint(self) -> None:
        """Raises UsageError where the checkpoint is not the state's: changes would be taken twice, or never."""
        others = [name for name in self._flow.batches if name.startswith(f"{STREAM}:") and name != self._stream]
        if others and self._stream not in self._flow.batches:
            raise UsageError(
                f"the state has taken changes under another checkpoint than {self._settings.checkpoint}\n"
                "  hint: bring that checkpoint back; without it, files that were taken would be taken again; or derive "
                "all of it from the inputs and the files that are there: tidelog pipeline run --anew"
            )
        if last_batch(self._settings) > self._flow.batches.get(self._stream, -1):
            raise UsageError(
                f"the checkpoint {self._settings.checkpoint} has taken changes that the state does not have\n"
                "  hint: it is of another state, or of this one before it was made anew; remove it, and all files of "
                "changes are taken from the first on"
            )

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
            raise bad_batch(read.bad, number)
        if read.bad:
            put_aside(self._spark, read.bad, self._settings.bad_rows, f"{self._stream.partition(':')[2]}-{number}")
            self._progress(f"batch {number}: {len(read.bad):,} bad rows put aside in {self._settings.bad_rows}")
        change = read.change
        delta = self._flow.take(change.inserted, change.retracted, {self._stream: number}, f"batch {number}")
        self._sinks.write_deltas(delta)
        self._progress(f"batch {number} taken as version {delta.version} in {perf_counter() - started:.2f} s")
        self._changed(delta)
        if monotonic() - self._written_at > self._settings.refresh:
            self._sinks.write_rows()
            self._written_at = monotonic()


def check_process(spark: SparkSession) -> None:
    """Raises UsageError where Spark is in another process, in which batches would be taken."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise UsageError(
            "changes cannot be followed through Spark Connect: batches would be taken in another process\n"
            "  hint: use a session of this process, or take the changes with flow.apply"
        )


def forget_checkpoint(settings: FollowSettings) -> None:
    """Removes what Spark has noted of the files taken, so that all of them are new."""
    files = open_files(settings.checkpoint)
    with explaining(files.address):
        for name in files.names(""):
            files.delete(name)


def last_batch(settings: FollowSettings) -> int:
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
