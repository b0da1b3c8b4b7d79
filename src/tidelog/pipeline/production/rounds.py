"""Exchanges between partitions until no production rule changes anything: frames in, what came and went out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.spark.kept_rows import keep
from tidelog.backends.spark.packed_rows import PACKED, answers, unpacked
from tidelog.backends.spark.reduction_protocol import delivered, own_errors, to_partition
from tidelog.backends.spark.tagged_rows import TAG, TO, union_all
from tidelog.errors import EvaluationError, LimitError
from tidelog.pipeline.production.director import Director, Pace
from tidelog.pipeline.production.ends import Ends
from tidelog.pipeline.production.handler import Work
from tidelog.pipeline.production.records import ITERATION, numbers
from tidelog.pipeline.production.stage import (
    SAME,
    TOLD,
    Script,
    Told,
    layout_of,
    mail_about,
    records_of,
    run_answers,
    run_exchange,
    run_first,
)
from tidelog.pipeline.production.turn import rules_fired, turn_error
from tidelog.production.report import CycleUsage, check_cycles

FRAMES_AT_ONCE = 8
"""Frames of what is known that are put together: a union of many costs more than the rows in it."""

Frames = Mapping[str, DataFrame]


def run_rounds(spark: SparkSession, work: Work, rules: tuple[ProductionRule, ...], pace: Pace, tables: Frames) -> Ends:
    """What the production rules do to the facts of `tables`; a relation that is missing there has none.

    An error in a partition that runs ahead may come from a state that never is: then partitions go in step.
    """
    script = Script(work, layout_of(work))
    log = Log(spark, script)
    director = Director(pace)
    began = monotonic()
    rows, step = log.first(tables), run_first
    while True:
        try:
            told, same = log.take(rows.mapInArrow(partial(step, script, director.progress), PACKED))
        except (EvaluationError, LimitError):
            if pace is Pace.SYNCHRONOUS:
                raise
            return run_rounds(spark, work, rules, Pace.SYNCHRONOUS, tables)
        turn = director.hear(told, same)
        if turn is not None:
            raise turn_error(script, rules, turn, log.all())
        usage = CycleUsage(director.cycles, director.rows, monotonic() - began)
        try:
            check_cycles(usage, work.limits, ())
        except LimitError:
            last = director.cycles - 1
            check_cycles(usage, work.limits, rules_fired(script, rules, [last], log.all())[last])
        if director.is_done:
            return Ends(*log.answers())
        rows, step = log.next(), run_exchange


class Log:
    """All that partitions know, as frames of packed rows; the last has mail that they have not taken in yet."""

    def __init__(self, spark: SparkSession, script: Script) -> None:
        self._spark = spark
        self._script = script
        self._partitions = script.work.partitioner.partitions
        self._known: list[DataFrame] = []
        self._last: list[DataFrame] = []
        self._is_told = sf.col(TAG).isin([script.layout.tags[tag] for tag in (TOLD, SAME)])

    def first(self, tables: Frames) -> DataFrame:
        """The facts at the start, each where it is at home."""
        work, layout = self._script.work, self._script.layout
        sent = [
            layout.tag(name, tables[name], to_partition(work.partitioner, work.program.schemas[name], way))
            for name in work.placement.ways
            if name in tables
            for way in work.placement.homes(name)
        ]
        return delivered(layout, sent, self._spark, self._partitions)

    def take(self, found: DataFrame) -> tuple[list[Told], list[tuple[int, int]]]:
        """Computes an exchange, and returns what partitions said about themselves."""
        kept = keep(found)
        with own_errors():
            said = kept.where(self._is_told).toArrow()
        self._known += [self._taken_in(frame) for frame in self._last]
        if len(self._known) == FRAMES_AT_ONCE:
            self._known = [keep(union_all(self._known).coalesce(self._partitions))]
        self._last = [kept.where(~self._is_told)]
        told, same = [], []
        for number in range(self._partitions):
            mine = said.filter(pa.array(said[TO].to_numpy() == number))
            tables = unpacked(self._script.layout, mine.to_batches())
            told.append(Told(*tables[TOLD].to_pylist()[0].values()))
            if SAME in tables:
                same += [(number, iteration) for iteration in numbers(tables[SAME], ITERATION).tolist()]
        return told, same

    def next(self) -> DataFrame:
        """Everything, each row where it is for."""
        return union_all([*self._known, *self._last]).repartitionById(self._partitions, TO)

    def all(self) -> DataFrame:
        return union_all([*self._known, *self._last])

    def answers(self) -> tuple[dict[str, DataFrame], dict[str, DataFrame]]:
        """What came and what went, by relation."""
        layout, work = self._script.layout, self._script.work
        found = keep(self.next().mapInArrow(partial(run_answers, self._script), PACKED))

        def rows(tag: Callable[[str], str], name: str) -> DataFrame:
            frame = answers(layout, tag(name), found)
            return frame.select(*frame.columns[: work.program.schemas[name].arity])

        names = work.placement.owners
        came, went = ({name: rows(tag, name) for name in names} for tag in (mail_about, records_of))
        return came, went

    def _taken_in(self, frame: DataFrame) -> DataFrame:
        """`frame` with its mail as records that are known."""
        tags, acted_on = self._script.layout.tags, self._script.work.placement.owners
        is_mail = sf.col(TAG).isin([tags[mail_about(name)] for name in acted_on])
        return frame.withColumn(TAG, sf.when(is_mail, sf.col(TAG) + len(acted_on)).otherwise(sf.col(TAG)))
