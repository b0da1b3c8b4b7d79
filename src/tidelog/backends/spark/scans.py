"""Scans as DataFrames, and joins with them."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from tidelog.backends.spark.expressions import literal
from tidelog.backends.spark.flow import Flow, Run
from tidelog.backends.spark.layout import AGE_COLUMN, variable_column
from tidelog.facts.columns import column_of
from tidelog.language.syntax_tree import Constant
from tidelog.plan.nodes import AGE, Scan, Values, Version
from tidelog.plan.walk import columns_of, scans_of

_THEIR_AGE = "t_age"

_AGED = (Version.OLDER, Version.YOUNGER)


def scanned(scan: Scan, run: Run) -> tuple[DataFrame, tuple[str, ...], Version | None]:
    """The rows of a scan with a column for each name; and, if they are to be OLDER or YOUNGER than a row, which."""
    stored = run.store.relations[scan.relation]
    names = columns_of(scan)
    own: dict[str, Column] = {}
    tests: list[Column] = []
    for column, name in zip(scan.columns, (*stored.names[: stored.schema.arity], AGE_COLUMN), strict=False):
        match column:
            case Constant(value):
                kind = stored.kinds[stored.names.index(name)]
                tests.append(sql.col(name) == literal(value, kind))
            case str() if column in own:
                tests.append(own[column] == sql.col(name))
            case str():
                own[column] = sql.col(name)
            case None:
                pass
    frame = _rows(scan, run)
    if tests:
        frame = frame.where(reduce(Column.__and__, tests))
    if scan.version in _AGED:
        names = tuple(name for name in names if name != AGE)
        aged = [own[name].alias(variable_column(name)) for name in names]
        return frame.select(*aged, sql.col(AGE_COLUMN).alias(_THEIR_AGE)), names, scan.version
    if AGE in own and not _is_age_read(run):
        own[AGE] = sql.lit(0).cast("long")
    return frame.select(*(own[name].alias(variable_column(name)) for name in names)), names, None


def _rows(scan: Scan, run: Run) -> DataFrame:
    stored = run.store.relations[scan.relation]
    if scan.version is not Version.MARKED:
        return stored.frame(scan.version)
    marked = run.store.marked[scan.relation]
    if scan.columns[-1:] == (AGE,) and len(scan.columns) > stored.schema.arity and _is_age_read(run):
        return marked.frame.join(run.beside(stored.full), list(stored.names))
    return marked.frame


def _is_age_read(run: Run) -> bool:
    """Whether some scan of the rule asks for older or younger rows."""
    return any(scan.version in _AGED for scan in scans_of(run.rule.node))


def joined_with(
    flow: Flow,
    rows: tuple[DataFrame, tuple[str, ...], Version | None],
    kept: tuple[str, ...],
    run: Run,
    *,
    counts: bool,
) -> Flow:
    """The rows of `flow` with those of `rows` that agree. Unless each match `counts`, one is enough."""
    frame, columns, aged = rows
    if flow.frame is None:
        return Flow(frame, columns).narrowed(kept)
    shared = [variable_column(name) for name in columns if name in flow.names]
    names = tuple(dict.fromkeys((*flow.names, *columns)))
    is_new = any(name in kept for name in columns if name not in flow.names)
    if aged is None and not is_new and not counts:
        return Flow(_present(flow.frame, frame, shared, run), flow.names).narrowed(kept)
    joined = flow.frame.join(run.beside(frame), shared) if shared else flow.frame.crossJoin(frame)
    if aged is not None:
        theirs, bound = sql.col(_THEIR_AGE), sql.col(variable_column(AGE))
        # What was derived ahead of the rounds has one age, so that it may follow from rows of the same age.
        joined = joined.where(theirs < bound if aged is Version.OLDER else theirs >= bound)
        return Flow(joined, names).select(kept)
    return Flow(joined, names).narrowed(kept)


def rows_without(flow: Flow, scan: Scan, run: Run) -> Flow:
    """The rows of `flow` that agree with no row of `scan`."""
    frame, columns, _ = scanned(scan, run)
    shared = [variable_column(name) for name in columns if name in flow.names]
    rows = flow.rows(run)
    if not shared:
        return Flow(rows.join(frame.select().limit(1), sql.lit(True), "left_anti"), flow.names)
    return Flow(rows.join(run.beside(frame.select(*shared)), shared, "left_anti"), flow.names)


def _present(rows: DataFrame, frame: DataFrame, shared: list[str], run: Run) -> DataFrame:
    """The rows that have a match."""
    if not shared:
        return rows.crossJoin(frame.select().limit(1))
    return rows.join(run.beside(frame.select(*shared)), shared, "left_semi")


def values_frame(values: Values, run: Run) -> DataFrame:
    """Rows of the text, each once."""
    rows = tuple(dict.fromkeys(values.rows))
    if not values.columns:
        return run.unit().limit(min(1, len(rows)))
    table = pa.Table.from_arrays(
        [column_of(kind, [row[number] for row in rows]) for number, kind in enumerate(values.kinds)],
        names=[variable_column(name) for name in values.columns],
    )
    return run.store.jobs.frame(table, values.kinds)
