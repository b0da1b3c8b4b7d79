"""Takes watch rules, returns them as the tables that `kernels.watch_join` reads.

A rule gets, for each literal a tuple may stand for, the order in which its other literals are joined: always one that
shares a variable with what is bound, if there is one. Constants, which addresses are, are looked at before all else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.activation.elements import TURNED, Place, constrained_places
from tidelog.activation.watch_rule import ORDERED, PlainTerm, WatchComparison, WatchRule
from tidelog.kernels import watch_program as join
from tidelog.kernels.watch_finder import NONE
from tidelog.language.syntax_tree import ComparisonOperator, Constant, Variable

OPERATORS = {
    ComparisonOperator.EQUAL: (join.EQUAL, False),
    ComparisonOperator.NOT_EQUAL: (join.NOT_EQUAL, False),
    ComparisonOperator.LESS: (join.LESS, False),
    ComparisonOperator.LESS_EQUAL: (join.LESS_EQUAL, False),
    ComparisonOperator.GREATER: (join.LESS, True),
    ComparisonOperator.GREATER_EQUAL: (join.LESS_EQUAL, True),
}
"""The kernel's number of each operator, and whether the sides change places."""

BOUNDS = {
    ComparisonOperator.NOT_EQUAL: join.NOT_EQUAL,
    ComparisonOperator.LESS: join.LESS,
    ComparisonOperator.LESS_EQUAL: join.LESS_EQUAL,
    ComparisonOperator.GREATER: join.GREATER,
    ComparisonOperator.GREATER_EQUAL: join.GREATER_EQUAL,
}
"""The kernel's number of each operator that bounds the values of a column."""

SORTS = ("occurrence", "operation", "presence", "step", "comparison", "bound", "rule", "constant", "head")
POINTERS = {
    "occurrence": {
        **dict.fromkeys((join.OPERATIONS, join.OPERATIONS_END), "operation"),
        **dict.fromkeys((join.PRESENT, join.PRESENT_END), "presence"),
        **dict.fromkeys((join.STEPS, join.STEPS_END), "step"),
        **dict.fromkeys((join.COMPARED, join.COMPARED_END), "comparison"),
        join.RULE_ROW: "rule",
    },
    "step": {
        **dict.fromkeys((join.STEP_OPERATIONS, join.STEP_OPERATIONS_END), "operation"),
        **dict.fromkeys((join.STEP_COMPARED, join.STEP_COMPARED_END), "comparison"),
        **dict.fromkeys((join.STEP_BOUNDS, join.STEP_BOUNDS_END), "bound"),
    },
    "rule": {
        **dict.fromkeys((join.CONSTANTS, join.CONSTANTS_END), "constant"),
        **dict.fromkeys((join.NEGATIONS, join.NEGATIONS_END), "step"),
        **dict.fromkeys((join.HEADS, join.HEADS_END), "head"),
    },
}
"""Which columns of a sort of rows hold numbers of rows, and of which sort."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where the index keeps things for a rule: relations by number, and the page and entry of each constant."""

    relations: Mapping[str, int]
    code: Callable[[Constant], int]
    hold: Callable[[Place, Constant], tuple[int, int]]


