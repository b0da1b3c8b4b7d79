"""Takes a yield index, returns what is in it as a person reads it: data index, semantic index, dummies that wait.

Rows and keys are codes here: numbers are themselves, texts the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.activation.codes import CodeArray, Codes
from tidelog.activation.elements import (
    TURNED,
    ConstantElement,
    OrderElement,
    Place,
    VariableElement,
    minimal_elements,
    show_element,
)
from tidelog.activation.watch_rule import COMPARE, WatchRule
from tidelog.activation.yield_index import YieldIndex
from tidelog.kernels.watch_finder import NONE
from tidelog.kernels.watch_order import COUNTS, FAN, KEYS, UNDER, find_place, next_place
from tidelog.kernels.watch_tables import HOMES, PAGE, PAGES
from tidelog.kernels.watch_totals import MADE_ENTRIES, MADE_TUPLES
from tidelog.language.syntax_tree import ComparisonOperator, Constant

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
    first = index.known[number, PAGES + index.width + column]
    if page == NONE:
        return {}
    return {
        int(stored.keys[entry]): frozenset(_listed(index, number, int(stored.entries[entry, first]), column))
        for entry in range(stored.totals[MADE_ENTRIES])
        if stored.entries[entry, PAGE] == page and stored.entries[entry, first] != NONE
    }


def order_of(index: YieldIndex, relation: str, column: int) -> list[tuple[int, frozenset[CodeRow]]]:
    """The values of a column from the lowest on, each with its tuples; nothing where no order joins the column."""
    number, stored = index.relations[relation], index.tables
    root = index.known[number, PAGES + 2 * index.width + column]
    if root == NONE:
        return []
    first = index.known[number, PAGES + index.width + column]
    found: list[tuple[int, frozenset[CodeRow]]] = []
    place = find_place(stored.trees, root, np.int64(np.iinfo(np.int64).min))[0]
    while place != NONE:
        node, at = divmod(int(place), FAN)
        rows = frozenset(_listed(index, number, int(stored.entries[stored.trees[node, UNDER + at], first]), column))
        assert len(rows) == stored.trees[node, COUNTS + at]
        found.append((int(stored.trees[node, KEYS + at]), rows))
        place = next_place(stored.trees, np.int64(place))
    return found


def semantic_index(index: YieldIndex, rule: int, codes: Codes) -> list[SemanticEntry]:
    """The entries of a rule, of every tuple that the constants of its literal admit, in order of their text."""
    watched = index.rules[rule]
    return sorted(
        (
            SemanticEntry(bool(fires), side.type, row[side.place.column], side.element, side.relation, tuple(row))
            for side in _sides(watched, _admitted(index, watched, codes))
            for row, fires in zip(side.rows.tolist(), side.fires, strict=True)
        ),
        key=str,
    )


def count_dummies(index: YieldIndex, rule: int, codes: Codes) -> int:
    """How many entries of a rule wait for a partner."""
    watched = index.rules[rule]
    return sum(int(np.count_nonzero(~side.fires)) for side in _sides(watched, _admitted(index, watched, codes)))


@dataclass(frozen=True, slots=True)
class _Side:
    """The tuples at one place of an element, and which of them have a partner at the other."""

    place: Place
    element: str
    type: str
    relation: str
    rows: CodeArray
    fires: npt.NDArray[np.bool_]


def _sides(rule: WatchRule, admitted: list[CodeArray]) -> Iterator[_Side]:
    for element in minimal_elements(rule):
        match element:
            case ConstantElement(place):
                rows = admitted[place.literal]
                relation = rule.literals[place.literal].relation
                yield _Side(place, show_element(element, rule), "CS", relation, rows, np.ones(len(rows), np.bool_))
            case VariableElement(one, other) | OrderElement(one, _, Place() as other):
                is_order = isinstance(element, OrderElement)
                operator = element.operator if isinstance(element, OrderElement) else ComparisonOperator.EQUAL
                negated = any(rule.literals[at.literal].negated for at in (one, other))
                type = "TS" if negated else "InequalityS" if is_order else "IS"
                for place, partner, compared in ((one, other, operator), (other, one, TURNED[operator])):
                    rows = admitted[place.literal]
                    fires = _fires(rows[:, place.column], compared, admitted[partner.literal][:, partner.column])
                    relation = rule.literals[place.literal].relation
                    yield _Side(place, show_element(element, rule), type, relation, rows, fires)


def _fires(keys: CodeArray, operator: ComparisonOperator, partners: CodeArray) -> npt.NDArray[np.bool_]:
    """Which keys stand in this relation to some partner; for orders the lowest and the highest partner say so."""
    if operator is ComparisonOperator.EQUAL or not partners.size:
        return np.isin(keys, partners)
    compare = COMPARE[operator]
    return np.asarray(compare(keys, partners.min()) | compare(keys, partners.max()))


def _admitted(index: YieldIndex, rule: WatchRule, codes: Codes) -> list[CodeArray]:
    """For each literal the tuples of its relation that have its constants, and agree with those it is compared with."""
    stored = index.tables
    owners = stored.links[: stored.totals[MADE_TUPLES], 0]
    admitted = []
    for at, literal in enumerate(rule.literals):
        relation = index.relations[literal.relation]
        rows = stored.cells[np.flatnonzero(owners == relation), : index.schemas[relation].arity]
        for element in minimal_elements(rule):
            match element:
                case ConstantElement(Place(owner, column), value) if owner == at:
                    rows = rows[rows[:, column] == _code(codes, value)]
                case OrderElement(Place(owner, column), operator, Constant() as value) if owner == at:
                    rows = rows[COMPARE[operator](rows[:, column], _code(codes, value))]
        admitted.append(rows)
    return admitted


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
