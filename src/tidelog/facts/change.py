"""What a user asks for (`Change`) and what came of it (`Outcome`): tables of rows by relation.

A change speaks of explicit facts, the ones a user gave. What rules derive from them comes and goes with them and shows
in the net deltas of the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.facts.columns import column_of, column_of_numbers, values_of
from tidelog.schema import Kind, Row

FEW = 1000
"""Rows that are compared in Python, where Arrow would take longer to begin than to work."""

NOTHING: Mapping[str, pa.Table] = MappingProxyType({})


class LaterTables(Mapping[str, pa.Table]):
    """The tables of `facts`, as a backend has them, by relation: each is made by `read` when somebody asks for it, and
    most are never asked for."""

    def __init__(self, facts: Mapping[str, Any], read: Callable[[str, Any], pa.Table]) -> None:
        self.facts = facts
        self._read = read
        self._made: dict[str, pa.Table] = {}

    def __getitem__(self, relation: str) -> pa.Table:
        if relation not in self._made:
            self._made[relation] = self._read(relation, self.facts[relation])
        return self._made[relation]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)


def row_count(tables: Mapping[str, pa.Table]) -> int:
    """How many rows the tables have together; none is made to find out."""
    if isinstance(tables, LaterTables):
        return sum(map(len, tables.facts.values()))
    return sum(table.num_rows for table in tables.values())


@dataclass(frozen=True, slots=True)
class Change:
    """Explicit facts to insert and to retract, by relation. A fact in both is inserted: the insert wins."""

    inserted: Mapping[str, pa.Table] = field(default_factory=lambda: NOTHING)
    retracted: Mapping[str, pa.Table] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True)
class NetDelta:
    """The rows of one relation that a change made appear and vanish: the difference of before and after.

    `read_appeared` and `read_vanished` are called at most once, when somebody asks for rows. What they give must stay
    the same whatever happens to the relation later.
    """

    appeared_count: int
    vanished_count: int
    read_appeared: Callable[[], pa.Table]
    read_vanished: Callable[[], pa.Table]

    def appeared(self) -> pa.Table:
        """The rows that are there now and were not before."""
        return self._appeared

    def vanished(self) -> pa.Table:
        """The rows that were there before and are not now."""
        return self._vanished

    @cached_property
    def _appeared(self) -> pa.Table:
        return self.read_appeared()

    @cached_property
    def _vanished(self) -> pa.Table:
        return self.read_vanished()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change did.

    `inserted` and `retracted` are the explicit facts whose presence really changed, so that
    `Change(inserted=outcome.retracted, retracted=outcome.inserted)` takes the change back. `deltas` has every relation,
    given or derived, whose rows are not the same as before.
    """

    inserted: Mapping[str, pa.Table] = field(default_factory=lambda: NOTHING)
    retracted: Mapping[str, pa.Table] = field(default_factory=lambda: NOTHING)
    deltas: Mapping[str, NetDelta] = field(default_factory=lambda: MappingProxyType({}))


def net_change(change: Change) -> Change:
    """`change` without the retractions that an insertion of the same fact outweighs."""
    both = change.inserted.keys() & change.retracted.keys()
    if not both:
        return change
    left = {relation: difference(change.retracted[relation], change.inserted[relation]) for relation in both}
    return Change(change.inserted, {**change.retracted, **left})


def net_delta(appeared: pa.Table, vanished: pa.Table) -> NetDelta:
    """The delta of rows that are at hand."""
    return NetDelta(appeared.num_rows, vanished.num_rows, lambda: appeared, lambda: vanished)


def in_sequence(outcomes: Sequence[Outcome]) -> Outcome:
    """What `outcomes` did together, one after the other: what came and went again is in neither part."""
    return reduce(_then, outcomes) if outcomes else Outcome()


