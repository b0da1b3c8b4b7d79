"""Rows that executors keep between jobs, and what to do when they are gone with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from tidelog.backends.spark.reasons import RowsLostError, is_loss

Found = TypeVar("Found")

MOST_TIMES = 4
"""How often the same work is begun."""


def keep(frame: DataFrame) -> DataFrame:
    """`frame`, computed once when somebody reads it and cut off from the plan it comes from.

    Where there are several executors its rows are on two of them, so that the loss of one costs nothing.
    """
    return frame.localCheckpoint(eager=False, storageLevel=_storage(frame))


def keep_now(frame: DataFrame) -> DataFrame:
    """As `keep`, computed before it returns."""
    return frame.localCheckpoint(eager=True, storageLevel=_storage(frame))


def surviving(work: Callable[[], Found], start_over: Callable[[], None]) -> Found:
    """What `work` gives. Where kept rows are lost meanwhile it is done again, after `start_over` has thrown away what
    was made of them and has brought back what `work` begins with.

    RowsLostError when they are lost again and again, or when `start_over` says so.
    """
    loss: Exception | None = None
    for _ in range(MOST_TIMES):
        try:
            if loss is not None:
                start_over()
            return work()
        except Exception as reason:  # files, states and streams wrap what Spark says, each in errors of its own
            if not is_loss(reason):
                raise
            loss = reason
    raise RowsLostError(
        f"executors of Spark were lost {MOST_TIMES} times in the middle of the same work, with rows that they kept\n"
        "  hint: nothing has changed; see why they end (often a want of memory), then do it again"
    ) from loss


def _storage(frame: DataFrame) -> StorageLevel:
    master = frame.sparkSession.conf.get("spark.master", None) or ""
    is_alone = master.partition("[")[0] == "local"
    return StorageLevel.MEMORY_AND_DISK if is_alone else StorageLevel.MEMORY_AND_DISK_2
