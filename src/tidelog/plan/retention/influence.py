"""Which rule adds to or removes from what another would do: the influence graph, and what priorities leave of it.

Fabret, Regnier and Simon 1993, section 5.2. A head adds to what the head of another rule would do where it inserts rows
that the other's body reads or deletes rows that it negates, and removes from it where it is the other way round. That a
row is there already, or is gone already, counts only where it adds: so have it tables 5.1 and 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.analysis.checked import ProductionRule, SignedHead
from tidelog.language.syntax_tree import Atom, Constant, Sign
from tidelog.plan.retention.below import NOTHING, Below
from tidelog.plan.retention.expressions import Expression, body_expression, net_occurrence


@dataclass(frozen=True, slots=True, order=True)
class Influence:
    """An element `l θ l'` of the label of an arc: rules by id, their heads by number."""

    source: int
    source_head: int
    target: int
    target_head: int
    adds: bool


def influence_graph(rules: Sequence[ProductionRule], derived: Below = NOTHING) -> tuple[Influence, ...]:
    """The labels of all arcs (table 5.1), by source and target; rules may read what is `derived` from what changes."""
    found = {
        Influence(source.id, number, target.id, other, adds)
        for source in rules
        for target in rules
        for number, head in enumerate(source.heads)
        for other in range(len(target.heads))
        for adds in _effects(head, target, target.heads[other], derived)
    }
    return tuple(sorted(found))


def _effects(head: SignedHead, target: ProductionRule, target_head: SignedHead, derived: Below) -> Iterator[bool]:
    """Whether firing by `head` adds to (True) or removes from (False) what `target` would do by its head."""
    inserts = head.sign is Sign.INSERT
    for body in target.bodies:
        expression = body_expression(body)
        for occurrence in expression.occurrences:
            if may_meet(head.atom, occurrence.atom):
                yield inserts is not occurrence.is_negated
        if head.atom.relation in expression.grouped or derived_from(head.atom.relation, expression, derived):
            yield from (True, False)
    if head.sign is not target_head.sign and may_meet(head.atom, net_occurrence(target_head).atom):
        yield True


def derived_from(relation: str, expression: Expression, derived: Below) -> frozenset[str]:
    """The relations that `expression` reads which are derived from `relation`: rows of them may come and go with it."""
    read = expression.grouped | {occurrence.atom.relation for occurrence in expression.occurrences}
    return frozenset(name for name in read if relation in derived.get(name, frozenset()))


def may_meet(one: Atom, other: Atom) -> bool:
    """Whether both can stand for the same row: one relation, and no column with two different constants."""
    return one.relation == other.relation and not any(
        isinstance(left, Constant) and isinstance(right, Constant) and left.value != right.value
        for left, right in zip(one.arguments, other.arguments, strict=True)
    )


def relevant(graph: Sequence[Influence], rules: Sequence[ProductionRule]) -> tuple[Influence, ...]:
    """The labels that matter, given the priorities (definition 5.4, table 5.2)."""
    over = {rule.id: rule.over for rule in rules}
    return tuple(influence for influence in graph if _is_relevant(influence, graph, over))


def _is_relevant(influence: Influence, graph: Sequence[Influence], over: dict[int, frozenset[int]]) -> bool:
    source, target = influence.source, influence.target
    if source in over[target]:
        return influence.adds
    if target in over[source]:
        # The source has come to rest before the target is tried, unless a rule that may fire later wakes it again.
        return any(target not in over[rule] for rule, _ in _leading_to((source, influence.source_head), graph))
    return True


def _leading_to(head: tuple[int, int], graph: Sequence[Influence]) -> set[tuple[int, int]]:
    """The heads from which a positive propagation path (definition 5.3) leads to `head`."""
    found: set[tuple[int, int]] = set()
    waiting = [head]
    while waiting:
        at = waiting.pop()
        for influence in graph:
            before = influence.source, influence.source_head
            if influence.adds and (influence.target, influence.target_head) == at and before not in found:
                found.add(before)
                waiting.append(before)
    return found
