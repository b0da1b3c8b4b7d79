"""What reductions need around their stages: rows on their way to partitions, frames that stay, errors that return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.backends.spark.engine_stage import Script, mail_to
from tidelog.backends.spark.kept_rows import keep
from tidelog.backends.spark.partitions import Partitioner
from tidelog.backends.spark.reasons import SPARK_ERRORS, JobError
from tidelog.backends.spark.tagged_rows import TO, Layout, union_all
from tidelog.errors import EvaluationError, LimitError
from tidelog.plan.placement import EVERYWHERE, WHOLE_ROW, copy_of
from tidelog.schema import Schema
from tidelog.span import NOWHERE, Span

Tables = Mapping[str, DataFrame]
"""The rows of each relation, columns in the order of its schema."""

Keep = Callable[[DataFrame], DataFrame]
"""Cuts the plan of a frame whose rows are to be computed once: the frame that it gives has them."""

_RAISED = re.compile(r"tidelog\.errors\.(EvaluationError|LimitError): (.*?)(?:\n\s*\n|\n\tat |\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Settings:
    """How reductions run."""

    keep: Keep
    most_rounds: int = 100_000
    most_rows: int = 2_000_000_000


LOCAL = Settings(keep)


def copies_sent(script: Script, tables: Tables) -> list[DataFrame]:
    """The copies that partitions have of relations that are not derived here."""
    return [
        script.layout.tag(copy_of(name, way), tables[name], to_partition(script.partitioner, script.schemas[name], way))
        for name, way in script.placement.copies()
        if name in tables
    ]


def first_mail(script: Script, tables: Tables) -> list[DataFrame]:
    """What derived relations have before their rules run, on its way to all that read it."""
    placement = script.placement
    return [
        script.layout.tag(mail_to(name), tables[name], to_partition(script.partitioner, script.schemas[name], way))
        for name in placement.derived
        if name in tables
        for way in ([EVERYWHERE] if EVERYWHERE in placement.ways[name] else placement.ways[name])
    ]


def to_partition(partitioner: Partitioner, schema: Schema, way: int) -> Column:
    """The partition, or one after the other all partitions, that a row with the columns c0, c1 and on is for."""
    columns = [sf.col(f"c{number}") for number in range(schema.arity)]
    if way == EVERYWHERE:
        return to_all(partitioner.partitions)
    if way == WHOLE_ROW:
        return partitioner.of_row(schema.kinds, columns)
    return partitioner.of_column(schema.kinds[way], columns[way])


def to_all(partitions: int) -> Column:
    """Every partition."""
    return sf.explode(sf.sequence(sf.lit(0), sf.lit(partitions - 1)))


def delivered(layout: Layout, frames: list[DataFrame], spark: SparkSession, partitions: int) -> DataFrame:
    """The rows of all frames, each in the partition that it is for; no partition is empty."""
    return union_all([*frames, layout.markers(spark, partitions)]).repartitionById(partitions, TO)


@contextmanager
def own_errors() -> Iterator[None]:
    """Raises what a task raised as the error of Tidelog that it was."""
    try:
        yield
    except (*SPARK_ERRORS, JobError) as error:
        raised = own_error(error.__cause__ if isinstance(error, JobError) and error.__cause__ else error)
        if raised is None:
            raise
        raise raised from error


def own_error(error: BaseException) -> EvaluationError | LimitError | None:
    """The error of Tidelog that made a Spark job fail, None if it was something else."""
    found = _RAISED.search(str(error))
    if found is None:
        return None
    name, text = found.group(1), found.group(2).strip()
    if name == "LimitError":
        return LimitError(text)
    place = re.match(r"(.*?):(\d+):(\d+): (.*)", text, re.DOTALL)
    if place is None:
        return EvaluationError(text, NOWHERE)
    file, line, column, message = place.groups()
    start = (int(line), int(column))
    return EvaluationError(message, Span(file, *start, *start))
