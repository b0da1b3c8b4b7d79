"""Scans as DataFrames, and joins with them."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from tidelog.backends.spark.body_rows import BodyRows, Run
from tidelog.backends.spark.expressions import literal
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
    so_far: BodyRows,
    rows: tuple[DataFrame, tuple[str, ...], Version | None],
    kept: tuple[str, ...],
    run: Run,
    *,
    counts: bool,
) -> BodyRows:
    """The rows of `so_far` with those of `rows` that agree. Unless each match `counts`, one is enough."""
    frame, columns, aged = rows
    if so_far.frame is None:
        return BodyRows(frame, columns).narrowed(kept)
    shared = [variable_column(name) for name in columns if name in so_far.names]
    names = tuple(dict.fromkeys((*so_far.names, *columns)))
    is_new = any(name in kept for name in columns if name not in so_far.names)
    if aged is None and not is_new and not counts:
        return BodyRows(_present(so_far.frame, frame, shared, run), so_far.names).narrowed(kept)
    joined = so_far.frame.join(run.beside(frame), shared) if shared else so_far.frame.crossJoin(frame)
    if aged is not None:
        theirs, bound = sql.col(_THEIR_AGE), sql.col(variable_column(AGE))
        # What was derived ahead of the rounds has one age, so that it may follow from rows of the same age.
        joined = joined.where(theirs < bound if aged is Version.OLDER else theirs >= bound)
        return BodyRows(joined, names).select(kept)
    return BodyRows(joined, names).narrowed(kept)


def rows_without(so_far: BodyRows, scan: Scan, run: Run) -> BodyRows:
    """The rows of `so_far` that agree with no row of `scan`."""
    frame, columns, _ = scanned(scan, run)
    shared = [variable_column(name) for name in columns if name in so_far.names]
    rows = so_far.rows(run)
    if not shared:
        return BodyRows(rows.join(frame.select().limit(1), sql.lit(True), "left_anti"), so_far.names)
    return BodyRows(rows.join(run.beside(frame.select(*shared)), shared, "left_anti"), so_far.names)


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
