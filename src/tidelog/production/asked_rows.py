"""What an alternative of a production rule asks for, as columns: takes a rule, returns the row that its heads are in.

A rule that fires for all its instances need not know them: one plan gives rows of all terms of its heads, and a head is
some columns of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.protocol import Facts
from tidelog.facts.fact_set import different
from tidelog.language.printer import print_term
from tidelog.language.syntax_tree import Atom, Sign, Term
from tidelog.production.ids import ids_of
from tidelog.schema import Attribute, Kind, Schema


@dataclass(frozen=True, slots=True)
class AskedColumns:
    """A head: the columns that make its facts."""

    relation: str
    sign: Sign
    columns: npt.NDArray[np.int64] = field(compare=False)


@dataclass(frozen=True, slots=True)
class AskedRows:
    """Rows of `schema`, made by a plan for `atom`, in which all heads are. Of one head they are its facts."""

    schema: Schema
    atom: Atom
    heads: tuple[AskedColumns, ...]

    def by_head(self, found: Facts) -> Iterator[tuple[str, Sign, Facts]]:
        """What is asked for in the rows that were found, some of them at least."""
        if len(self.heads) == 1:
            yield self.heads[0].relation, self.heads[0].sign, found
            return
        rows = ids_of(found)
        for head in self.heads:
            some = rows.take(head.columns, axis=1) if head.columns.size else np.zeros((1, 1), np.int32)
            yield head.relation, head.sign, different([some])


def asked_rows(rule: ProductionRule, number: int, schemas: Mapping[str, Schema]) -> AskedRows:
    """The row of the alternative of `rule` that has this number."""
    if len(rule.heads) == 1:
        (head,) = rule.heads
        schema = schemas[head.atom.relation]
        return AskedRows(schema, head.atom, (AskedColumns(schema.relation, head.sign, np.arange(schema.arity)),))
    terms: dict[tuple[str, Kind], Term] = {}
    heads = []
    for head in rule.heads:
        keys = [*zip(map(print_term, head.atom.arguments), schemas[head.atom.relation].kinds, strict=True)]
        terms |= dict(zip(keys, head.atom.arguments, strict=True))
        columns = np.array([[*terms].index(key) for key in keys], np.int64)
        heads.append(AskedColumns(head.atom.relation, head.sign, columns))
    relation = f"{rule.id}.{number}@asked"
    attributes = tuple(Attribute(f"_{at}", kind.value, kind) for at, (_, kind) in enumerate(terms))
    return AskedRows(Schema(relation, attributes), Atom(relation, (*terms.values(),), rule.span), tuple(heads))
