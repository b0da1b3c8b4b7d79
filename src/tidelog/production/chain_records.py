"""Fact chains as a relation of the backend: how often a fact is added and deleted, in each iteration.

A record says by how much the two counts of a fact differ in an iteration from those in the one before, so there is
one only where something changed, and what a revision finds is added to what is there. Wolfson, Dewan, Stolfo and
Yemini 1991, section 4: REDO_MAINTAIN_CHAIN and UNDO_MAINTAIN_CHAIN for many facts and iterations at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.analysis.checked import SimpleRule
from tidelog.backends.protocol import Backend, Facts
from tidelog.facts.columns import arrow_schema
from tidelog.language.syntax_tree import Atom, Sign, Variable
from tidelog.maintain.ordering import Ordering
from tidelog.plan.lower import lower_rule
from tidelog.plan.nodes import RulePlan
from tidelog.production.rule_plans import optimized, over_marked
from tidelog.schema import Attribute, Kind, Schema
from tidelog.span import NOWHERE

Numbers: TypeAlias = npt.NDArray[np.int64]

ITERATION, ADDED, DELETED = "iteration", "added", "deleted"

COUNTS = "counts"
"""Both counts in one column: the added ones times 2 to the 32nd, and the deleted ones."""


class ChainRecords:
    """The chains of one relation. Tables here have the columns of a fact by number, and what is said about it."""

    def __init__(self, schema: Schema, backend: Backend, ordering: Ordering) -> None:
        self._backend = backend
        self._ordering = ordering
        self._relation = schema.relation
        self.keys = tuple(f"{number}" for number in range(schema.arity))
        fact = tuple(
            Attribute(name, each.type, each.kind) for name, each in zip(self.keys, schema.attributes, strict=True)
        )
        counts = tuple(Attribute(name, Kind.NUMBER.value, Kind.NUMBER) for name in (ITERATION, COUNTS))
        self._records = Schema(f"{schema.relation}@records", (*fact, *counts))
        self._touched = Schema(f"{schema.relation}@touched", fact)
        found = replace(self._records, relation=f"{schema.relation}@found")
        self._found = found.relation
        schemas = {each.relation: each for each in (self._records, self._touched, found)}
        backend.declare(schemas)
        self._plan = self._lookup(schemas)

    def at(self, facts: Facts, iteration: int) -> pa.Table:
        """How often each of `facts` is added and deleted in an iteration; facts without a record are left out."""
        records = self.of(facts)
        return summed([records.filter(pa.array(numbers(records, ITERATION) <= iteration))], self.keys)

    def of(self, facts: Facts) -> pa.Table:
        """The iterations in which counts of `facts` change, with the change."""
        self._backend.mark(self._touched.relation, facts)
        plans = self._ordering.of_those_with_rows([self._plan])
        self._backend.catch_up(plans)
        found = self._backend.collect(plans).get(self._found)
        empty = arrow_schema(self._records).empty_table()
        return _unpacked(empty if found is None else self._backend.table(self._found, found))

    def everything(self) -> pa.Table:
        """Every fact and iteration in which its counts change, with the change."""
        return _unpacked(self._backend.table(self._records.relation))

    def add(self, pieces: Sequence[pa.Table]) -> None:
        """Adds to the counts of facts from some iterations on."""
        new = summed(pieces, (*self.keys, ITERATION))
        if not new.num_rows:
            return
        known = self.of(self.facts(new))
        before, after = (
            self._backend.facts(self._records.relation, _packed(table, self._records.names))
            for table in (known, summed([known, new], (*self.keys, ITERATION)))
        )
        self._backend.exchange(self._records.relation, after.minus(before), before.minus(after))

    def append(self, counts: pa.Table, iteration: int) -> None:
        """Adds to the counts of facts from an iteration on that has no records yet."""
        records = _packed(from_iteration(counts, iteration), self._records.names)
        new = self._backend.facts(self._records.relation, records)
        self._backend.exchange(self._records.relation, new, new.none())

    def facts(self, counts: pa.Table) -> Facts:
        """The facts that a table is about."""
        return self._backend.facts(self._relation, counts.select(self.keys))

    def forget_after(self, iteration: int) -> None:
        """Takes away the records of later iterations."""
        records = self._backend.table(self._records.relation)
        is_late = pa.array(numbers(records, ITERATION) > iteration)
        late = self._backend.facts(self._records.relation, records.filter(is_late))
        self._backend.exchange(self._records.relation, late.none(), late)

    def _lookup(self, schemas: dict[str, Schema]) -> RulePlan:
        columns = tuple(Variable(name) for name in self._records.names)
        body = (
            Atom(self._touched.relation, columns[: len(self.keys)]),
            Atom(self._records.relation, columns),
        )
        kinds = dict(zip(self._records.names, self._records.kinds, strict=True))
        rule = SimpleRule(0, Atom(self._found, columns), body, kinds, NOWHERE, f"chains of {self._relation}")
        return over_marked(optimized([lower_rule(rule, schemas)], schemas)[0], self._touched.relation)


def tally(rows: pa.Table, keys: Sequence[str], sign: Sign, times: int) -> pa.Table:
    """The facts in the first columns of `rows`, each as asked for so many times, or that many times less."""
    asked = np.full(rows.num_rows, times, np.int64)
    none = np.zeros(rows.num_rows, np.int64)
    counts = (asked, none) if sign is Sign.INSERT else (none, asked)
    columns = [rows.column(number) for number in range(len(keys))]
    return pa.Table.from_arrays([*columns, *map(pa.array, counts)], names=[*keys, ADDED, DELETED])


def from_iteration(counts: pa.Table, iteration: int) -> pa.Table:
    """`counts` as records of an iteration."""
    return counts.append_column(ITERATION, pa.array(np.full(counts.num_rows, iteration, np.int64)))


def negated(counts: pa.Table) -> pa.Table:
    """The same counts, to be taken away."""
    for name in (ADDED, DELETED):
        counts = counts.set_column(counts.column_names.index(name), name, pa.array(-numbers(counts, name)))
    return counts


def numbers(counts: pa.Table, name: str) -> Numbers:
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


def _packed(records: pa.Table, names: Sequence[str]) -> pa.Table:
    counts = (numbers(records, ADDED) << 32) + numbers(records, DELETED)
    return records.append_column(COUNTS, pa.array(counts)).select(names)


def _unpacked(records: pa.Table) -> pa.Table:
    counts = numbers(records, COUNTS)
    deleted = counts.astype(np.int32).astype(np.int64)
    added = (counts - deleted) >> 32
    return records.append_column(ADDED, pa.array(added)).append_column(DELETED, pa.array(deleted)).drop_columns(COUNTS)
