"""Programs on a cluster of two executors, one of which is killed: `executor_killing.py MASTER FOLDER [KIND …]`.

Prints a line for each kind of stage, `right` or `WRONG`. An executor is killed by a task of the
stage in question where that runs Python, otherwise by the driver as soon as such a stage has a task.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest import mock

import pyarrow as pa
from mortal_pipeline import MortalPipeline
from processes import ancestors_of, command_of, descendants_of
from pyspark.sql import DataFrame, SparkSession

from answers import by_oracle, checked_program
from spark.reductions import Case, on_spark
from spark.stories import EVERYTHING_FAR, Keeper
from spark.test_reduction_strategies import PROGRAMS
from tidelog.backends.spark import components, reduction_closure, reduction_preserved, reduction_rounds
from tidelog.backends.spark.reduction_protocol import Settings, keep_locally
from tidelog.backends.spark.session import SessionSettings, start_session
from tidelog.pipeline.config_file import read_pipeline
from tidelog.pipeline.run import Hearer, apply, run
from tidelog.plan.reduction import Strategy

EXECUTOR = "CoarseGrainedExecutorBackend"
HERE = Path(__file__).parent
CLUSTER = int(os.environ.get("TIDELOG_CLUSTER", "0"))
"""The process below which the executors are; without it this one."""

OPTIONS = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "700m",
    "spark.executor.cores": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(str, (HERE.parent, HERE))),
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.storage.cachedPeersTtl": "100",  # whom to give second copies to; for a minute a new executor is not known
}

STAGES: dict[str, tuple[Any, str, str, Strategy, bool]] = {
    "a stratum in one task": (reduction_preserved, "run_to_the_end", "same generation", Strategy.ALONE, True),
    "a preserved variable": (reduction_preserved, "run_to_the_end", "right linear", Strategy.PRESERVED, False),
    "the first asynchronous round": (reduction_rounds, "run_first_round", "points to", Strategy.ASYNCHRONOUS, True),
    "an asynchronous round": (reduction_rounds, "run_round", "points to", Strategy.ASYNCHRONOUS, True),
    "the first synchronous round": (reduction_rounds, "run_first_round", "non-linear", Strategy.SYNCHRONOUS, False),
    "a synchronous round": (reduction_rounds, "run_round", "same generation", Strategy.SYNCHRONOUS, True),
    "a closure by source": (reduction_closure, "close_partition", "non-linear", Strategy.PRESERVED, True),
    "closures by group": (
        reduction_closure,
        "close_partition",
        "closures by group, of texts",
        Strategy.PRESERVED,
        True,
    ),
    "components": (components, "join_partition", "same as", Strategy.ASYNCHRONOUS, True),
}
"""Where a stage is named, its name there, the program, the strategy, and whether modules may compute closures."""


def in_a_task(spark: SparkSession, folder: Path, kind: str) -> bool:
    """Whether the answer is right though a task of a stage killed its executor."""
    owner, name, program, strategy, modules = STAGES[kind]
    text, facts = PROGRAMS[program]
    case, flag = Case(text, facts, modules=modules), folder / kind.replace(" ", "-")
    with mock.patch.object(owner, name, partial(dying, str(flag), getattr(owner, name))):
        answer = case.answers(on_spark(spark), strategy, partitions=2)
    assert flag.exists(), f"{kind}: no task came to where it is killed; {[one.reason for one in case.taken]}"
    return answer == by_oracle(case.checked, facts)


def dying(flag: str, stage: Callable[..., Iterator[pa.RecordBatch]], *arguments: Any) -> Iterator[pa.RecordBatch]:
    """What `stage` gives; the first task that is here kills its executor after the first batch."""
    batches = stage(*arguments)
    first = next(batches, None)
    if first is not None:
        yield first
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        yield from batches
        return
    (executor,) = (one for one in ancestors_of(os.getpid()) if EXECUTOR in command_of(one))
    os.kill(executor, signal.SIGKILL)
    time.sleep(600)


def between_rounds(spark: SparkSession, _folder: Path) -> bool:
    """Whether rows that are kept between two stages survive the loss of an executor that had them."""
    kept = 0

    def keep(frame: DataFrame) -> DataFrame:
        nonlocal kept
        kept += 1
        if kept == 4:
            kill_executor()
        return keep_locally(frame)

    text, facts = PROGRAMS["points to"]
    case = Case(text, facts)
    wait_for_executors(spark)
    answer = case.answers(on_spark(spark, Settings(keep)), Strategy.ASYNCHRONOUS, partitions=2)
    assert kept >= 4, "there are not enough rounds"
    return answer == by_oracle(case.checked, facts)


def in_joins(spark: SparkSession, _folder: Path) -> bool:
    """Whether rules that run as DataFrame plans, with rows kept in the cluster, survive, early and late."""
    text, facts = PROGRAMS["negation and aggregates of what is below"]
    checked = checked_program(text)
    answers = []
    for first in (3, 12):
        with killing_in_stages(spark, first=first, most=1) as killed:
            keeper = Keeper(spark, checked, EVERYTHING_FAR)
            keeper.load(facts)
            answers.append(keeper.all_rows())
        assert killed, "no stage was met"
    return answers == [by_oracle(checked, facts)] * 2


def in_the_pipeline(spark: SparkSession, folder: Path) -> bool:
    """Whether inputs, batches, outputs and deltas of the compiled tier survive."""
    pipeline = MortalPipeline(folder / "pipeline", random.Random(3))
    settings = read_pipeline(pipeline.folder / "pipeline.toml")
    silent = Hearer(lambda _: None, lambda _: None)
    for action in (run, apply):
        pipeline.feed(3)
        with killing_in_stages(spark, first=1, most=3) as killed:
            action(settings, silent)
        assert killed, "no stage was met"
    assert pipeline.taken() == 6
    pipeline.check_outputs()
    return True


@contextmanager
def killing_in_stages(spark: SparkSession, *, first: int, most: int) -> Iterator[list[int]]:
    """Kills an executor when the `first` stage has a task, and others in every second stage after it."""
    killed: list[int] = []
    is_over = Event()
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        seen: set[int] = set()
        due = first
        context = spark.sparkContext._jsc.sc()
        while not is_over.wait(0.002) and len(killed) < most:
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if stage in seen or info is None or not info.numActiveTasks:
                    continue
                seen.add(stage)
                if len(seen) >= due and len(executors()) == 2 and context.getExecutorMemoryStatus().size() == 3:
                    killed.append(kill_executor())
                    due = len(seen) + 2

    wait_for_executors(spark)
    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield killed
    finally:
        is_over.set()
        watcher.join(10)


def executors() -> list[int]:
    return [one for one in descendants_of(CLUSTER or os.getpid()) if EXECUTOR in command_of(one) and not is_shell(one)]


def is_shell(process: int) -> bool:
    return command_of(process).startswith(("sh ", "/bin/sh ", "bash ", "/bin/bash "))


def kill_executor() -> int:
    """Kills the executor that has lived longest."""
    chosen = min(executors())
    os.kill(chosen, signal.SIGKILL)
    return chosen


def wait_for_executors(spark: SparkSession) -> None:
    """Waits until the driver knows two executors: what is kept while there is one has no second copy."""
    end = time.monotonic() + 180
    while len(executors()) != 2 or spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() != 3:
        assert time.monotonic() < end, "there are no two executors"
        time.sleep(0.1)


KINDS: dict[str, Callable[[SparkSession, Path], bool]] = {
    **{kind: partial(in_a_task, kind=kind) for kind in STAGES},
    "rows kept between rounds": between_rounds,
    "joins of frames": in_joins,
    "the pipeline": in_the_pipeline,
}
FEW = ["a preserved variable", "an asynchronous round", "components", "the pipeline"]


def main(master: str, folder: Path, kinds: list[str]) -> None:
    spark = start_session(SessionSettings(master=master, application="tidelog executors", options=OPTIONS))
    for kind in kinds:
        started = time.monotonic()
        wait_for_executors(spark)
        is_right = KINDS[kind](spark, folder)
        print(f"{'right' if is_right else 'WRONG'}: {kind}, {time.monotonic() - started:.1f} s", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:] or list(KINDS))