class RuleTables:
    """The tables of all rules added so far."""

    def __init__(self) -> None:
        self._occurrences: dict[int, list[list[int]]] = {}
        self._operations: list[list[int]] = []
        self._presences: list[list[int]] = []
        self._steps: list[list[int]] = []
        self._comparisons: list[list[int]] = []
        self._bounds: list[list[int]] = []
        self._rules: list[list[int]] = []
        self._constants: list[list[int]] = []
        self._heads: list[list[int]] = []
        self.most_needed = self.widest_head = 1

    def add(self, rule: WatchRule, where: Location) -> int:
        """The number of a rule that is new."""
        number = len(self._rules)
        variables = _number_variables(rule)
        constants, head = len(self._constants), len(self._heads)
        for place, constant, variable in _constants_of(rule, variables):
            page, entry = (NONE, NONE) if place is None else where.hold(place, constant)
            self._constants.append([variable, page, entry, where.code(constant)])
        for term in rule.terms:
            self._heads.append(self._head(rule, term, where))
        negations = len(self._steps)
        bound = set(variables.values())
        for at, literal in enumerate(rule.literals):
            if literal.negated:
                self._step(rule, at, variables, bound, [], where, needs_at=0)
        joined = sum(not literal.negated for literal in rule.literals)
        self._rules.append(
            [constants, len(self._constants), negations, len(self._steps), head, len(self._heads), joined]
        )
        for at, literal in enumerate(rule.literals):
            found = self._occurrence(rule, number, at, variables, where)
            self._occurrences.setdefault(where.relations[literal.relation], []).append(found)
        columns = sum(len(literal.terms) for literal in rule.literals)
        self.most_needed = max(self.most_needed, len(variables), len(rule.literals) + 1, columns)
        self.widest_head = max(self.widest_head, len(rule.terms))
        return number

    def remove(self, rule: int) -> None:
        """Takes away the occurrences of a rule, so that nothing leads to its other rows."""
        for relation, found in self._occurrences.items():
            self._occurrences[relation] = [row for row in found if row[join.RULE] != rule]

    def program(self, relations: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows of all sorts in one table, and where in it the occurrences of each relation begin, and the last end.

        Ranges point into the table as a whole.
        """
        sorts = [
            [row for relation in range(relations) for row in self._occurrences.get(relation, [])],
            *(self._operations, self._presences, self._steps, self._comparisons, self._bounds),
            *(self._rules, self._constants, self._heads),
        ]
        begins = np.cumsum([0, *map(len, sorts)])
        table = np.zeros((int(begins[-1]), join.COLUMNS), np.int64)
        for begin, rows in zip(begins, sorts, strict=False):
            if rows:
                table[begin : begin + len(rows), : len(rows[0])] = rows
        at = dict(zip(SORTS, begins, strict=False))
        for sort, columns in POINTERS.items():
            following = at[sort] + len(sorts[SORTS.index(sort)])
            for column, target in columns.items():
                table[at[sort] : following, column] += at[target]
        counts = [len(self._occurrences.get(relation, [])) for relation in range(relations)]
        return table, np.cumsum([0, *counts])

    def first_occurrence(self, rule: int, relations: int) -> tuple[int, int]:
        """The row and the relation of the occurrence of a rule's first positive literal."""
        row = 0
        found: list[tuple[int, int, int]] = []
        for relation in range(relations):
            for occurrence in self._occurrences.get(relation, []):
                if occurrence[join.RULE] == rule and not occurrence[join.NEGATED]:
                    found.append((occurrence[join.LITERAL], row, relation))
                row += 1
        _, row, relation = min(found)
        return row, relation

    def _occurrence(
        self, rule: WatchRule, number: int, at: int, variables: Mapping[PlainTerm, int], where: Location
    ) -> list[int]:
        """A row of the table of occurrences: what a tuple does that stands for literal `at`."""
        literal = rule.literals[at]
        constants = {variable for term, variable in variables.items() if isinstance(term, Constant)}
        bound = set(constants)
        waiting = list(rule.comparisons)
        operations = self._bind(rule, at, variables, bound)
        compared = self._compare(waiting, variables, bound)
        others = [other for other in range(len(rule.literals)) if other != at and not rule.literals[other].negated]
        presences = len(self._presences)
        found = [row for other in others for row in _presences(rule, other, variables, bound, where)]
        self._presences += sorted(found, key=lambda row: row[0] not in constants)
        # The steps of an occurrence lie side by side, so what they refer to is written first.
        steps = len(self._steps)
        while others:
            following = min(others, key=lambda other: _distance(rule, other, variables, bound, waiting))
            others.remove(following)
            needs_at = len(self._operations) - operations[0]
            self._step(rule, following, variables, bound, waiting, where, needs_at=needs_at)
            same = rule.literals[following].relation == literal.relation and not literal.negated
            self._steps[-1][join.EXCLUDES] = int(same and following < at)
        return [
            *(number, at, int(literal.negated), *operations, presences, len(self._presences)),
            *(steps, len(self._steps), *compared, number),
        ]

    def _step(
        self,
        rule: WatchRule,
        at: int,
        variables: Mapping[PlainTerm, int],
        bound: set[int],
        waiting: list[WatchComparison],
        where: Location,
        *,
        needs_at: int,
    ) -> None:
        bounds = self._bound(rule, at, variables, bound, waiting)
        operations = self._bind(rule, at, variables, bound)
        compared = self._compare(waiting, variables, bound)
        relation = where.relations[rule.literals[at].relation]
        self._steps.append([relation, at, *operations, *compared, *bounds, 0, needs_at])

    def _bound(
        self,
        rule: WatchRule,
        at: int,
        variables: Mapping[PlainTerm, int],
        bound: set[int],
        waiting: list[WatchComparison],
    ) -> tuple[int, int]:
        """Writes how the new values of a literal stand to those that are bound before it, column by column."""
        begin = len(self._bounds)
        self._bounds += sorted(
            [column, BOUNDS[operator], variables[other]]
            for comparison in waiting
            for operator, side, other in _both_ways(comparison)
            for column, term in enumerate(rule.literals[at].terms)
            if term == side and variables[side] not in bound and variables[other] in bound
        )
        return begin, len(self._bounds)

    def _bind(self, rule: WatchRule, at: int, variables: Mapping[PlainTerm, int], bound: set[int]) -> tuple[int, int]:
        """Writes what the columns of a literal do with their variables; `bound` grows by those that get a value."""
        begin = len(self._operations)
        new: set[int] = set()
        columns = sorted(enumerate(rule.literals[at].terms), key=lambda found: not isinstance(found[1], Constant))
        for column, term in columns:
            if term in variables:
                variable = variables[term]
                kind = join.CHECK if variable in bound else join.SAME if variable in new else join.BIND
                new.add(variable)
                self._operations.append([kind, column, variable])
        bound |= new
        return begin, len(self._operations)

    def _compare(
        self, waiting: list[WatchComparison], variables: Mapping[PlainTerm, int], bound: set[int]
    ) -> tuple[int, int]:
        """Writes the comparisons whose sides are bound by now and takes them out of `waiting`."""
        begin = len(self._comparisons)
        for comparison in tuple(waiting):
            sides = [variables[comparison.left], variables[comparison.right]]
            if bound.issuperset(sides):
                waiting.remove(comparison)
                operator, turned = OPERATORS[comparison.operator]
                self._comparisons.append([operator, *(reversed(sides) if turned else sides)])
        return begin, len(self._comparisons)

    def _head(self, rule: WatchRule, term: PlainTerm, where: Location) -> list[int]:
        """Where a column of the head has its value from: a column of a literal, or a constant."""
        if isinstance(term, Constant):
            return [NONE, where.code(term)]
        return next(
            [at, column]
            for at, literal in enumerate(rule.literals)
            for column, found in enumerate(literal.terms)
            if found == term and not literal.negated
        )


def _both_ways(comparison: WatchComparison) -> Iterator[tuple[ComparisonOperator, PlainTerm, PlainTerm]]:
    yield comparison.operator, comparison.left, comparison.right
    yield TURNED[comparison.operator], comparison.right, comparison.left


def _number_variables(rule: WatchRule) -> dict[PlainTerm, int]:
    """A number for each variable that is compared with anything, and for each constant of the body."""
    compared = [side for comparison in rule.comparisons for side in (comparison.left, comparison.right)]
    terms = [term for literal in rule.literals for term in literal.terms]
    wanted = [
        term
        for term in [*terms, *compared]
        if isinstance(term, Constant) or (isinstance(term, Variable) and (terms + compared).count(term) > 1)
    ]
    return {term: number for number, term in enumerate(dict.fromkeys(wanted))}


def _constants_of(rule: WatchRule, variables: Mapping[PlainTerm, int]) -> Iterator[tuple[Place | None, Constant, int]]:
    """Each constant with its variable and an indexed place where it stands, if there is one."""
    indexed = sorted(constrained_places(rule))
    for term, variable in variables.items():
        if isinstance(term, Constant):
            places = [place for place in indexed if rule.literals[place.literal].terms[place.column] == term]
            yield (places[0] if places else None), term, variable


def _presences(
    rule: WatchRule, at: int, variables: Mapping[PlainTerm, int], bound: set[int], where: Location
) -> list[list[int]]:
    relation = where.relations[rule.literals[at].relation]
    found = [
        [variables[term], relation, column]
        for column, term in enumerate(rule.literals[at].terms)
        if variables.get(term) in bound
    ]
    return found or [[NONE, relation, 0]]


def _distance(
    rule: WatchRule, at: int, variables: Mapping[PlainTerm, int], bound: set[int], waiting: Sequence[WatchComparison]
) -> tuple[int, int, int, int]:
    """The less, the better to join next: bound variables count most, then constants, orders, the order in the body."""
    terms = rule.literals[at].terms
    names = sum(isinstance(term, Variable) and variables.get(term) in bound for term in terms)
    constants = sum(isinstance(term, Constant) for term in terms)
    orders = sum(
        side in terms and variables[other] in bound
        for comparison in waiting
        for _, side, other in _both_ways(comparison)
        if comparison.operator in ORDERED
    )
    return -names, -constants, -orders, at