def _then(first: Outcome, second: Outcome) -> Outcome:
    inserted = _pairs(first.inserted, first.retracted, second.inserted, second.retracted)
    deltas = {**first.deltas, **second.deltas}
    for relation in first.deltas.keys() & second.deltas.keys():
        one, two = first.deltas[relation], second.deltas[relation]
        appeared, vanished = _composed(one.appeared(), one.vanished(), two.appeared(), two.vanished())
        deltas[relation] = net_delta(appeared, vanished)
    return Outcome(
        {relation: came for relation, (came, _) in inserted.items() if came.num_rows},
        {relation: went for relation, (_, went) in inserted.items() if went.num_rows},
        {relation: net for relation, net in deltas.items() if net.appeared_count or net.vanished_count},
    )


def _pairs(
    came_first: Mapping[str, pa.Table],
    went_first: Mapping[str, pa.Table],
    came_second: Mapping[str, pa.Table],
    went_second: Mapping[str, pa.Table],
) -> dict[str, tuple[pa.Table, pa.Table]]:
    """For each relation, the facts that both steps together inserted and retracted."""
    parts = (came_first, went_first, came_second, went_second)
    found: dict[str, tuple[pa.Table, pa.Table]] = {}
    for relation in dict.fromkeys(name for part in parts for name in part):
        some = next(part[relation] for part in parts if relation in part)
        none = some.slice(0, 0)
        found[relation] = _composed(*(part.get(relation, none) for part in parts))
    return found


def _composed(
    came_first: pa.Table, went_first: pa.Table, came_second: pa.Table, went_second: pa.Table
) -> tuple[pa.Table, pa.Table]:
    """The rows that came and that went in two steps: what one step undid of the other is left out."""
    came = joined([difference(came_first, went_second), difference(came_second, went_first)])
    went = joined([difference(went_first, came_second), difference(went_second, came_first)])
    return came, went


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of one or more tables behind one another; Arrow would lose those without columns."""
    if not tables[0].num_columns:
        return max(tables, key=lambda table: table.num_rows)
    return pa.concat_tables(tables)


def union(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Each row that is in one of the two tables once."""
    return distinct(joined([rows, others]))


def distinct(rows: pa.Table) -> pa.Table:
    """Each row of `rows` once."""
    if rows.num_rows < 2:
        return rows
    if not rows.num_columns:
        return rows.slice(0, 1)
    if rows.num_rows <= FEW:
        return _rows_outside(rows, frozenset())
    return rows.group_by(rows.column_names, use_threads=False).aggregate([]).cast(rows.schema)


def difference(rows: pa.Table, others: pa.Table) -> pa.Table:
    """The rows of `rows` that are not among `others`, each once."""
    if not rows.num_rows or not others.num_rows:
        return distinct(rows)
    if not rows.num_columns:
        return rows.slice(0, 0)
    if rows.num_rows + others.num_rows <= FEW:
        return _rows_outside(rows, frozenset(_tuples(others)))
    tag = "".join(rows.column_names) + "?"  # the name of no column
    tagged = pa.concat_tables([_with_tag(rows, tag, 0), _with_tag(others, tag, 1)])
    grouped = tagged.group_by(rows.column_names, use_threads=False).aggregate([(tag, "max")])
    kept = grouped.filter(pc.equal(grouped.column(f"{tag}_max"), column_of(Kind.NUMBER, [0])[0]))
    return kept.select(rows.column_names).cast(rows.schema)


def _rows_outside(rows: pa.Table, known: frozenset[Row]) -> pa.Table:
    """The rows that are not `known`, each once."""
    places = {row: place for place, row in enumerate(_tuples(rows)) if row not in known}
    if len(places) == rows.num_rows:
        return rows
    return rows.take(column_of(Kind.NUMBER, list(places.values())))


def _tuples(rows: pa.Table) -> Iterator[Row]:
    return zip(*map(values_of, rows.columns), strict=True)


def _with_tag(rows: pa.Table, tag: str, value: int) -> pa.Table:
    return rows.append_column(tag, column_of_numbers(Kind.NUMBER, np.full(rows.num_rows, value, np.int64)))
