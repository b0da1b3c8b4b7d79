"""From a rule plan to DataFrames: its rows, and the rows for which one of its expressions has no value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from tidelog.backends.spark.arrow_terms import count_ranges
from tidelog.backends.spark.body_rows import VALUE, WHY, BodyRows, Failure, Run, split
from tidelog.backends.spark.expressions import compute, test
from tidelog.backends.spark.grouping import grouped, matched
from tidelog.backends.spark.layout import SPARK_TYPES, column_names, spark_schema_of, variable_column
from tidelog.backends.spark.scans import joined_with, rows_without, scanned, values_frame
from tidelog.backends.spark.store import Store
from tidelog.language.syntax_tree import Term
from tidelog.plan.nodes import (
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Join,
    Node,
    Project,
    Range,
    RulePlan,
    Scan,
    Select,
    Union,
    Values,
)
from tidelog.plan.parts import Part, decidable, names_of, parts_of
from tidelog.plan.walk import columns_of, names_in
from tidelog.schema import Kind
from tidelog.span import Span


class Sense(Enum):
    """What rows are for: in a SET a row that comes twice is one row, in a BAG every row counts."""

    SET = "set"
    BAG = "bag"


@dataclass(frozen=True, slots=True)
class Derivation:
    """The rows of the head, in stored columns, in which one may come twice; and the failures of the rule."""

    rule: RulePlan
    frame: DataFrame
    failures: tuple[Failure, ...]


def translate(rule: RulePlan, store: Store, *, is_near: bool) -> Derivation:
    """What `rule` derives from what is stored now; `is_near` says that all it reads is in the driver."""
    run = Run(store, rule, is_near)
    node = rule.node
    assert isinstance(node, Project)
    wanted = tuple(dict.fromkeys(name for term in node.columns for name in sorted(names_in(term))))
    so_far = _body(parts_of(node.input), wanted, Sense.SET, run)
    return Derivation(rule, _head(so_far, node.columns, run), tuple(run.failures))


def _head(so_far: BodyRows, terms: tuple[Term, ...], run: Run) -> DataFrame:
    """The rows of the head. A term without a value has nothing behind it that could excuse it."""
    columns = []
    for number, term in enumerate(terms):
        computed = compute(term, run.kinds)
        if computed.reason is None:
            columns.append((computed.value, run.store.relations[run.rule.head].kinds[number]))
            continue
        good, bad = split(so_far, computed, run)
        assert bad is not None
        run.failures.append(Failure(bad, computed.spans))
        name = f"~head{number}"
        so_far = BodyRows(good.withColumn(variable_column(name), sql.col(VALUE)), (*so_far.names, name)).select(
            (*so_far.names, name)
        )
        columns.append((sql.col(variable_column(name)), run.store.relations[run.rule.head].kinds[number]))
    frame = so_far.rows(run)
    if not columns:
        return frame.select(sql.lit(0).cast(SPARK_TYPES[Kind.NUMBER]).alias("c0"))
    names = column_names(len(columns))
    return frame.select(
        *(value.cast(SPARK_TYPES[kind]).alias(name) for (value, kind), name in zip(columns, names, strict=True))
    )


def _body(parts: tuple[Part, ...], wanted: tuple[str, ...], sense: Sense, run: Run) -> BodyRows:
    return _through(parts, BodyRows(None, ()), wanted, sense, run)


def _through(parts: Sequence[Part], so_far: BodyRows, wanted: tuple[str, ...], sense: Sense, run: Run) -> BodyRows:
    """The rows of `so_far` after each of `parts`, with the columns that are `wanted` as far as they are bound."""
    waiting = list(parts)
    while waiting:
        part = waiting.pop(0)
        after = frozenset(wanted).union(*map(names_of, waiting))
        bound = frozenset(so_far.names)
        kept = tuple(sorted((bound | names_of(part)) & after))
        so_far = _step(part, so_far, kept, tuple(waiting), sense, run)
    return so_far


def _step(
    part: Part, so_far: BodyRows, kept: tuple[str, ...], rest: tuple[Part, ...], sense: Sense, run: Run
) -> BodyRows:
    match part:
        case Scan():
            return joined_with(so_far, scanned(part, run), kept, run, counts=sense is Sense.BAG)
        case Values() | Distinct() | Union() | Join():
            columns = columns_of(part)
            return joined_with(so_far, (_different(part, columns, run), columns, None), kept, run, counts=True)
        case Select(_, condition):
            return _filtered(so_far, condition, kept, rest, run)
        case Extend(_, name, value):
            computed = compute(value, run.kinds)
            good, bad = split(so_far, computed, run)
            _set_aside(bad, rest, computed.spans, run)
            return _with_value(good, name, so_far, kept)
        case Range():
            return _counted(part, so_far, kept, rest, run)
        case Antijoin(right=Scan() as scan):
            return rows_without(so_far, scan, run).narrowed(kept)
        case Antijoin():
            raise AssertionError("only a scan can be negated")
        case GroupJoin():
            return _aggregated(part, so_far, kept, rest, run)
        case _:
            assert_never(part)


def _different(part: Values | Distinct | Union | Join, columns: tuple[str, ...], run: Run) -> DataFrame:
    """The different rows of a part that stands by itself."""
    match part:
        case Values():
            return values_frame(part, run)
        case Distinct(source):
            return _once(_outer_values(source, columns, run), columns)
        case Union(inputs):
            bodies = [_body(parts_of(each), columns, Sense.SET, run).select(columns) for each in inputs]
            frame = bodies[0].rows(run)
            for each in bodies[1:]:
                frame = frame.unionByName(each.rows(run))
            return _once(frame, columns)
        case Join():
            return _once(_body(parts_of(part), columns, Sense.SET, run).select(columns).rows(run), columns)
        case _:
            assert_never(part)


def _outer_values(source: Node, columns: tuple[str, ...], run: Run) -> DataFrame:
    """The values that outer variables of an aggregate may have.

    Rows for which an expression has no value belong to them: their aggregate may decide whether that matters.
    """
    inner = run.collecting(columns)
    frame = _body(parts_of(source), columns, Sense.SET, inner).select(columns).rows(run)
    for failure in inner.failures:
        if set(columns) <= set(failure.rows.names):
            frame = frame.unionByName(failure.rows.select(columns).rows(run))
    return frame


def _once(frame: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    return frame.distinct() if columns else frame.limit(1)


def _filtered(so_far: BodyRows, condition: object, kept: tuple[str, ...], rest: tuple[Part, ...], run: Run) -> BodyRows:
    computed = test(condition, run.kinds)  # type: ignore[arg-type]
    if computed.reason is None:
        return BodyRows(so_far.rows(run).where(computed.value), so_far.names).narrowed(kept)
    if so_far.is_set_aside:
        # What cannot be decided excuses nothing.
        frame = so_far.rows(run).where(sql.coalesce(computed.value, sql.lit(True)) | computed.reason.isNotNull())
        return BodyRows(frame, so_far.names).select(kept)
    good, bad = split(so_far, computed, run)
    _set_aside(bad, rest, computed.spans, run)
    return BodyRows(good.where(sql.col(VALUE)), so_far.names).select(kept)


def _counted(part: Range, so_far: BodyRows, kept: tuple[str, ...], rest: tuple[Part, ...], run: Run) -> BodyRows:
    """Each row once for every value of the range."""
    bounds = [part.start, part.end] + ([] if part.step is None else [part.step])
    limits = []
    for number, term in enumerate(bounds):
        computed = compute(term, run.kinds)
        good, bad = split(so_far, computed, run)
        if bad is not None:
            _set_aside(bad.select(_own(bad.names)), rest, computed.spans, run)
        limits.append(f"~limit{number}")
        frame = good.withColumn(variable_column(limits[-1]), sql.col(VALUE))
        so_far = BodyRows(frame, (*so_far.names, limits[-1])).select((*so_far.names, limits[-1]))
    names = _own(so_far.names)
    kinds = tuple(map(run.kind, names))
    schema = spark_schema_of((*kinds, part.kind, Kind.SYMBOL), (*map(variable_column, names), "t_value", "t_reason"))
    for each in schema.fields:
        each.nullable = True
    frame = so_far.select((*names, *limits)).rows(run).mapInArrow(count_ranges(part.kind, len(limits)), schema)
    bad_rows = frame.where(sql.col("t_reason").isNotNull())
    good_rows = frame.where(sql.col("t_reason").isNull())
    if WHY not in names:
        bad_rows = bad_rows.withColumn(variable_column(WHY), sql.col("t_reason"))
    _set_aside(
        BodyRows(bad_rows, tuple(dict.fromkeys((*names, WHY)))).select(tuple(dict.fromkeys((*names, WHY)))),
        rest,
        (part.span,),
        run,
    )
    if part.name in names:
        same = good_rows.where(sql.col(VALUE) == sql.col(variable_column(part.name)))
        return BodyRows(same, names).select(kept)
    return _with_value(good_rows, part.name, BodyRows(None, names), kept)


def _own(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if not name.startswith("~limit"))


def _aggregated(part: GroupJoin, so_far: BodyRows, kept: tuple[str, ...], rest: tuple[Part, ...], run: Run) -> BodyRows:
    """The rows of `so_far` with the aggregate of the rows of another body that agree on the keys."""
    inner = run.collecting(part.keys)
    value = part.value
    names = (*part.keys, *(sorted(names_in(value) - set(part.keys)) if value is not None else ()))
    body = _body(parts_of(part.right), names, Sense.BAG, inner)
    if value is not None:
        computed = compute(value, run.kinds)
        frame, bad = split(body, computed, run)
        if bad is not None:
            inner.failures.append(Failure(bad, computed.spans))
    else:
        frame = body.rows(run)
    for failure in inner.failures:
        shared = tuple(key for key in part.keys if key in failure.rows.names)
        good, bad = matched(so_far, failure, shared, run)
        _set_aside(bad, rest, failure.spans, run)
        so_far = good
    good_rows, bad_rows = grouped(part, frame, so_far, run)
    _set_aside(bad_rows, rest, (part.span,), run)
    return _with_value(good_rows, part.name, so_far, kept)


def _with_value(frame: DataFrame, name: str, so_far: BodyRows, kept: tuple[str, ...]) -> BodyRows:
    """The rows of `frame` with their value under `name`, with the columns that are kept."""
    named = frame.withColumn(variable_column(name), sql.col(VALUE))
    return BodyRows(named, tuple(dict.fromkeys((*so_far.names, name)))).select(kept)


def _set_aside(bad: BodyRows | None, rest: tuple[Part, ...], spans: tuple[Span, ...], run: Run) -> None:
    """Notes rows for which an expression has no value.

    They matter only if the rest of the body holds for them as far as it can be decided without the expression.
    """
    if bad is None:
        return
    bound = frozenset(bad.names)
    parts = decidable(rest, bound)
    gained = bound.union(*map(names_of, parts)) & set(run.keys)
    left = _through(parts, bad, tuple(sorted(bound | gained)), Sense.SET, run)
    run.failures.append(Failure(left, spans))
