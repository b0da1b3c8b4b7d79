"""What the buckets of a watch do: takes a program and the relations to watch, returns rules and how tuples go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from tidelog.activation.bucketing import Bucketing, bucketing_of
from tidelog.activation.watch_rule import WatchRule, cannot_watch
from tidelog.activation.watch_text import watchable
from tidelog.analysis.checked import CheckedProgram, SimpleRule
from tidelog.backends.spark.partitions import Partitioner, Partitions
from tidelog.connectors.python_rows import table_of_rows
from tidelog.errors import Diagnostic, ProgramError, UsageError
from tidelog.facts.columns import ArrowColumn, numbers_of, values_of
from tidelog.language.syntax_tree import Atom, Constant, Negation
from tidelog.schema import Kind, Row, Schema

INSTEAD = "leave [watch] out: follow derives everything, and keeps it"


@dataclass(frozen=True)
class Script:
    """Rules by the head that they fill, and the schemas of all relations. It goes to every task."""

    watches: Mapping[str, tuple[WatchRule, ...]]
    schemas: Mapping[str, Schema]
    buckets: int

    @cached_property
    def bucketing(self) -> Bucketing:
        return bucketing_of(self.watches)

    def shares(self, relation: str, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """The buckets that rows of a relation go to, each with its rows; none if no rule reads the relation."""
        if relation not in self.bucketing.relations or not rows.num_rows:
            return
        column = self.bucketing.relations[relation]
        if column is None:
            yield from ((bucket, rows) for bucket in range(self.buckets))
            return
        places = self._buckets_of(self.schemas[relation].kinds[column], rows.column(column))
        for bucket in np.unique(places).tolist():
            yield bucket, rows.take(np.flatnonzero(places == bucket))

    def own(self, bucket: int, head: str, rows: pa.Table) -> pa.Table:
        """Those of the rows of a head that belong to a bucket; behind its columns there may be others."""
        column = self.bucketing.heads[head]
        if column is None:
            return rows if bucket == 0 else rows.slice(0, 0)
        places = self._buckets_of(self.schemas[head].kinds[column], rows.column(column))
        return rows.filter(pa.array(places == bucket))

    def _buckets_of(self, kind: Kind, column: ArrowColumn) -> Partitions:
        partitioner = Partitioner(self.buckets)
        if kind is Kind.SYMBOL:
            return partitioner.of_texts([str(text) for text in values_of(column)])
        return partitioner.of_numbers(kind, numbers_of(kind, column))


def script_of(checked: CheckedProgram, heads: Sequence[str], buckets: int) -> Script:
    """How the relations `heads` are watched; ProgramError or UsageError where tuples cannot decide them."""
    if checked.productions:
        raise UsageError(f"rules that act cannot be watched on Spark\n  hint: {INSTEAD}")
    rules = [rule for stratum in checked.strata for rule in stratum.rules if rule.body]
    filled = {rule.head.relation for rule in rules}
    watches = {}
    for head in heads:
        own = [rule for rule in rules if rule.head.relation == head]
        if not own:
            raise UsageError(f"outputs.{head}: no rule fills it, so there is nothing to watch\n  hint: name another")
        findings = [
            replace(each, hint=INSTEAD) for rule in own for each in (*cannot_watch(rule), *_derived(rule, filled))
        ]
        if findings:
            raise ProgramError(list(dict.fromkeys(findings)), checked.texts)
        watches[head] = watchable(own, checked.texts)
    return Script(watches, checked.schemas, buckets)


def facts_of_text(checked: CheckedProgram) -> dict[str, pa.Table]:
    """The facts that the program itself states, by relation."""
    found: dict[str, list[Row]] = {}
    for stratum in checked.strata:
        for rule in stratum.rules:
            if not rule.body:
                row = tuple(term.value for term in rule.head.arguments if isinstance(term, Constant))
                found.setdefault(rule.head.relation, []).append(row)
    return {relation: table_of_rows(rows, checked.schemas[relation]) for relation, rows in found.items()}


def _derived(rule: SimpleRule, filled: set[str]) -> Iterator[Diagnostic]:
    """A diagnostic for each literal that reads what rules derive: a bucket has only tuples that arrive."""
    for literal in rule.body:
        atom = literal.atom if isinstance(literal, Negation) else literal
        if isinstance(atom, Atom) and atom.relation in filled:
            message = f"'{atom.relation}' is derived by rules, and a watch on Spark reads only tuples that arrive"
            yield Diagnostic("D803", message, atom.span)
