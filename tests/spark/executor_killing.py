"""Programs on a cluster of two executors that are killed: `executor_killing.py MASTER FOLDER [KIND …]`.

Prints a line for each kind of stage, `right` or `WRONG`. An executor is killed by a task of the stage in question where
that runs Python, otherwise by the driver while the executor has a task of such a stage.
"""

from __future__ import annotations

import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
from executors import kill_all, kill_one, kill_own_executor, killing_in_stages, wait_for_executors
from mortal_pipeline import MortalPipeline
from pyspark.sql import DataFrame, SparkSession

import tidelog.spark
from answers import Rows, by_oracle, checked_program
from spark.reductions import Case, on_spark
from spark.stories import EVERYTHING_FAR, Keeper, frame_rows
from spark.test_reduction_strategies import EDGES, NUMBERS, PROGRAMS
from tidelog.backends.spark import (
    components,
    jobs,
    packed_rows,
    reduction_closure,
    reduction_preserved,
    reduction_rounds,
)
from tidelog.backends.spark.backend import SparkBackend
from tidelog.backends.spark.kept_rows import keep
from tidelog.backends.spark.reasons import RowsLostError
from tidelog.backends.spark.reduction_protocol import Settings
from tidelog.backends.spark.session import SessionSettings, start_session
from tidelog.pipeline import starting
from tidelog.pipeline.config import Tier
from tidelog.pipeline.config_file import read_pipeline
from tidelog.pipeline.flow import Flow
from tidelog.pipeline.run import Hearer, apply, run
from tidelog.plan.reduction import Strategy

OPTIONS = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "700m",
    "spark.executor.cores": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.ui.liveUpdate.period": "0",  # a stage is known when it starts
    "spark.storage.cachedPeersTtl": "100",  # whom to give second copies to; for a minute a new executor is not known
}

GROUPS = (
    """.decl link(g: symbol, x: number, y: number)
    .decl same(g: symbol, x: number, y: number)
    same(g, x, y) :- link(g, x, y).
    same(g, y, x) :- same(g, x, y).
    same(g, x, z) :- same(g, x, y), same(g, y, z).""",
    {"link": [("a", 1, 2), ("a", 2, 3), ("b", 2, 4), ("c", 5, 6), ("c", 6, 7), ("d", 1, 9)]},
)
PATHS = NUMBERS + "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z). .output path"
CAME, WENT = [(9, 10), (10, 5)], [(3, 4)]
AFTER = [*(edge for edge in EDGES if edge not in WENT), *CAME]

STAGES: dict[str, tuple[Any, str, Any, Strategy, bool]] = {
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
    "the first round of components": (components, "join_first", "same as", Strategy.ASYNCHRONOUS, True),
    "a round of components": (components, "join_again", "same as", Strategy.ASYNCHRONOUS, True),
    "components by group": (components, "join_first", "groups", Strategy.PRESERVED, True),
    "answers that are unpacked": (packed_rows, "plain_rows", "points to", Strategy.ASYNCHRONOUS, True),
}
"""Where a stage is named, its name there, the program, the strategy, and whether modules may compute closures."""


def in_a_task(spark: SparkSession, folder: Path, kind: str) -> bool:
    """Whether the answer is right though a task of a stage killed its executor."""
    owner, name, program, strategy, modules = STAGES[kind]
    text, facts = {**PROGRAMS, "groups": GROUPS}[program]
    case, flag = Case(text, facts, modules=modules), folder / kind.replace(" ", "-")
    with mock.patch.object(owner, name, partial(dying, str(flag), getattr(owner, name))):
        answer = case.answers(on_spark(spark), strategy, partitions=2)
    assert flag.exists(), f"{kind}: no task came to where it is killed; {[one.reason for one in case.taken]}"
    assert [one.strategy for one in case.taken] == [strategy], f"{kind}: {[one.reason for one in case.taken]}"
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
    kill_own_executor()
    time.sleep(600)


def between_rounds(spark: SparkSession, _folder: Path) -> bool:
    """Whether rows that are kept between two stages survive the loss of an executor that had them."""
    kept = 0

    def keep_and_kill(frame: DataFrame) -> DataFrame:
        nonlocal kept
        kept += 1
        if kept == 4:
            kill_one()
        return keep(frame)

    text, facts = PROGRAMS["points to"]
    case = Case(text, facts)
    answer = case.answers(on_spark(spark, Settings(keep_and_kill)), Strategy.ASYNCHRONOUS, partitions=2)
    assert kept >= 4, "there are not enough rounds"
    return answer == by_oracle(case.checked, facts)


def in_joins(spark: SparkSession, _folder: Path, first: int) -> bool:
    """Whether rules that run as DataFrame plans, with rows kept in the cluster, survive."""
    text, facts = PROGRAMS["negation and aggregates of what is below"]
    checked = checked_program(text)
    keeper = Keeper(spark, checked, EVERYTHING_FAR)
    keeper.load(facts)
    with killing_in_stages(spark, first=first, most=1) as struck:
        answer = keeper.all_rows()
    assert struck, "no stage was met"
    return answer == by_oracle(checked, facts)


def in_changes(spark: SparkSession, folder: Path) -> bool:
    """Whether a change of facts that are in the cluster survives two losses, the second one before all that the first
    one had is on two executors again."""
    with everything_far():
        flow = opened(spark, state=folder / "changed")
        with killing_in_stages(spark, first=4, most=2) as struck:
            changed(flow, spark)
        assert struck, "no stage was met"
    return rows_of(flow) == expected(AFTER)


