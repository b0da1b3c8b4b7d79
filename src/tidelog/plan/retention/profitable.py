"""The maximal profitable relations of an expression: what to retain of it, given what changes.

Fabret, Regnier and Simon 1993, sections 4.2 and 4.3, and the appendix. Where the paper chooses at random, the first in
text order is taken. A negated atom joins an expression only when its variables are bound there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.plan.retention.autonomy import Criterion, RelationChange, criteria, is_autonomous
from tidelog.plan.retention.expressions import Expression, Occurrence


@dataclass(frozen=True, slots=True)
class Retained:
    """A producer-filter decomposition (definition 4.4): the join of `producer`, with a flag for each of `filters`."""

    producer: tuple[Occurrence, ...]
    filters: tuple[Occurrence, ...]


def maximal_profitable(expression: Expression, changes: Sequence[RelationChange]) -> tuple[Retained, ...]:
    """What to retain: joins that follow `changes` by themselves, as large as can be, each atom in one of them."""
    search = _Search(expression, changes)
    groups: list[list[Occurrence]] = []
    while (source := search.choose_source()) is not None:
        search.marked.append(source)
        group = [source]
        search.extend(group, source)
        groups.append(group)
    loose = [each for each in expression.occurrences if each not in search.marked]
    single = [group for group in groups if len(group) == 1 and any(_binds(other, group[0]) for other in groups)]
    producers = [group for group in groups if group not in single]
    filters = [*loose, *(group[0] for group in single)]
    chosen: list[list[Occurrence]] = [[] for _ in producers]
    for candidate in sorted(filters, key=expression.occurrences.index):
        numbers = [number for number, producer in enumerate(producers) if _binds(producer, candidate)]
        if numbers:
            best = max(numbers, key=lambda number: sum(each.constants for each in producers[number]))
            chosen[best].append(candidate)
    return tuple(
        Retained(tuple(producer), tuple(mine))
        for producer, mine in zip(producers, chosen, strict=True)
        if mine or len(producer) > 1
    )


def _binds(producer: Sequence[Occurrence], candidate: Occurrence) -> bool:
    """Whether all variables of `candidate` are bound by other, positive atoms of `producer`."""
    bound = (each.variables for each in producer if not each.is_negated and each is not candidate)
    return candidate not in producer and candidate.variables <= frozenset[str]().union(*bound)


class _Search:
    """The connection graph of an expression, with the atoms that are marked so far."""

    def __init__(self, expression: Expression, changes: Sequence[RelationChange]) -> None:
        self._expression = expression
        self._changes = changes
        self.marked: list[Occurrence] = []

    def choose_source(self) -> Occurrence | None:
        """The unmarked positive atom to begin with: choose_source of the appendix."""
        free = [each for each in self._unmarked() if not each.is_negated]
        orders = (
            [each for each in free if not self._criteria(each)],
            [each for each in free if self._follows_only_by(each, Criterion.STABLE_ON_JOINS)],
            [each for each in free if self._follows_only_by(each, Criterion.GOES_FROM_POSITIVE)],
            [each for each in free if None not in self._criteria(each)],
            free,
        )
        return next((most_selective(some) for some in orders if some), None)

    def extend(self, group: list[Occurrence], at: Occurrence) -> None:
        """Adds to `group` what is connected with `at` and can be: choose_max_subexpression of the appendix."""
        if at.is_negated:
            return
        while near := [each for each in self._unmarked() if self._can_join(each, group, at)]:
            chosen = self._choose(near)
            group.append(chosen)
            self.marked.append(chosen)
            self.extend(group, chosen)

    def _choose(self, near: Sequence[Occurrence]) -> Occurrence:
        still = [each for each in near if not self._criteria(each)]
        orders = (
            [each for each in still if each.is_negated],
            still,
            [each for each in near if self._follows_only_by(each, Criterion.COMES_TO_NEGATED)],
            [each for each in near if self._follows_only_by(each, Criterion.GOES_FROM_POSITIVE)],
            [each for each in near if self._follows_only_by(each, Criterion.STABLE_ON_JOINS)],
            near,
        )
        return next(most_selective(some) for some in orders if some)

    def _can_join(self, each: Occurrence, group: Sequence[Occurrence], at: Occurrence) -> bool:
        bound = frozenset[str]().union(*(one.variables for one in group if not one.is_negated))
        if not each.variables & at.variables or (each.is_negated and not each.variables <= bound):
            return False
        return is_autonomous(Expression((*group, each), self._expression.conditions), self._changes)

    def _unmarked(self) -> list[Occurrence]:
        return [each for each in self._expression.occurrences if each not in self.marked]

    def _criteria(self, each: Occurrence) -> frozenset[Criterion | None]:
        return criteria(each, self._expression, self._changes)

    def _follows_only_by(self, each: Occurrence, only: Criterion) -> bool:
        return self._criteria(each) == {only}


def most_selective(some: Iterable[Occurrence]) -> Occurrence:
    """The atom with the most constants; the first of several."""
    return max(some, key=lambda each: each.constants)
