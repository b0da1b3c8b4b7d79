"""A Structured Streaming query whose batches are taken one after the other; an error of ours comes out as it is."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from time import sleep

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tidelog.backends.spark.reasons import SPARK_ERRORS, cause_of, first_line
from tidelog.errors import InputError, TidelogError, UsageError

_BETWEEN_LOOKS = 0.05
"""Seconds between looks whether a query has ended."""


class Batches:
    """The batches of `rows`. `started` is told the id of the query before `take` is called with a batch and its number;
    either may raise."""

    def __init__(
        self,
        rows: DataFrame,
        checkpoint: str,
        started: Callable[[str], None],
        take: Callable[[DataFrame, int], None],
    ) -> None:
        self._rows = rows
        self._checkpoint = checkpoint
        self._started = started
        self._take_batch = take
        self._is_named = Event()
        self._failure: BaseException | None = None

    def take_all(self) -> None:
        """Takes everything that is there now."""
        self._await(self._start(self._writer().trigger(availableNow=True)))

    def follow(self, every: float) -> None:
        """Takes what arrives, looking for it after so many seconds, until it is interrupted or a batch fails."""
        query = self._start(self._writer().trigger(processingTime=f"{every} seconds"))
        try:
            self._await(query)
        finally:
            query.stop()

    def _writer(self) -> DataStreamWriter:
        return self._rows.writeStream.foreachBatch(self._take).option("checkpointLocation", self._checkpoint)

    def _start(self, writer: DataStreamWriter) -> StreamingQuery:
        try:
            query = writer.start()
        except SPARK_ERRORS as reason:
            raise InputError(f"the stream does not start: {first_line(str(reason))}", self._checkpoint) from None
        try:
            self._started(query.id)
        except BaseException:
            self._failure = UsageError("stopped")
            self._is_named.set()
            query.stop()
            raise
        self._is_named.set()
        return query

    def _await(self, query: StreamingQuery) -> None:
        # Ctrl-C while Py4J waits for an answer would break its connection, and PySpark says so at length.
        while query.isActive:
            sleep(_BETWEEN_LOOKS)
        try:
            query.awaitTermination()
        except StreamingQueryException as reason:
            if isinstance(self._failure, TidelogError):
                raise self._failure from None
            raise InputError(f"the stream of changes failed: {cause_of(reason)}") from reason

    def _take(self, batch: DataFrame, number: int) -> None:
        self._is_named.wait()
        if self._failure is not None:
            raise self._failure
        try:
            self._take_batch(batch, number)
        except BaseException as reason:
            self._failure = reason
            raise
