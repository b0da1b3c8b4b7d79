"""Strata whose rows travel: a stage for each round, a shuffle that carries the mail, until nobody has news.

What a partition knows is in frames that every round adds to. Each round reads them, so that a task can run again
anywhere; after some rounds they become one.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.backends.spark.engine_stage import Pace, Script, mail_to, run_first_round, run_round
from tidelog.backends.spark.packed_rows import PACKED, answers, has_packed
from tidelog.backends.spark.reduction_protocol import Settings, Tables, copies_sent, delivered, first_mail, own_errors
from tidelog.backends.spark.tagged_rows import TAG, TO, union_all
from tidelog.errors import LimitError

FRAMES_AT_ONCE = 8
"""Frames of what is known that are put together: a union of many costs more than the rows in it."""


def run_rounds(
    spark: SparkSession, script: Script, pace: Pace, tables: Tables, settings: Settings
) -> dict[str, DataFrame]:
    """All rows of each derived relation."""
    partitions, derived = script.partitioner.partitions, script.placement.derived
    is_mail = sf.col(TAG).isin([script.layout.tags[mail_to(name)] for name in derived])
    rows = delivered(script.layout, [*copies_sent(script, tables), *first_mail(script, tables)], spark, partitions)
    step = partial(run_first_round, script, pace)
    known = list[DataFrame]()
    for _ in range(settings.most_rounds):
        found = settings.keep(rows.mapInArrow(step, PACKED))
        mail = found.where(is_mail)
        with own_errors():
            has_mail = has_packed(mail)
        known.append(found.where(~is_mail))
        if not has_mail:
            return {name: answers(script.layout, name, union_all(known)) for name in derived}
        if len(known) == FRAMES_AT_ONCE:
            known = [settings.keep(union_all(known).coalesce(partitions))]
        rows = union_all([*known, mail]).repartitionById(partitions, TO)
        step = partial(run_round, script, pace)
    raise LimitError(
        f"the limit of {settings.most_rounds:,} rounds was reached while new rows kept coming, in the stratum of "
        f"{', '.join(script.placement.derived)}\n"
        "  hint: raise it with --limit-rounds or limits=Limits(rounds=…), or bound what the rules derive"
    )
