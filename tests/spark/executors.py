"""The executors of a cluster on this machine: finds them below a process, and kills them in the middle of a stage."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from processes import ancestors_of, command_of, descendants_of
from pyspark.sql import SparkSession
from pyspark.status import SparkStageInfo, StatusTracker

EXECUTOR = "CoarseGrainedExecutorBackend"
CLUSTER = int(os.environ.get("TIDELOG_CLUSTER", "0"))
"""The process below which the executors are; without it this one."""

SECONDS = 180


def executors() -> list[int]:
    """The executors, the one that has lived longest first."""
    found = (one for one in descendants_of(CLUSTER or os.getpid()) if EXECUTOR in command_of(one))
    return sorted(one for one in found if not is_shell(one))


def is_shell(process: int) -> bool:
    return command_of(process).startswith(("sh ", "/bin/sh ", "bash ", "/bin/bash "))


def kill_own_executor() -> None:
    """Kills the executor that this process, a worker of Python, belongs to."""
    (executor,) = (one for one in ancestors_of(os.getpid()) if EXECUTOR in command_of(one))
    os.kill(executor, signal.SIGKILL)


def kill_one() -> None:
    os.kill(executors()[0], signal.SIGKILL)


def kill_all(spark: SparkSession) -> None:
    """Kills every executor, and waits until there are others."""
    for one in executors():
        os.kill(one, signal.SIGKILL)
    wait_for_executors(spark, without=known_executors(spark))


def wait_for_executors(spark: SparkSession, without: frozenset[str] = frozenset()) -> None:
    """Waits until the driver knows two executors: what is kept while there is one has no second copy."""
    end = time.monotonic() + SECONDS
    while not are_there(spark) or known_executors(spark) & without:
        assert time.monotonic() < end, "there are no two executors"
        time.sleep(0.1)


def are_there(spark: SparkSession) -> bool:
    """Whether there are two executors, both known to the driver."""
    return len(executors()) == 2 and len(known_executors(spark)) == 2


def known_executors(spark: SparkSession) -> frozenset[str]:
    """The addresses of those that the driver knows; its own, which it counts too, is left out."""
    context = spark.sparkContext._jsc.sc()
    own = context.env().blockManager().blockManagerId().hostPort()
    known = context.getExecutorMemoryStatus().keysIterator()
    found = set()
    while known.hasNext():
        found.add(known.next())
    return frozenset(found - {own})


@contextmanager
def killing_in_stages(spark: SparkSession, *, first: int, most: int, name: str = "") -> Iterator[list[str]]:
    """Kills an executor in the middle of the `first` stage that has `name` in its own name, and then of every second
    one. The names of the stages that lost a task that way."""
    struck: list[str] = []
    is_over = Event()

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        seen: set[int] = set()
        due = first
        while not is_over.wait(0.002) and len(struck) < most:
            for info in at_work(tracker):
                if info.stageId in seen or name not in info.name:
                    continue
                seen.add(info.stageId)
                if len(seen) >= due and are_there(spark) and strike(spark, info.stageId):
                    struck.append(info.name)
                    due = len(seen) + 2

    wait_for_executors(spark)
    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield struck
    finally:
        is_over.set()
        watcher.join(SECONDS)


def at_work(tracker: StatusTracker) -> Iterator[SparkStageInfo]:
    """The stages that have running tasks."""
    for stage in tracker.getActiveStageIds():
        info = tracker.getStageInfo(stage)
        if info is not None and info.numActiveTasks:
            yield info


def strike(spark: SparkSession, stage: int) -> bool:
    """Kills an executor that has a task, unless the stage is over by then; whether a task of the stage was lost.

    It is stopped first: what is still running some time later is running there.
    """
    chosen = busy_executor(spark)
    if chosen is None:
        return False
    os.kill(chosen, signal.SIGSTOP)
    time.sleep(0.3)
    tracker = spark.sparkContext.statusTracker()
    if all(info.stageId != stage for info in at_work(tracker)):
        os.kill(chosen, signal.SIGCONT)
        return False
    os.kill(chosen, signal.SIGKILL)
    end = time.monotonic() + 10
    while not has_lost_a_task(tracker, stage):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def busy_executor(spark: SparkSession) -> int | None:
    """An executor that runs a task."""
    told = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    busy = {told.apply(place).id() for place in range(told.size()) if told.apply(place).activeTasks()}
    named = ((one, command_of(one).partition("--executor-id ")[2].split()[0]) for one in executors())
    return next((one for one, name in named if name in busy), None)


def has_lost_a_task(tracker: StatusTracker, stage: int) -> bool:
    info = tracker.getStageInfo(stage)
    return info is not None and bool(info.numFailedTasks or info.currentAttemptId)
