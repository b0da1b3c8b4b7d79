"""Fact chains between partitions: tables of facts, iterations, and by how much counts differ from then on.

What travels is added up, so that a correction is one more record. Tables have the columns of a fact by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.analysis.checked import SimpleRule
from tidelog.backends.protocol import Facts
from tidelog.facts.columns import empty_table
from tidelog.language.syntax_tree import Atom, Sign, Variable
from tidelog.plan.lower import lower_rule
from tidelog.plan.nodes import RulePlan
from tidelog.production.late.state import State
from tidelog.production.rule_plans import optimized, over_marked
from tidelog.schema import Attribute, Kind, Schema
from tidelog.span import NOWHERE

ITERATION, ADDED, DELETED = "iteration", "added", "deleted"

Counts = Mapping[str, pa.Table]
"""By relation: facts, and how many more, or fewer, additions and deletions of them are asked for."""

Records = Mapping[str, pa.Table]
"""Counts from an iteration on."""


class ChainRecords:
    """The chains of the facts of one relation that are at home in a partition, as a relation beside it."""

    def __init__(self, schema: Schema, state: State) -> None:
        self._state = state
        self._relation = schema.relation
        self.keys = keys_of(schema)
        self._records = replace(record_schema(schema), relation=f"{schema.relation}@records")
        touched = Schema(f"{schema.relation}@touched", self._records.attributes[: schema.arity])
        found = replace(self._records, relation=f"{schema.relation}@found")
        schemas = {each.relation: each for each in (self._records, touched, found)}
        state.backend.declare(schemas)
        self._touched, self._found = touched.relation, found.relation
        self._plan = self._lookup(schemas)

    def at(self, facts: Facts, iteration: int) -> pa.Table:
        """How often each of `facts` is added and deleted in an iteration; facts without a record are left out."""
        records = self._of(facts)
        return summed([records.filter(pa.array(numbers(records, ITERATION) <= iteration))], self.keys)

    def add(self, records: pa.Table) -> None:
        """Adds to the counts of facts from some iterations on."""
        names, backend = self._records.names, self._state.backend
        known = self._of(self.facts(records))
        sums = summed([known, records], (*self.keys, ITERATION))
        before, after = (backend.facts(self._records.relation, table.select(list(names))) for table in (known, sums))
        backend.exchange(self._records.relation, after.minus(before), before.minus(after))

    def facts(self, counts: pa.Table) -> Facts:
        """The facts that a table is about."""
        return self._state.backend.facts(self._relation, counts.select(list(self.keys)))

    def _of(self, facts: Facts) -> pa.Table:
        """The iterations in which counts of `facts` change, with the change."""
        self._state.backend.mark(self._touched, facts)
        found = self._state.collect([self._plan]).get(self._found)
        return empty_table(self._records) if found is None else self._state.backend.table(self._found, found)

    def _lookup(self, schemas: Mapping[str, Schema]) -> RulePlan:
        columns = tuple(Variable(name) for name in self._records.names)
        body = (Atom(self._touched, columns[: len(self.keys)]), Atom(self._records.relation, columns))
        kinds = dict(zip(self._records.names, self._records.kinds, strict=True))
        rule = SimpleRule(0, Atom(self._found, columns), body, kinds, NOWHERE, f"chains of {self._relation}")
        return over_marked(optimized([lower_rule(rule, schemas)], schemas)[0], self._touched)


def record_schema(schema: Schema) -> Schema:
    """The columns of records about facts of a relation."""
    facts = (
        Attribute(name, each.type, each.kind) for name, each in zip(keys_of(schema), schema.attributes, strict=True)
    )
    return Schema(schema.relation, (*facts, *numbers_schema(ITERATION, ADDED, DELETED).attributes))


def numbers_schema(*names: str) -> Schema:
    """Columns of numbers."""
    return Schema("", tuple(Attribute(name, Kind.NUMBER.value, Kind.NUMBER) for name in names))


def keys_of(schema: Schema) -> tuple[str, ...]:
    """The names of the columns of a fact."""
    return tuple(f"{number}" for number in range(schema.arity))


def tally(rows: pa.Table, columns: Sequence[int], sign: Sign, times: int) -> pa.Table:
    """The facts in these columns of `rows`, each as asked for so many times, or that many times less."""
    asked = np.full(rows.num_rows, times, np.int64)
    none = np.zeros(rows.num_rows, np.int64)
    counts = (asked, none) if sign is Sign.INSERT else (none, asked)
    names = [f"{number}" for number in range(len(columns))]
    facts = [rows.column(number) for number in columns]
    return pa.Table.from_arrays([*facts, *map(pa.array, counts)], names=[*names, ADDED, DELETED])


def from_iteration(counts: pa.Table, iteration: int) -> pa.Table:
    """`counts` as records of an iteration."""
    return counts.append_column(ITERATION, pa.array(np.full(counts.num_rows, iteration, np.int64)))


def by_iteration(records: pa.Table) -> dict[int, pa.Table]:
    """The records of each iteration."""
    ordered = records.sort_by(ITERATION)
    found, starts = np.unique(numbers(ordered, ITERATION), return_index=True)
    ends = [*starts.tolist(), ordered.num_rows][1:]
    return {
        number: ordered.slice(start, end - start)
        for number, start, end in zip(found.tolist(), starts.tolist(), ends, strict=False)
    }


def iterations(records: Records) -> set[int]:
    """The iterations that `records` are about."""
    return {number for table in records.values() for number in numbers(table, ITERATION).tolist()}


def negated(counts: pa.Table) -> pa.Table:
    """The same counts, to be taken away."""
    for name in (ADDED, DELETED):
        counts = counts.set_column(counts.column_names.index(name), name, pa.array(-numbers(counts, name)))
    return counts


def numbers(counts: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """A column of numbers."""
    return counts[name].to_numpy()


def summed(pieces: Sequence[pa.Table], keys: Sequence[str]) -> pa.Table:
    """The counts of all pieces together, by `keys`, without those that come to nothing."""
    names = [*keys, ADDED, DELETED]
    rows = pa.concat_tables([pa.Table.from_arrays([piece[name] for name in names], names=names) for piece in pieces])
    if not rows.num_rows:
        return rows
    sums = rows.group_by(list(keys), use_threads=False).aggregate([(ADDED, "sum"), (DELETED, "sum")])
    sums = sums.rename_columns(names)
    return sums.filter(pa.array((numbers(sums, ADDED) != 0) | (numbers(sums, DELETED) != 0)))


def total(counts: Sequence[Counts], *keys: str) -> Counts:
    """All counts added up by fact, and by `keys` too, without what comes to nothing."""
    names = dict.fromkeys(name for each in counts for name in each)
    sums = {}
    for name in names:
        tables = [each[name] for each in counts if name in each]
        facts = [column for column in tables[0].column_names if column.isdigit()]
        sums[name] = summed(tables, (*facts, *keys))
    return {name: table for name, table in sums.items() if table.num_rows}
