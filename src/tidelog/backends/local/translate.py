"""From a plan to the steps that compute it: where a plan becomes kernel calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, assert_never

import numpy as np

from tidelog.backends.local.batch import MORSEL, UNIT, Batch, keep_rows, select_columns
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.expressions import compute_ids
from tidelog.backends.local.parts import Part, decidable, names_of, parts_of
from tidelog.backends.local.steps import (
    Absence,
    Aggregation,
    Argument,
    Bound,
    Compute,
    Count,
    Filter,
    Lookup,
    OrderedLookup,
    Step,
    TableJoin,
)
from tidelog.backends.local.store import Store
from tidelog.facts.membership import Rows
from tidelog.language.syntax_tree import Comparison, ComparisonOperator, Constant, Term, Variable
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
    Version,
)
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
    return _body(parts_of(node.input), frozenset(), wanted, Sense.SET, rule, store, Head(node.columns))


@dataclass(frozen=True, slots=True)
class Head:
    """The terms of a rule's head."""

    columns: tuple[Term, ...]

    def rows(self, batch: Batch, evaluation: Evaluation) -> Rows:
        """One row of the head for each row of `batch`."""
        names = [term.name for term in self.columns if isinstance(term, Variable)]
        if len(names) == len(self.columns):
            if batch.rows.shape[1] == len(names) and all(batch.names[name] == n for n, name in enumerate(names)):
                return batch.rows
            return select_columns(batch, tuple(names))
        rows = np.zeros((batch.size, max(1, len(self.columns))), np.int32)
        for number, term in enumerate(self.columns):
            rows[:, number], missing = compute_ids(term, batch, evaluation.kinds, evaluation.store.values)
            if missing is not None:
                evaluation.set_aside(batch, missing, ())
        return rows


@dataclass(frozen=True, slots=True)
class Body:
    """A source of batches, the steps they pass, and the head made of what comes out, if there is one.

    `names` are the columns of the rows without a head.
    """

    source: Source
    steps: tuple[Step, ...]
    names: tuple[str, ...]
    head: Head | None

    def prepare(self, evaluation: Evaluation) -> None:
        self.source.prepare(evaluation)
        for step in self.steps:
            step.prepare(evaluation)

    def run(self, morsels: Iterator[Batch], evaluation: Evaluation) -> Iterator[Rows]:
        """The rows that follow from `morsels`, which `source.morsels` gives."""
        for morsel in morsels:
            for batch in self._pass(morsel, 0, evaluation):
                if self.head is not None:
                    yield self.head.rows(batch, evaluation)
                else:
                    yield select_columns(batch, self.names)

    def collect(self, evaluation: Evaluation) -> Rows:
        """All rows, in one array."""
        self.prepare(evaluation)
        found = list(self.run(self.source.morsels(evaluation), evaluation))
        return np.concatenate(found) if found else np.empty((0, max(1, len(self.names))), np.int32)

    def _pass(self, batch: Batch, number: int, evaluation: Evaluation) -> Iterator[Batch]:
        if not batch.size:
            return
        if number == len(self.steps):
            yield batch
            return
        for result in self.steps[number].run(batch, evaluation):
            yield from self._pass(result, number + 1, evaluation)


@dataclass(frozen=True, slots=True)
class UnitSource:
    """One row with nothing bound."""

    def prepare(self, evaluation: Evaluation) -> None:
        pass

    def morsels(self, _evaluation: Evaluation) -> Iterator[Batch]:
        yield UNIT


@dataclass(frozen=True, slots=True)
class ValuesSource:
    """Rows of the text."""

    node: Values

    def prepare(self, evaluation: Evaluation) -> None:
        pass

    def morsels(self, evaluation: Evaluation) -> Iterator[Batch]:
        values = evaluation.store.values
        rows = np.zeros((len(self.node.rows), max(1, len(self.node.kinds))), np.int32)
        for number, kind in enumerate(self.node.kinds):
            rows[:, number] = values.identify_all(kind, [row[number] for row in self.node.rows])
        yield Batch(rows, {name: number for number, name in enumerate(self.node.columns)})


@dataclass(slots=True)
class TableSource:
    """The rows of other pipelines, which have the same columns, each once."""

    pipelines: tuple[Body, ...]
    rows: Rows | None = None

    def prepare(self, evaluation: Evaluation) -> None:
        self.rows = different(np.concatenate([pipeline.collect(evaluation) for pipeline in self.pipelines]))

    def morsels(self, _evaluation: Evaluation) -> Iterator[Batch]:
        assert self.rows is not None
        yield Batch(self.rows, {name: number for number, name in enumerate(self.pipelines[0].names)})


