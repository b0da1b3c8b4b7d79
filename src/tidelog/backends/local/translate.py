"""From a plan to the steps that compute it: where a plan becomes kernel calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import assert_never

import numpy as np

from tidelog.backends.local.aged import AgedLookup
from tidelog.backends.local.batch import Batch, layout_of
from tidelog.backends.local.body import Body, Head
from tidelog.backends.local.closed_groups import ClosedAggregation
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.matches import Argument
from tidelog.backends.local.ordered_lookup import Bound, OrderedLookup
from tidelog.backends.local.sources import (
    OuterSource,
    ScanSource,
    Source,
    TableSource,
    UnitSource,
    ValuesSource,
)
from tidelog.backends.local.steps import (
    Absence,
    Aggregation,
    Compute,
    Count,
    Filter,
    Lookup,
    Step,
    TableJoin,
)
from tidelog.backends.local.store import Store
from tidelog.language.syntax_tree import Comparison, ComparisonOperator, Constant, Term, Variable
from tidelog.plan.nodes import (
    AGE,
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
    Version,
)
from tidelog.plan.parts import Part, decidable, names_of, parts_of
from tidelog.plan.walk import columns_of, names_in
from tidelog.schema import Kind

_WORTH_ORDERING = 32
"""Rows of one key from which on halving beats reading them all."""


class Sense(Enum):
    """What the rows of a pipeline are for. In a SET, a row that comes twice is one row, so that a join that binds
    nothing of interest only asks whether there is a match; in a BAG, every row counts."""

    SET = "set"
    BAG = "bag"


def translate(rule: RulePlan, store: Store) -> Body:
    """The steps that give the rows of `rule`'s head."""
    node = rule.node
    if isinstance(node, Values):
        return Body(ValuesSource(node), (), node.columns, None)
    assert isinstance(node, Project)
    wanted = tuple(dict.fromkeys(name for term in node.columns for name in sorted(names_in(term))))
    names = tuple(term.name for term in node.columns if isinstance(term, Variable))
    head = Head(node.columns, names if len(names) == len(node.columns) else None)
    return _body(parts_of(node.input), frozenset(), wanted, Sense.SET, rule, store, head)


def _body(
    parts: tuple[Part, ...], bound: frozenset[str], wanted: tuple[str, ...], sense: Sense, rule: RulePlan, store: Store,
    head: Head | None,
) -> Body:  # fmt: skip
    """The pipeline of `parts`: its source is a batch with the names `bound` or, without any, the first part."""
    source: Source = UnitSource()
    first = 0
    if not bound and parts and isinstance(parts[0], Scan | Values | Distinct | Union | Join):
        source = _source(parts[0], rule, store)
        bound, first = names_of(parts[0]), 1
    steps = _steps(parts[first:], bound, wanted, sense, rule, store)
    return Body(source, tuple(steps), wanted, head)


def _source(part: Scan | Values | Distinct | Union | Join, rule: RulePlan, store: Store) -> Source:
    match part:
        case Values():
            return ValuesSource(part)
        case Scan():
            names, equal = _first_columns(part)
            return ScanSource(part, _constants(part, store), tuple(names.items()), equal)
        case Distinct(source, columns):
            return OuterSource(_subplan(source, columns, rule, store))
        case Union(inputs, columns):
            return TableSource(tuple(_subplan(each, columns, rule, store) for each in inputs))
        case Join():
            return TableSource((_subplan(part, columns_of(part), rule, store),))
        case _:
            assert_never(part)


def _subplan(node: Node, columns: tuple[str, ...], rule: RulePlan, store: Store) -> Body:
    return _body(parts_of(node), frozenset(), columns, Sense.SET, rule, store, None)


def _constants(scan: Scan, store: Store) -> tuple[tuple[int, int], ...]:
    """Column and id of each constant of a scan."""
    kinds = store.kinds[scan.relation]
    return tuple(
        (number, store.values.identify_one(kinds[number], column.value))
        for number, column in enumerate(scan.columns)
        if isinstance(column, Constant)
    )


def _first_columns(scan: Scan) -> tuple[dict[str, int], tuple[tuple[int, int], ...]]:
    """The first column of each name of a scan, and pairs of columns that have the same name."""
    names: dict[str, int] = {}
    equal: list[tuple[int, int]] = []
    for number, column in enumerate(scan.columns):
        if isinstance(column, str):
            if column in names:
                equal.append((names[column], number))
            else:
                names[column] = number
    return names, tuple(equal)


def _steps(
    parts: Sequence[Part], bound: frozenset[str], wanted: tuple[str, ...], sense: Sense, rule: RulePlan, store: Store
) -> Iterator[Step]:
    """A step for each part, or for several where an ordered lookup takes comparisons in."""
    waiting = list(parts)
    while waiting:
        part = waiting.pop(0)
        comparisons: list[Select] = []
        if isinstance(part, Scan):
            comparisons = _bounding(part, waiting, bound, store)
            waiting = [other for other in waiting if not any(other is taken for taken in comparisons)]
        after = frozenset(wanted).union(*map(names_of, waiting))
        kept = _in_order_of((bound | names_of(part)) & after, wanted)
        yield _step(part, comparisons, bound, kept, tuple(waiting), sense, rule, store)
        bound = frozenset(kept)


