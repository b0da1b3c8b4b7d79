"""Whether an expression can follow changes by itself: from its former value and the rows that came or went.

Fabret, Regnier and Simon 1993, section 4.1: the three criteria, and when a projection is stable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product

from tidelog.analysis.checked import ProductionRule
from tidelog.language.syntax_tree import Sign, Wildcard
from tidelog.plan.retention.below import NOTHING, Below
from tidelog.plan.retention.expressions import Expression, Occurrence, body_expression
from tidelog.plan.retention.influence import Influence, derived_from


@dataclass(frozen=True, slots=True)
class RelationChange:
    """Rows of a relation come or go. `kept` are sets of columns on which what comes agrees with a row that is there."""

    relation: str
    sign: Sign
    kept: frozenset[frozenset[int]] = frozenset()

    def __str__(self) -> str:
        return f"{self.sign.value}{self.relation}"


class Criterion(Enum):
    """Why an occurrence follows a change: the three of section 4.1."""

    GOES_FROM_POSITIVE = 1
    COMES_TO_NEGATED = 2
    STABLE_ON_JOINS = 3


def changes_for(
    rule: ProductionRule, graph: Iterable[Influence], rules: Sequence[ProductionRule], derived: Below = NOTHING
) -> tuple[RelationChange, ...]:
    """What may change in the relations of `rule`, by the influences on it."""
    by_id = {each.id: each for each in rules}
    found: dict[tuple[str, Sign], frozenset[frozenset[int]]] = {}
    for influence in graph:
        if influence.target == rule.id:
            source = by_id[influence.source]
            head = source.heads[influence.source_head]
            key = head.atom.relation, head.sign
            kept = _kept(source, influence.source_head)
            found[key] = _both(found[key], kept) if key in found else kept
            for body in rule.bodies:
                for name in derived_from(head.atom.relation, body_expression(body), derived):
                    found |= {(name, sign): frozenset() for sign in Sign}
    return tuple(RelationChange(relation, sign, kept) for (relation, sign), kept in sorted(found.items(), key=str))


def _kept(rule: ProductionRule, head_number: int) -> frozenset[frozenset[int]]:
    """The sets of columns in which an inserted row agrees with one that the body has read."""
    head = rule.heads[head_number]
    if head.sign is Sign.DELETE:
        return frozenset()
    by_body = [
        frozenset(
            frozenset(
                number
                for number, (mine, theirs) in enumerate(
                    zip(head.atom.arguments, occurrence.atom.arguments, strict=True)
                )
                if mine == theirs and not isinstance(mine, Wildcard)
            )
            for occurrence in body_expression(body).occurrences
            if occurrence.atom.relation == head.atom.relation and not occurrence.is_negated
        )
        for body in rule.bodies
    ]
    kept = by_body[0]
    for other in by_body[1:]:
        kept = _both(kept, other)
    return kept


def _both(one: frozenset[frozenset[int]], other: frozenset[frozenset[int]]) -> frozenset[frozenset[int]]:
    """Sets of columns that are kept by each of two insertions."""
    return frozenset(mine & theirs for mine, theirs in product(one, other))


def is_autonomous(expression: Expression, changes: Sequence[RelationChange]) -> bool:
    """Whether `expression` can follow all of `changes` by itself."""
    return not any(obstacles(expression, changes))


def obstacles(
    expression: Expression, changes: Sequence[RelationChange]
) -> Iterator[tuple[Occurrence | str, RelationChange]]:
    """The changes that it cannot follow, each with the occurrence or the aggregated relation that is to blame."""
    for change in changes:
        if change.relation in expression.grouped:
            yield change.relation, change
        for occurrence in expression.occurrences:
            is_touched = occurrence.atom.relation == change.relation
            if is_touched and criterion(occurrence, change, expression, changes) is None:
                yield occurrence, change


def criteria(
    occurrence: Occurrence, expression: Expression, changes: Sequence[RelationChange]
) -> frozenset[Criterion | None]:
    """The criteria by which the occurrence follows the changes of its relation; None among them where there is none."""
    return frozenset(
        criterion(occurrence, change, expression, changes)
        for change in changes
        if change.relation == occurrence.atom.relation
    )


def criterion(
    occurrence: Occurrence, change: RelationChange, expression: Expression, changes: Sequence[RelationChange]
) -> Criterion | None:
    """Why `expression` can follow a change at this occurrence of the relation; None when it cannot."""
    match occurrence.is_negated, change.sign:
        case False, Sign.DELETE:
            return Criterion.GOES_FROM_POSITIVE
        case True, Sign.INSERT:
            return Criterion.COMES_TO_NEGATED
        case False, Sign.INSERT if _is_stable(change, expression.tied_columns(occurrence), changes):
            return Criterion.STABLE_ON_JOINS
        case _:
            return None


def _is_stable(change: RelationChange, columns: frozenset[int], changes: Sequence[RelationChange]) -> bool:
    """Whether `changes` leave the projection on `columns` as it is (definition 4.3)."""
    is_deleted = any(other.relation == change.relation and other.sign is Sign.DELETE for other in changes)
    return not is_deleted and any(columns <= kept for kept in change.kept)
