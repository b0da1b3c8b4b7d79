"""Takes a watch rule, returns what it demands of tuples: constraint elements, and the fewest that say the same.

In the paper: SCE and MCE, sections 3.1 and 3.3, Algorithm 1. There an element relates two relations; here it relates
two places in the body, because a relation may stand there twice and a variable twice in one literal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from tidelog.activation.watch_rule import PlainTerm, WatchRule
from tidelog.language.printer import print_constant
from tidelog.language.syntax_tree import ComparisonOperator, Constant, Variable


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A column of a literal of the body, both counted from 0."""

    literal: int
    column: int


@dataclass(frozen=True, slots=True)
class ConstantElement:
    """The column holds this value (CS)."""

    place: Place
    value: Constant


@dataclass(frozen=True, slots=True)
class VariableElement:
    """The column holds what another one holds (IS). The other one is the variable's representative."""

    place: Place
    representative: Place


@dataclass(frozen=True, slots=True)
class OrderElement:
    """The column stands in this relation to another one, or to a value (InequalityS)."""

    place: Place
    operator: ComparisonOperator
    other: Place | Constant


@dataclass(frozen=True, slots=True)
class AbsenceElement:
    """No tuple agrees with the negated literal (TS)."""

    literal: int


Element: TypeAlias = ConstantElement | VariableElement | OrderElement | AbsenceElement


def all_elements(rule: WatchRule) -> tuple[Element, ...]:
    """Every element that holds for each match (SCE), both directions of an equality once."""
    equalities = [
        VariableElement(second, first)
        for places in _places_by_variable(rule).values()
        for first, second in combinations(places, 2)
    ]
    return (*_constants(rule), *equalities, *_orders(rule), *_absences(rule))


def minimal_elements(rule: WatchRule) -> tuple[Element, ...]:
    """The fewest elements that say the same (MCE): each place of a variable is compared with the first only."""
    equalities = [
        VariableElement(place, places[0]) for places in _places_by_variable(rule).values() for place in places[1:]
    ]
    return (*_constants(rule), *equalities, *_orders(rule), *_absences(rule))


def constrained_places(rule: WatchRule) -> frozenset[Place]:
    """The columns that need a data index. A negated literal without `_` needs none: it is searched for as a whole."""
    found: set[Place] = set()
    for element in minimal_elements(rule):
        match element:
            case ConstantElement(place):
                found.add(place)
            case VariableElement(place, representative):
                found |= {place, representative}
            case OrderElement(place, _, other):
                found |= {place, other} if isinstance(other, Place) else {place}
    return frozenset(place for place in found if not is_whole(rule, place.literal))


def joined_places(rule: WatchRule) -> list[list[Place]]:
    """The columns that need a data index, those that hold the same variable together."""
    groups: dict[Place, list[Place]] = {place: [place] for place in sorted(constrained_places(rule))}
    for element in minimal_elements(rule):
        match element:
            case VariableElement(place, representative) if {place, representative} <= groups.keys():
                groups[representative] += groups.pop(place)
    return list(groups.values())


def ordered_places(rule: WatchRule) -> frozenset[Place]:
    """The columns whose values need an order: those that a comparison joins with another positive literal.

    `!=` leaves out one value only, which is worth an order where nothing but `!=` joins the two literals.
    """
    found: set[Place] = set()
    for comparison in rule.comparisons:
        sides = (comparison.left, comparison.right)
        for side, other in (sides, sides[::-1]):
            for at in _literals_with(rule, side) - _literals_with(rule, other):
                partners = _literals_with(rule, other)
                is_joined = all(_share_variable(rule, at, partner) for partner in partners)
                if partners and not (is_joined and comparison.operator is ComparisonOperator.NOT_EQUAL):
                    found.add(Place(at, rule.literals[at].terms.index(side)))
    return frozenset(found)


def is_whole(rule: WatchRule, literal: int) -> bool:
    """Whether a literal is negated and all its columns have values by then."""
    negated = rule.literals[literal]
    return negated.negated and all(isinstance(term, Variable | Constant) for term in negated.terms)


def show_element(element: Element, rule: WatchRule) -> str:
    """`element` in the paper's form, columns counted from 1: `t.$1 = s.$2`."""
    match element:
        case ConstantElement(place, value):
            return f"{_show_place(place, rule)} = {print_constant(value)}"
        case VariableElement(place, representative):
            return f"{_show_place(place, rule)} = {_show_place(representative, rule)}"
        case OrderElement(place, operator, other):
            right = _show_place(other, rule) if isinstance(other, Place) else print_constant(other)
            return f"{_show_place(place, rule)} {operator.value} {right}"
        case AbsenceElement(literal):
            return f"!{_show_literal(literal, rule)}"


def _constants(rule: WatchRule) -> Iterator[ConstantElement]:
    for place, term in _terms(rule):
        if isinstance(term, Constant):
            yield ConstantElement(place, term)


def _orders(rule: WatchRule) -> Iterator[OrderElement]:
    places = {name: found[0] for name, found in _places_by_variable(rule).items()}
    for comparison in rule.comparisons:
        left, right, operator = comparison.left, comparison.right, comparison.operator
        if not isinstance(left, Variable):
            left, right, operator = right, left, TURNED[operator]
        if isinstance(left, Variable):
            other = places[right.name] if isinstance(right, Variable) else right
            assert isinstance(other, Place | Constant)
            yield OrderElement(places[left.name], operator, other)


TURNED = {
    ComparisonOperator.EQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.LESS_EQUAL: ComparisonOperator.GREATER_EQUAL,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.GREATER_EQUAL: ComparisonOperator.LESS_EQUAL,
}
"""What an operator becomes when its sides change places."""


def _absences(rule: WatchRule) -> Iterator[AbsenceElement]:
    for number, literal in enumerate(rule.literals):
        if literal.negated:
            yield AbsenceElement(number)


def _places_by_variable(rule: WatchRule) -> dict[str, list[Place]]:
    """Where each variable stands: positive literals first, which give it its value."""
    places: dict[str, list[Place]] = {}
    for place, term in sorted(_terms(rule), key=lambda found: (rule.literals[found[0].literal].negated, found[0])):
        if isinstance(term, Variable):
            places.setdefault(term.name, []).append(place)
    return places


def _terms(rule: WatchRule) -> Iterator[tuple[Place, object]]:
    for number, literal in enumerate(rule.literals):
        for column, term in enumerate(literal.terms):
            yield Place(number, column), term


def _literals_with(rule: WatchRule, term: PlainTerm) -> frozenset[int]:
    """The positive literals in which a variable stands."""
    return frozenset(
        at
        for at, literal in enumerate(rule.literals)
        if isinstance(term, Variable) and term in literal.terms and not literal.negated
    )


def _share_variable(rule: WatchRule, one: int, other: int) -> bool:
    return any(isinstance(term, Variable) and term in rule.literals[other].terms for term in rule.literals[one].terms)


def _show_place(place: Place, rule: WatchRule) -> str:
    return f"{_show_literal(place.literal, rule)}.${place.column + 1}"


def _show_literal(number: int, rule: WatchRule) -> str:
    """The name of its relation, with a number where the relation stands in the body more than once."""
    relation = rule.literals[number].relation
    same = [at for at, literal in enumerate(rule.literals) if literal.relation == relation]
    return relation if len(same) == 1 else f"{relation}[{same.index(number) + 1}]"
