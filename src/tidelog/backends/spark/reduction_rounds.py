"""Strata whose rows travel: a stage for each round, a shuffle that carries the mail, until nobody has news.

What a partition knows is in frames that every round adds to. Each round reads them, so that a task can run again
anywhere; after some rounds they become one.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.backends.spark.engine_stage import Pace, Script, mail_to, run_first_round, run_round
from tidelog.backends.spark.reduction_protocol import Settings, Tables, copies_sent, delivered, first_mail, own_errors
from tidelog.backends.spark.tagged_rows import TAG, TO, union_all
from tidelog.errors import LimitError

FRAMES_AT_ONCE = 8
"""Frames of what is known that are put together: a union of many costs more than the rows in it."""


def run_rounds(
    spark: SparkSession, script: Script, pace: Pace, tables: Tables, settings: Settings
) -> dict[str, DataFrame]:
    """All rows of each derived relation."""
    partitions = script.partitioner.partitions
    copies = settings.keep(delivered(script.layout, copies_sent(script, tables), spark, partitions))
    step = partial(run_first_round, script, pace)
    mail, known = first_mail(script, tables), list[DataFrame]()
    tags = [script.layout.tags[mail_to(name)] for name in script.placement.derived]
    is_mail = sf.col(TAG).isin(tags)
    for _ in range(settings.most_rounds):
        rows = union_all([copies, *known, *mail]).repartitionById(partitions, TO)
        found = settings.keep(rows.mapInArrow(step, script.layout.struct))
        with own_errors():
            has_mail = not found.where(is_mail).isEmpty()
        known.append(found.where(~is_mail))
        if not has_mail:
            answer = union_all(known)
            return {name: script.layout.untag(name, answer) for name in script.placement.derived}
        if len(known) == FRAMES_AT_ONCE:
            known = [settings.keep(union_all(known).coalesce(partitions))]
        mail = [found.where(is_mail)]
        step = partial(run_round, script, pace)
    raise LimitError(
        f"the limit of {settings.most_rounds:,} rounds was reached while new rows kept coming, in the stratum of "
        f"{', '.join(script.placement.derived)}\n"
        "  hint: raise it with --limit-rounds or limits=Limits(rounds=…), or bound what the rules derive"
    )
