"""What an alternative of a production rule asks for, as columns: takes a rule, returns the row that its heads are in.

A rule that fires for all its instances need not know them: one plan gives rows of all terms of its heads, and a head is
some columns of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.protocol import Part
from tidelog.language.printer import print_term
from tidelog.language.syntax_tree import Atom, Sign, Term
from tidelog.schema import Attribute, Kind, Schema

Columns = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AskedColumns:
    """Heads of one relation and sign: for each, the columns that make its facts."""

    relation: str
    sign: Sign
    columns: tuple[Columns, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class AskedRows:
    """Rows of `schema`, made by a plan for `atom`, in which all heads are."""

    schema: Schema
    atom: Atom
    heads: tuple[AskedColumns, ...]
    parts: tuple[Part, ...] = field(compare=False)
    """The columns of each head."""


def asked_rows(rule: ProductionRule, number: int, schemas: Mapping[str, Schema]) -> AskedRows:
    """The row of the alternative of `rule` that has this number."""
    terms: dict[tuple[str, Kind], Term] = {}
    keys_of_heads = []
    for head in rule.heads:
        keys = [*zip(map(print_term, head.atom.arguments), schemas[head.atom.relation].kinds, strict=True)]
        keys_of_heads.append(keys)
        terms |= dict(zip(keys, head.atom.arguments, strict=True))
    heads: dict[tuple[str, Sign], list[Columns]] = {}
    for head, keys in zip(rule.heads, keys_of_heads, strict=True):
        columns = np.array([[*terms].index(key) for key in keys], np.int64)
        heads.setdefault((head.atom.relation, head.sign), []).append(columns)
    asked = tuple(AskedColumns(*key, tuple(some)) for key, some in heads.items())
    parts = tuple(head.columns for head in asked)
    if len(rule.heads) == 1 and len(terms) == len(keys_of_heads[0]):  # the row of a head that has no term twice
        return AskedRows(schemas[rule.heads[0].atom.relation], rule.heads[0].atom, asked, parts)
    relation = f"{rule.id}.{number}@asked"
    attributes = tuple(Attribute(f"_{at}", kind.value, kind) for at, (_, kind) in enumerate(terms))
    return AskedRows(Schema(relation, attributes), Atom(relation, (*terms.values(),), rule.span), asked, parts)
