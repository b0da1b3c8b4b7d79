"""Production rules in one task: all facts in, what came and went out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.spark.kept_rows import keep_now
from tidelog.backends.spark.packed_rows import PACKED, answers, packed
from tidelog.backends.spark.reasons import SPARK_ERRORS, JobError
from tidelog.backends.spark.reduction_protocol import delivered, own_errors
from tidelog.backends.spark.tagged_rows import Layout
from tidelog.errors import OscillationError
from tidelog.maintain.protocol import Limits
from tidelog.pipeline.production.ends import Ends
from tidelog.production.cycle import run_rules
from tidelog.production.support import relations_needed

_GOES_ROUND = re.compile(r"tidelog\.errors\.OscillationError: (.*?)(?:\n\s*\n|\n\tat |\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class AloneScript:
    """What the task does and how its rows lie."""

    checked: CheckedProgram
    limits: Limits
    layout: Layout


def run_in_one_task(
    spark: SparkSession, checked: CheckedProgram, tables: Mapping[str, DataFrame], limits: Limits
) -> Ends:
    """What the production rules do to the facts of `tables`; a relation that is missing there has none."""
    needed = {name: checked.schemas[name] for name in sorted(relations_needed(checked))}
    acted_on = dict.fromkeys(head.atom.relation for rule in checked.productions for head in rule.heads)
    ends = {tag(name): checked.schemas[name] for tag in (_came, _went) for name in acted_on}
    script = AloneScript(checked, limits, Layout({**needed, **ends}))
    sent = [script.layout.tag(name, tables[name], sf.lit(0)) for name in needed if name in tables]
    rows = delivered(script.layout, sent, spark, 1)
    with task_errors():
        found = keep_now(rows.mapInArrow(partial(run_task, script), PACKED))
    came, went = ({name: answers(script.layout, tag(name), found) for name in acted_on} for tag in (_came, _went))
    return Ends(came, went)


def run_task(script: AloneScript, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What came and went, packed."""
    given = script.layout.tables(batches)
    result = run_rules(script.checked, LocalBackend(script.checked.schemas), given, limits=script.limits)
    for tables, tag in ((result.came, _came), (result.went, _went)):
        for name, rows in tables.items():
            if rows.num_rows:
                yield packed(script.layout, tag(name), rows, 0, is_answer=True)


@contextmanager
def task_errors() -> Iterator[None]:
    """Raises what a task raised as the error of Tidelog that it was."""
    try:
        with own_errors():
            yield
    except (*SPARK_ERRORS, JobError) as error:
        found = _GOES_ROUND.search(str(error.__cause__ if isinstance(error, JobError) else error))
        if found is None:
            raise
        raise OscillationError(found.group(1).strip()) from error


def _came(relation: str) -> str:
    return f"{relation}@came"


def _went(relation: str) -> str:
    return f"{relation}@went"
