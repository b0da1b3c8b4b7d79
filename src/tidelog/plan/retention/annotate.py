"""COSMA: takes production rules, returns for each what to retain for it, why, and what must be followed for that.

Fabret, Regnier and Simon 1993, section 5.3: algorithms COSMA and Annotate_Rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.analysis.checked import CheckedProgram, ProductionRule, SignedHead
from tidelog.language.syntax_tree import Literal, Semantics
from tidelog.plan.retention.autonomy import RelationChange, changes_for, is_autonomous, obstacles
from tidelog.plan.retention.below import NOTHING, Below, below
from tidelog.plan.retention.expressions import Expression, Occurrence, body_expression, net_occurrence
from tidelog.plan.retention.influence import influence_graph, relevant
from tidelog.plan.retention.profitable import Retained, maximal_profitable


@dataclass(frozen=True, slots=True)
class HeadEffect:
    """The output token relation of a head: its expression, and what it cannot follow by itself.

    `is_retained` says whether it is kept from firing to firing: only rules that fire by instances need that (R2).
    """

    head: SignedHead
    expression: Expression
    obstacles: tuple[tuple[Occurrence | str, RelationChange], ...]
    is_retained: bool


@dataclass(frozen=True, slots=True)
class Annotation:
    """What COSMA says about one alternative of a rule. `changes` are those that other rules, or itself, bring about.

    `profitable` is what could be retained, `retained` what is.
    """

    rule: ProductionRule
    body: tuple[Literal, ...]
    semantics: Semantics
    changes: tuple[RelationChange, ...]
    effects: tuple[HeadEffect, ...]
    retained: tuple[Retained, ...]
    profitable: tuple[Retained, ...]

    @property
    def fires_at_most_once(self) -> bool:
        """Whether nothing can add to what the rule does once it has fired in sets (proposition 5.1)."""
        return self.semantics is Semantics.SET and not any(effect.obstacles for effect in self.effects)


def annotate_program(checked: CheckedProgram) -> tuple[Annotation, ...]:
    """An annotation for each alternative of each production rule, in text order."""
    assert checked.semantics is not None
    return annotate(checked.productions, checked.semantics.semantics, below(checked.strata))


def annotate(rules: Sequence[ProductionRule], semantics: Semantics, derived: Below = NOTHING) -> tuple[Annotation, ...]:
    """The same for these rules, over what is `derived` from what they change."""
    graph = relevant(influence_graph(rules, derived), rules)
    changes = {rule.id: changes_for(rule, graph, rules, derived) for rule in rules}
    return tuple(annotation for rule in rules for annotation in _annotations(rule, changes[rule.id], semantics))


def _annotations(
    rule: ProductionRule, changes: tuple[RelationChange, ...], semantics: Semantics
) -> Iterator[Annotation]:
    for body in rule.bodies:
        expression = body_expression(body)
        effects = tuple(_effect(head, expression, changes, semantics) for head in rule.heads)
        retained = _retained(expression, effects, changes)
        profitable = retained or maximal_profitable(expression, changes)
        yield Annotation(rule, body, semantics, changes, effects, retained, profitable)


def _effect(head: SignedHead, body: Expression, changes: Sequence[RelationChange], semantics: Semantics) -> HeadEffect:
    expression = body.with_more(net_occurrence(head))
    found = tuple(obstacles(expression, changes))
    return HeadEffect(head, expression, found, is_retained=semantics is Semantics.INSTANCE)


def _retained(
    body: Expression, effects: Sequence[HeadEffect], changes: Sequence[RelationChange]
) -> tuple[Retained, ...]:
    """Rule R1: where an output token relation cannot follow by itself, what helps to compute it again is retained."""
    dependent = [effect for effect in effects if not is_autonomous(effect.expression, changes)]
    if not dependent:
        return ()
    return maximal_profitable(dependent[0].expression if len(dependent) == 1 else body, changes)
