"""Takes a watch rule, returns for each of its literals how the others are joined with a tuple that stands for it.

What is bound at each step depends on the literals joined before, not on their tuples: so it is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidelog.activation.watch_rule import COMPARE, PlainTerm, WatchLiteral, WatchRule
from tidelog.language.syntax_tree import Constant, Variable, Wildcard

At: TypeAlias = tuple[tuple[int, int], ...]
"""Columns of a literal, each with the place of its value."""


@dataclass(frozen=True, slots=True)
class Step:
    """A literal: columns whose values are known before, variables that get theirs from its tuple, columns that have
    one of these once more, and the comparisons that can be made then. `joined` are the known columns with a variable.

    With `excludes` the tuple that stands for the first literal of the plan may not be one for this literal too.
    """

    literal: WatchLiteral
    known: At
    joined: At
    new: At
    again: At
    compared: tuple[tuple[Callable[[Any, Any], Any], int, int], ...]
    excludes: bool


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """The steps of a join, the first for the tuple that is given, then what must not be there, and the head.

    `values` has the constants in their places and room for variables.
    """

    values: tuple[int, ...]
    steps: tuple[Step, ...]
    absent: tuple[Step, ...]
    head: tuple[int, ...]


def join_plan(rule: WatchRule, pinned: int, code: Callable[[Constant], int]) -> JoinPlan:
    """How a rule is joined with a tuple for literal `pinned`: next is always the literal with most columns known, of
    several the one that is written first."""
    places = _places(rule)
    bound = {place for term, place in places.items() if isinstance(term, Constant)}
    values = tuple(code(term) if isinstance(term, Constant) else 0 for term in places)
    start = rule.literals[pinned]
    order = _Order(rule, places, bound)
    # A tuple that could stand for several literals stands for the first of them.
    earlier = [at < pinned and literal.relation == start.relation for at, literal in enumerate(rule.literals)]
    steps = [order.step(start, excludes=False)]
    others = {at for at, literal in enumerate(rule.literals) if at != pinned and not literal.negated}
    while others:
        following = max(others, key=lambda at: (len(order.known(rule.literals[at])), -at))
        others.remove(following)
        steps.append(order.step(rule.literals[following], excludes=earlier[following] and not start.negated))
    absent = [
        order.step(literal, excludes=earlier[at] and start.negated)
        for at, literal in enumerate(rule.literals)
        if literal.negated
    ]
    return JoinPlan(values, tuple(steps), tuple(absent), tuple(places[_key(term)] for term in rule.terms))


class _Order:
    """What is bound so far while a plan is made."""

    def __init__(self, rule: WatchRule, places: dict[Variable | Constant, int], bound: set[int]) -> None:
        self._places = places
        self._bound = bound
        self._comparisons = list(rule.comparisons)

    def known(self, literal: WatchLiteral) -> At:
        """The columns of a literal whose values are known."""
        return tuple(pair for pair in self._columns(literal.terms) if pair[1] in self._bound)

    def step(self, literal: WatchLiteral, *, excludes: bool) -> Step:
        """The step of a literal, whose variables are bound from then on."""
        known = self.known(literal)
        joined = tuple(pair for pair in known if isinstance(literal.terms[pair[0]], Variable))
        new: list[tuple[int, int]] = []
        again: list[tuple[int, int]] = []
        for column, place in self._columns(literal.terms):
            if (column, place) not in known:
                (again if place in self._bound else new).append((column, place))
                self._bound.add(place)
        return Step(literal, known, joined, tuple(new), tuple(again), tuple(self._compared()), excludes)

    def _columns(self, terms: Sequence[PlainTerm]) -> At:
        return tuple(
            (column, self._places[_key(term)]) for column, term in enumerate(terms) if not isinstance(term, Wildcard)
        )

    def _compared(self) -> list[tuple[Callable[[Any, Any], Any], int, int]]:
        """The comparisons whose sides are both bound by now and were not before."""
        ready = []
        for comparison in list(self._comparisons):
            left, right = (self._places[_key(side)] for side in (comparison.left, comparison.right))
            if {left, right} <= self._bound:
                ready.append((COMPARE[comparison.operator], left, right))
                self._comparisons.remove(comparison)
        return ready


def _places(rule: WatchRule) -> dict[Variable | Constant, int]:
    """A place for the value of each variable and each constant of a rule."""
    terms = [term for literal in rule.literals for term in literal.terms]
    terms += [*rule.terms, *(side for each in rule.comparisons for side in (each.left, each.right))]
    keys = dict.fromkeys(_key(term) for term in terms if not isinstance(term, Wildcard))
    return {key: place for place, key in enumerate(keys)}


def _key(term: PlainTerm) -> Variable | Constant:
    assert not isinstance(term, Wildcard)
    return term