def _in_order_of(names: frozenset[str], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """`names`, those that are wanted in the end first and in that order."""
    return (*(name for name in wanted if name in names), *sorted(names - set(wanted)))


def _step(
    part: Part, comparisons: list[Select], bound: frozenset[str], kept: tuple[str, ...], rest: tuple[Part, ...],
    sense: Sense, rule: RulePlan, store: Store,
) -> Step:  # fmt: skip
    match part:
        case Scan(version=Version.OLDER | Version.YOUNGER):
            plain = _lookup(replace(part, columns=part.columns[:-1]), bound, kept, Sense.BAG, store)
            return AgedLookup(part.relation, part.version, plain.key, plain.arguments, plain.new, plain.equal, kept)
        case Scan() if comparisons:
            return _ordered_lookup(part, comparisons, bound, kept, rest, store)
        case Scan():
            return _lookup(part, bound, kept, sense, store)
        case Values() | Distinct() | Union() | Join():
            columns = columns_of(part)
            body = _body((part,), frozenset(), columns, Sense.SET, rule, store, None)
            shared = tuple(name for name in columns if name in bound)
            return TableJoin(body, shared, columns, kept)
        case Select(_, condition):
            return Filter(condition, kept, rest)
        case Extend(_, name, value):
            return Compute(name, value, kept, rest)
        case Range(name=name):
            return Count(part, kept, name in bound, rest)
        case Antijoin(right=Scan() as scan):
            names = tuple(sorted(bound & names_of(scan)))
            return Absence(_lookup(scan, bound, names, Sense.SET, store), kept)
        case Antijoin():
            raise AssertionError("only a scan can be negated")
        case GroupJoin() if (found := _closed_scan(part, store)) is not None:
            return _closed_aggregation(part, *found, kept, rest, rule, store)
        case GroupJoin(right=right, keys=keys, value=value):
            inner = (*keys, *(sorted(names_in(value) - set(keys)) if value is not None else ()))
            body = _body(parts_of(right), frozenset(), inner, Sense.BAG, rule, store, None)
            kind = kind_of(value, rule) if value is not None else Kind.NUMBER
            return Aggregation(part, body, kind, kept, rest)
        case _:
            assert_never(part)


def _closed_scan(node: GroupJoin, store: Store) -> tuple[Scan, tuple[Scan | Distinct, ...]] | None:
    """The scan of a closed relation that an aggregate is over, and what restricts its groups; None where there is more
    to it than nodes at the other end."""
    parts = parts_of(node.right)
    closed = [part for part in parts if isinstance(part, Scan) and _is_compact(part, store)]
    if len(closed) != 1:
        return None
    (scan,) = closed
    restrictions = tuple(part for part in parts if part is not scan)
    table = store.compact(scan.relation)
    assert table is not None
    names = {column for column in scan.columns if isinstance(column, str)}
    others = [number for number, column in enumerate(scan.columns) if not _is_key(column, node.keys)]
    is_whole = len(others) == len(scan.columns) and node.value is None
    is_one_end = len(others) == 1 and others[0] in table.ends
    if not (is_whole or is_one_end) or len(names) != sum(isinstance(column, str) for column in scan.columns):
        return None
    if node.value is not None and node.value != Variable(str(scan.columns[others[0]])):
        return None
    if not all(_restricts(part, node.keys) for part in restrictions):
        return None
    covered = (names & set(node.keys)).union(*map(names_of, restrictions))
    return (scan, restrictions) if covered == set(node.keys) else None  # type: ignore[return-value]


def _is_compact(scan: Scan, store: Store) -> bool:
    return scan.version is Version.FULL and store.compact(scan.relation) is not None


def _is_key(column: str | Constant | None, keys: tuple[str, ...]) -> bool:
    return isinstance(column, Constant) or column in keys


def _restricts(part: Part, keys: tuple[str, ...]) -> bool:
    """Whether a part has each group once, or not."""
    match part:
        case Distinct():
            return names_of(part) <= set(keys)
        case Scan(columns=columns, version=Version.FULL | Version.MARKED):
            return None not in columns and AGE not in columns and names_of(part) <= set(keys)
        case _:
            return False


def _closed_aggregation(
    node: GroupJoin, scan: Scan, restrictions: tuple[Scan | Distinct, ...], kept: tuple[str, ...],
    rest: tuple[Part, ...], rule: RulePlan, store: Store,
) -> ClosedAggregation:  # fmt: skip
    plain = _lookup(scan, frozenset(node.keys), (), Sense.SET, store)
    bodies = tuple(_body((part,), frozenset(), columns_of(part), Sense.SET, rule, store, None) for part in restrictions)
    kind = kind_of(node.value, rule) if node.value is not None else Kind.NUMBER
    return ClosedAggregation(node, scan.relation, plain.key, plain.arguments, kind, bodies, kept, rest)


def _lookup(scan: Scan, bound: frozenset[str], kept: tuple[str, ...], sense: Sense, store: Store) -> Lookup:
    """A join with `scan`: constants and bound names are the key, the other names are new."""
    assert scan.version is not Version.MARKED, "marked rows are read, never looked up"
    key: list[int] = []
    arguments: list[Argument] = []
    identities = dict(_constants(scan, store))
    new: dict[str, int] = {}
    equal: list[tuple[str, str]] = []
    for number, column in enumerate(scan.columns):
        if isinstance(column, Constant):
            key.append(number)
            arguments.append(identities[number])
        elif column is not None and column in bound:
            key.append(number)
            arguments.append(column)
        elif column is not None:
            if column in new:
                again = f"{column}={number}"
                equal.append((column, again))
                new[again] = number
            else:
                new[column] = number
    compared = {name for pair in equal for name in pair}
    wanted = tuple((name, number) for name, number in new.items() if name in kept or name in compared)
    return Lookup(
        scan.relation, scan.version, tuple(key), tuple(arguments), wanted, tuple(equal), kept, sense is Sense.BAG
    )


def _ordered_lookup(
    scan: Scan,
    comparisons: list[Select],
    bound: frozenset[str],
    kept: tuple[str, ...],
    rest: tuple[Part, ...],
    store: Store,
) -> OrderedLookup:
    plain = _lookup(scan, bound, kept, Sense.BAG, store)
    column = _compared_column(comparisons[0], scan, bound)
    assert column is not None
    bounds = []
    for chosen in comparisons:
        others = tuple(other for other in comparisons if other is not chosen)
        name, operator, term = _sides(chosen, bound)
        assert name is not None
        bounds.append(Bound(operator, term, (scan, *others, *rest)))
    new = tuple((name, number) for name, number in plain.new if name in kept)
    return OrderedLookup(scan.relation, scan.version, plain.key, plain.arguments, column, tuple(bounds), new, kept)


def _bounding(scan: Scan, later: Sequence[Part], bound: frozenset[str], store: Store) -> list[Select]:
    """The comparisons of `later` that bound one new column of `scan`, if it pays to look them up in order."""
    if _first_columns(scan)[1] or scan.version in (Version.OLDER, Version.YOUNGER):
        return []
    key = tuple(n for n, column in enumerate(scan.columns) if isinstance(column, Constant) or column in bound)
    found: list[Select] = []
    for part in later:
        if isinstance(part, Select):
            column = _compared_column(part, scan, bound)
            if (
                column is not None
                and store.kinds[scan.relation][column] is not Kind.SYMBOL
                and (not found or column == _compared_column(found[0], scan, bound))
            ):
                found.append(part)
    if found and key:
        rows = store.rows(scan.relation, scan.version)
        if rows < _WORTH_ORDERING * store.distinct(scan.relation, key):
            return []
    return found


def _compared_column(part: Select, scan: Scan, bound: frozenset[str]) -> int | None:
    """The column of `scan` that a comparison bounds by what is bound already, None if it does not."""
    name, _, _ = _sides(part, bound)
    names, _ = _first_columns(scan)
    return names.get(name) if name is not None and name not in bound else None


def _sides(part: Select, bound: frozenset[str]) -> tuple[str | None, ComparisonOperator, Term]:
    """An order comparison as (new name, operator, term over bound names); no name if it has not that form."""
    condition = part.condition
    if isinstance(condition, Comparison) and condition.operator in _MIRRORED:
        for one, other, operator in (
            (condition.left, condition.right, condition.operator),
            (condition.right, condition.left, _MIRRORED[condition.operator]),
        ):
            if isinstance(one, Variable) and one.name not in bound and names_in(other) <= bound:
                return one.name, operator, other
    return None, ComparisonOperator.LESS, Constant(0, None)


_MIRRORED = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.LESS_EQUAL: ComparisonOperator.GREATER_EQUAL,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.GREATER_EQUAL: ComparisonOperator.LESS_EQUAL,
}


def kind_of(term: Term, rule: RulePlan) -> Kind:
    """The kind of the value of a term."""
    kind = rule.kinds[term.name] if isinstance(term, Variable) else getattr(term, "kind", None)
    assert isinstance(kind, Kind)
    return kind


def survivors(batch: Batch, rest: tuple[Part, ...], evaluation: Evaluation) -> Batch:
    """The rows of `batch` for which every part of `rest` holds that can be decided from its names."""
    bound = frozenset(batch.names)
    parts = decidable(rest, bound)
    names = tuple(sorted(bound | (bound.union(*map(names_of, parts)) & set(evaluation.keys))))
    steps = tuple(_steps(parts, bound, names, Sense.SET, evaluation.rule, evaluation.store))
    for step in steps:
        step.catch_up(evaluation)
        step.prepare(evaluation)
    body = Body(UnitSource(), steps, names, None)
    found = [rows.copy() for rows in body.run(iter([batch]), evaluation)]
    rows = np.concatenate(found) if found else np.empty((0, max(1, len(names))), np.int32)
    return Batch(rows, layout_of(names))
