"""Takes a yield index, returns what is in it as a person reads it: data index, semantic index, dummies that wait.

Rows and keys are codes here: numbers are themselves, texts the order in which they came.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tidelog.activation.codes import Codes
from tidelog.activation.elements import (
    ConstantElement,
    OrderElement,
    Place,
    VariableElement,
    minimal_elements,
    show_element,
)
from tidelog.activation.watch_rule import COMPARE, WatchRule
from tidelog.activation.yield_index import YieldIndex
from tidelog.kernels.watch_tables import FIRST, HOMES, NONE, PAGE, PAGES
from tidelog.language.syntax_tree import Constant

CodeRow = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SemanticEntry:
    """A tuple under one element of a rule: the paper's Fire, Type, KEY and Root. One that does not fire is a dummy."""

    fires: bool
    type: str
    key: int
    element: str
    relation: str
    row: CodeRow

    def __str__(self) -> str:
        values = ", ".join(map(str, self.row))
        return f"{self.element}: ({'T' if self.fires else 'F'}, {self.type}, {self.key}) {self.relation}({values})"


def data_index(index: YieldIndex, relation: str, column: int) -> dict[int, frozenset[CodeRow]]:
    """The tuples under each key of a column, read from its lists; nothing where no rule constrains the column."""
    number, stored = index.relations[relation], index.tables
    page = index.known[number, PAGES + column]
    first = 2 * index.known[number, PAGES + index.width + column]
    if page == NONE:
        return {}
    return {
        int(stored.keys[entry]): frozenset(_listed(index, number, int(stored.entries[entry, first]), column))
        for entry in range(stored.keys.size)
        if stored.entries[entry, PAGE] == page and stored.entries[entry, first] != NONE
    }


def semantic_index(index: YieldIndex, rule: int, codes: Codes) -> list[SemanticEntry]:
    """The entries of a rule, of every tuple that the constants of its literal admit, in order of their text."""
    watched = index.rules[rule]
    admitted = [_admitted(index, watched, literal, codes) for literal in range(len(watched.literals))]
    return sorted(_entries(watched, admitted), key=str)


def _entries(rule: WatchRule, admitted: list[list[CodeRow]]) -> Iterator[SemanticEntry]:
    for element in minimal_elements(rule):
        shown = show_element(element, rule)
        match element:
            case ConstantElement(place):
                for row in admitted[place.literal]:
                    yield _entry(rule, "CS", shown, place, row, fires=True)
            case VariableElement(place, other) | OrderElement(place, _, Place() as other):
                is_order = isinstance(element, OrderElement)
                compare = COMPARE[element.operator] if isinstance(element, OrderElement) else operator.eq
                negated = any(rule.literals[at.literal].negated for at in (place, other))
                type = "TS" if negated else "InequalityS" if is_order else "IS"
                yield from _one_way(rule, type, shown, place, other, admitted, compare)
                yield from _one_way(rule, type, shown, other, place, admitted, _turned(compare))


def _turned(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda one, other: compare(other, one)


def _one_way(
    rule: WatchRule,
    type: str,
    shown: str,
    place: Place,
    other: Place,
    admitted: list[list[CodeRow]],
    compare: Callable[[Any, Any], Any],
) -> Iterator[SemanticEntry]:
    """The entries of the tuples at `place`: each fires if a tuple at `other` agrees with it."""
    partners = {row[other.column] for row in admitted[other.literal]}
    for row in admitted[place.literal]:
        key = row[place.column]
        yield _entry(rule, type, shown, place, row, fires=any(compare(key, partner) for partner in partners))


def _entry(rule: WatchRule, type: str, shown: str, place: Place, row: CodeRow, *, fires: bool) -> SemanticEntry:
    return SemanticEntry(fires, type, row[place.column], shown, rule.literals[place.literal].relation, row)


def _admitted(index: YieldIndex, rule: WatchRule, literal: int, codes: Codes) -> list[CodeRow]:
    """The tuples of a literal's relation that have its constants, and those it is compared with."""
    relation = index.relations[rule.literals[literal].relation]
    rows = _listed(index, relation, int(index.known[relation, FIRST]), index.width)
    for element in minimal_elements(rule):
        match element:
            case ConstantElement(Place(at, column), value) if at == literal:
                rows = [row for row in rows if row[column] == _code(codes, value)]
            case OrderElement(Place(at, column), compared, Constant() as value) if at == literal:
                rows = [row for row in rows if COMPARE[compared](row[column], _code(codes, value))]
    return rows


def _code(codes: Codes, constant: Constant) -> int:
    assert constant.kind is not None
    return codes.of_value(constant.value, constant.kind)


def _listed(index: YieldIndex, relation: int, number: int, column: int) -> list[CodeRow]:
    """The tuples of a list, from tuple `number` on; `column` says of which list of the tuples."""
    arity = index.schemas[relation].arity
    rows: list[CodeRow] = []
    while number != NONE:
        rows.append(tuple(index.tables.cells[number, :arity].tolist()))
        number = int(index.tables.links[number, HOMES + index.width + column])
    return rows