def in_writes(spark: SparkSession, folder: Path) -> bool:
    """Whether the state is right when an executor is lost that writes it: at the start, and with a change."""
    with everything_far():
        with killing_in_stages(spark, first=1, most=1, name=WRITE) as struck:
            flow = opened(spark, state=folder / "written")
        assert struck, "no stage was met"
        before = rows_of(flow)
        with killing_in_stages(spark, first=1, most=1, name=WRITE) as struck:
            changed(flow, spark)
        assert struck, "no stage was met"
    return [before, rows_of(flow)] == [expected(EDGES), expected(AFTER)]


WRITE = "parquet at "
"""What is in the name of a stage that writes."""


def all_lost(spark: SparkSession, folder: Path) -> bool:
    """Whether a flow goes on from its inputs, and with a change from its state, when no executor is left."""
    with everything_far():
        with losing_all(spark) as engines:
            flow = opened(spark, state=folder / "lost")
        assert engines, "the inputs were not taken again"
        before = rows_of(flow)
        with losing_all(spark) as engines:
            changed(flow, spark)
        assert engines, "the state was not taken up again"
    assert flow.version == 2
    return [before, rows_of(flow)] == [expected(EDGES), expected(AFTER)]


def all_lost_without_a_state(spark: SparkSession, _folder: Path) -> bool:
    """Whether a flow that nobody can bring back says so."""
    with everything_far():
        flow = opened(spark)
        kill_all(spark)
        try:
            changed(flow, spark)
        except RowsLostError as error:
            return "state=FOLDER" in str(error)
    return False


def in_the_pipeline(spark: SparkSession, folder: Path, tier: Tier) -> bool:
    """Whether inputs, batches, outputs and deltas survive."""
    pipeline = MortalPipeline(folder / f"pipeline-{tier.value}", random.Random(3), tier)
    settings = read_pipeline(pipeline.folder / "pipeline.toml")
    silent = Hearer(lambda _: None, lambda _: None)
    with everything_far():
        for action in (run, apply):
            pipeline.feed(3)
            with killing_in_stages(spark, first=1, most=3) as struck:
                action(settings, silent)
            assert struck, "no stage was met"
    assert pipeline.taken() == 6
    pipeline.check_outputs()
    return True


@contextmanager
def everything_far() -> Iterator[None]:
    """Flows of the Spark tier keep all rows in the cluster, however few there are."""
    with mock.patch.object(starting, "SparkBackend", partial(SparkBackend, settings=EVERYTHING_FAR)):
        yield


@contextmanager
def losing_all(spark: SparkSession) -> Iterator[list[None]]:
    """Kills all executors once, when some rows are kept; an item for each engine that is started then."""
    kept = 0
    started: list[None] = []
    start_anew = Flow._start_anew

    def keep_and_kill(frame: DataFrame) -> DataFrame:
        nonlocal kept
        kept += 1
        if kept == 2:
            kill_all(spark)
        return keep(frame)

    def start(flow: Flow) -> None:
        started.append(None)
        start_anew(flow)

    with mock.patch.object(jobs, "keep", keep_and_kill), mock.patch.object(Flow, "_start_anew", start):
        yield started


def opened(spark: SparkSession, state: Path | str = "") -> Flow:
    return tidelog.spark.open(PATHS, spark, inputs={"edge": frame(spark, EDGES)}, state=state, tier=Tier.SPARK)


def changed(flow: Flow, spark: SparkSession) -> None:
    flow.apply(insert={"edge": frame(spark, CAME)}, retract={"edge": frame(spark, WENT)})


def frame(spark: SparkSession, edges: list[tuple[int, int]]) -> DataFrame:
    return spark.createDataFrame(edges, "x long, y long")


def rows_of(flow: Flow) -> Rows:
    return {relation: set(frame_rows(flow[relation])) for relation in ("edge", "path")}


def expected(edges: list[tuple[int, int]]) -> Rows:
    return by_oracle(checked_program(PATHS), {"edge": edges})


KINDS: dict[str, Callable[[SparkSession, Path], bool]] = {
    **{kind: partial(in_a_task, kind=kind) for kind in STAGES},
    "rows kept between rounds": between_rounds,
    "the first joins of frames": partial(in_joins, first=2),
    "joins of frames in later rounds": partial(in_joins, first=12),
    "a change of facts in the cluster": in_changes,
    "writes of the state": in_writes,
    "all executors": all_lost,
    "all executors of a flow without a state": all_lost_without_a_state,
    "a pipeline in the driver": partial(in_the_pipeline, tier=Tier.COMPILED),
    "a pipeline in the cluster": partial(in_the_pipeline, tier=Tier.SPARK),
}
FEW = ["an asynchronous round", "a round of components", "a pipeline in the driver"]


def main(master: str, folder: Path, kinds: list[str]) -> None:
    options = OPTIONS | {"spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"]}
    spark = start_session(SessionSettings(master=master, application="tidelog executors", options=options))
    for kind in kinds:
        started = time.monotonic()
        wait_for_executors(spark)
        try:
            is_right = KINDS[kind](spark, folder)
        except Exception:  # the other kinds are worth a look too
            traceback.print_exc()
            is_right = False
        print(f"{'right' if is_right else 'WRONG'}: {kind}, {time.monotonic() - started:.1f} s", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:] or list(KINDS))
