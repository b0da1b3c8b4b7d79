"""Aggregates of a body by group, and rows of another body that they are for."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from tidelog.backends.spark.body_rows import REASON, VALUE, WHY, BodyRows, Failure, Run
from tidelog.backends.spark.expressions import aggregate_of_list, kind_of, literal
from tidelog.backends.spark.layout import SPARK_TYPES, variable_column
from tidelog.language.functions import RANGES
from tidelog.language.syntax_tree import AggregateFunction
from tidelog.plan.nodes import GroupJoin
from tidelog.schema import Kind

_OF_NOTHING = (AggregateFunction.COUNT, AggregateFunction.SUM)
"""Aggregates that are 0 of nothing."""


def grouped(part: GroupJoin, rows: DataFrame, so_far: BodyRows, run: Run) -> tuple[DataFrame, BodyRows | None]:
    """The rows of `so_far` with the aggregate of their group, and those whose aggregate has no value.

    `rows` have the keys and, for all but a count, the value to aggregate.
    """
    keys = [variable_column(key) for key in part.keys]
    kind = Kind.NUMBER if part.value is None else kind_of(part.value, run.kinds)
    value, reason = _aggregate(part, kind)
    groups = rows.groupBy(*keys).agg(value.alias(VALUE))
    if reason is not None:
        groups = _finished(part, kind, groups)
    is_optional = part.function in _OF_NOTHING
    outer = so_far.rows(run)
    joined = (
        outer.join(run.beside(groups), keys, "left" if is_optional else "inner") if keys else outer.crossJoin(groups)
    )
    if reason is not None:
        why = sql.col(REASON)
        good, bad = joined.where(why.isNull()), joined.where(why.isNotNull())
        if not so_far.is_set_aside:
            bad = bad.withColumn(variable_column(WHY), why)
        aside: BodyRows | None = BodyRows(bad, so_far.names).select(tuple(dict.fromkeys((*so_far.names, WHY))))
    else:
        good, aside = joined, None
    if is_optional:
        return good.withColumn(VALUE, sql.coalesce(sql.col(VALUE), literal(0, part.kind))), aside
    return good.where(sql.col(VALUE).isNotNull()), aside


def matched(so_far: BodyRows, failure: Failure, shared: tuple[str, ...], run: Run) -> tuple[BodyRows, BodyRows]:
    """The rows of `so_far` whose group has no failure, and those whose group has one, with its reason."""
    why = variable_column(WHY)
    columns = [variable_column(name) for name in shared]
    failed = failure.rows.rows(run).groupBy(*columns).agg(sql.min(why).alias(why)).where(sql.col(why).isNotNull())
    rows = so_far.rows(run)
    if columns:
        good = rows.join(run.beside(failed.select(*columns)), columns, "left_anti")
    else:
        good = rows.join(failed.select(), sql.lit(True), "left_anti")
    if so_far.is_set_aside:
        failed = failed.select(*columns)
    bad = rows.join(run.beside(failed), columns) if columns else rows.crossJoin(failed)
    names = tuple(dict.fromkeys((*so_far.names, WHY)))
    return BodyRows(good, so_far.names).select(so_far.names), BodyRows(bad, names).select(names)


def _aggregate(part: GroupJoin, kind: Kind) -> tuple[Column, Column | None]:
    """The aggregate of `VALUE`, or what it is computed from where a second column says that it may have no value."""
    value = sql.col(VALUE)
    match part.function:
        case AggregateFunction.COUNT:
            return sql.count(sql.lit(1)), None
        case AggregateFunction.MIN:
            return sql.min(value), None
        case AggregateFunction.MAX:
            return sql.max(value), None
        case AggregateFunction.SUM if kind is not Kind.FLOAT:
            # 38 digits hold the sum of more rows than there can be.
            return sql.sum(value.cast("decimal(20,0)")), sql.lit(None)
        case AggregateFunction.SUM | AggregateFunction.MEAN:
            return sql.collect_list(value), sql.lit(None)


def _finished(part: GroupJoin, kind: Kind, groups: DataFrame) -> DataFrame:
    """`groups` with the aggregate itself, and the reason where it has no value."""
    if part.function is AggregateFunction.SUM and kind is not Kind.FLOAT:
        least, greatest = (sql.lit(str(bound)).cast("decimal(20,0)") for bound in RANGES[kind])
        total = sql.col(VALUE)
        text = f"0 the sum is outside the range of {part.kind.value}"
        outside = (total < least) | (total > greatest)
        return groups.withColumn(REASON, sql.when(outside, sql.lit(text))).withColumn(
            VALUE, sql.when(~outside, total).cast(SPARK_TYPES[part.kind])
        )
    value, reason = aggregate_of_list(part.function, kind, sql.col(VALUE))
    return groups.withColumns({VALUE: value, REASON: reason})
