"""Takes rules to watch, returns how tuples are shared out among buckets that find matches without one another.

A row of a head belongs to the bucket of the value in one of its columns. Tuples with that value in a column of their
own go there too. Other tuples go to every bucket, and each bucket tells only of the rows that belong to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.activation.watch_rule import PlainTerm, WatchLiteral, WatchRule
from tidelog.language.syntax_tree import Variable


@dataclass(frozen=True, slots=True)
class Bucketing:
    """The column that says the bucket, for each watched head and each relation.

    None is every bucket for a relation, and the first one for a head, which then has no columns.
    """

    heads: Mapping[str, int | None]
    relations: Mapping[str, int | None]


def bucketing_of(watches: Mapping[str, Sequence[WatchRule]]) -> Bucketing:
    """The bucketing with as few relations in every bucket as can be found by choosing head after head."""
    columns: dict[str, frozenset[int]] = {}
    heads: dict[str, int | None] = {}
    for head, rules in watches.items():
        arity = len(rules[0].terms) if rules else 0
        everywhere = {at: _everywhere(_narrowed(columns, rules, at)) for at in range(arity)}
        heads[head] = column = min(everywhere, key=everywhere.__getitem__, default=None)
        columns = _narrowed(columns, rules, column)
    return Bucketing(heads, {relation: min(found, default=None) for relation, found in columns.items()})


def _narrowed(
    columns: Mapping[str, frozenset[int]], rules: Sequence[WatchRule], column: int | None
) -> dict[str, frozenset[int]]:
    """The columns by which each relation can go when the rows of `rules` go by that column."""
    found = dict(columns)
    for rule in rules:
        key = rule.terms[column] if column is not None else None
        for literal in rule.literals:
            here = _columns_with(key, literal)
            found[literal.relation] = found.get(literal.relation, here) & here
    return found


def _columns_with(key: PlainTerm | None, literal: WatchLiteral) -> frozenset[int]:
    if not isinstance(key, Variable):
        return frozenset()
    terms = enumerate(literal.terms)
    return frozenset(at for at, term in terms if isinstance(term, Variable) and term.name == key.name)


def _everywhere(columns: Mapping[str, frozenset[int]]) -> int:
    return sum(not each for each in columns.values())