@dataclass(slots=True)
class OuterSource:
    """The values that outer variables of an aggregate may have: those of another pipeline, each once.

    Rows for which an expression has no value belong to it too: their aggregate may decide whether that matters.
    """

    pipeline: Body
    rows: Rows | None = None

    def prepare(self, evaluation: Evaluation) -> None:
        names = self.pipeline.names
        inner = evaluation.collecting(names)
        found = [self.pipeline.collect(inner)]
        found += [select_columns(batch, names) for batch, _ in inner.failures if batch.names.keys() >= set(names)]
        self.rows = different(np.concatenate(found))

    def morsels(self, _evaluation: Evaluation) -> Iterator[Batch]:
        assert self.rows is not None
        yield Batch(self.rows, {name: number for number, name in enumerate(self.pipeline.names)})


@dataclass(frozen=True, slots=True)
class ScanSource:
    """The rows of a relation. Constants are looked up in an index, except in a delta, which is read once."""

    scan: Scan
    constants: tuple[tuple[int, int], ...]
    names: tuple[tuple[str, int], ...]
    equal: tuple[tuple[int, int], ...]

    def prepare(self, evaluation: Evaluation) -> None:
        if self._is_looked_up:
            self._index(evaluation)

    @property
    def _is_looked_up(self) -> bool:
        return bool(self.constants) and self.scan.version is not Version.DELTA

    def _index(self, evaluation: Evaluation):  # type: ignore[no-untyped-def]
        index = evaluation.store.index(self.scan.relation, tuple(column for column, _ in self.constants))
        index.catch_up()
        return index

    def morsels(self, evaluation: Evaluation) -> Iterator[Batch]:
        rows, columns = self._rows(evaluation)
        names = {name: columns[column] for name, column in self.names}
        for start in range(0, rows.shape[0], MORSEL):
            morsel = rows[start : start + MORSEL]
            mask = np.ones(morsel.shape[0], np.bool_)
            for one, other in self.equal:
                mask &= morsel[:, columns[one]] == morsel[:, columns[other]]
            if not self._is_looked_up:
                for column, identity in self.constants:
                    mask &= morsel[:, column] == identity
            batch = Batch(morsel, names)
            yield batch if mask.all() else keep_rows(batch, mask, tuple(names))

    def _rows(self, evaluation: Evaluation) -> tuple[Rows, dict[int, int]]:
        """The rows to read, and which column of them each column of the relation is."""
        store = evaluation.store
        relation = store.relations[self.scan.relation]
        if not self._is_looked_up:
            low, high = store.bounds(self.scan.relation, self.scan.version)
            return relation.rows[low:high], {column: column for column in range(relation.width)}
        index = self._index(evaluation)
        key = np.array([[identity for _, identity in self.constants]], np.int32)
        matches = index.probe(key, np.arange(len(self.constants)), self.scan.version)
        begin = int(matches.begins[0])
        rows = matches.payload[begin : begin + matches.total]
        if not index.payload_columns:
            rows = np.zeros((matches.total, 1), np.int32)
        return rows, {column: number for number, column in enumerate(index.payload_columns)}


Source: TypeAlias = UnitSource | ValuesSource | TableSource | OuterSource | ScanSource


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
        case GroupJoin(right=right, keys=keys, value=value):
            inner = (*keys, *(sorted(names_in(value) - set(keys)) if value is not None else ()))
            body = _body(parts_of(right), frozenset(), inner, Sense.BAG, rule, store, None)
            kind = kind_of(value, rule) if value is not None else Kind.NUMBER
            return Aggregation(part, body, kind, kept, rest)
        case _:
            assert_never(part)


def _lookup(scan: Scan, bound: frozenset[str], kept: tuple[str, ...], sense: Sense, store: Store) -> Lookup:
    """A join with `scan`: constants and bound names are the key, the other names are new."""
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
    if _first_columns(scan)[1]:
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


def different(rows: Rows) -> Rows:
    """`rows`, each once."""
    return np.ascontiguousarray(np.unique(rows, axis=0)) if rows.shape[0] else rows


def survivors(batch: Batch, rest: tuple[Part, ...], evaluation: Evaluation) -> Batch:
    """The rows of `batch` for which every part of `rest` holds that can be decided from its names."""
    bound = frozenset(batch.names)
    parts = decidable(rest, bound)
    names = tuple(sorted(bound | (bound.union(*map(names_of, parts)) & set(evaluation.keys))))
    steps = tuple(_steps(parts, bound, names, Sense.SET, evaluation.rule, evaluation.store))
    for step in steps:
        step.prepare(evaluation)
    body = Body(UnitSource(), steps, names, None)
    found = list(body.run(iter([batch]), evaluation))
    rows = np.concatenate(found) if found else np.empty((0, max(1, len(names))), np.int32)
    return Batch(rows, {name: number for number, name in enumerate(names)})


__all__ = ["Body", "Evaluation", "survivors", "translate"]
