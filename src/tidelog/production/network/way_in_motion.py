"""A way to try one alternative of a production rule, in motion: what it retains, and what has changed under it."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.protocol import Facts
from tidelog.language.syntax_tree import Atom, Semantics, Sign, Variable
from tidelog.maintain.journal import Net
from tidelog.plan.retention.network import Reading, Way
from tidelog.production.network.difference_plans import DifferencePlans
from tidelog.production.network.matching import Matcher
from tidelog.production.network.retained_join import RetainedJoin
from tidelog.production.network.since import Since, Trigger
from tidelog.schema import Schema


class WayInMotion:
    """What a way retains, the plans of its body over that, and the changes that matter to these."""

    def __init__(
        self, way: Way, rule: ProductionRule, instances: Schema, semantics: Semantics, matcher: Matcher
    ) -> None:
        self.way = way
        self.joins = [RetainedJoin(node, rule, matcher) for node in way.nodes]
        self.plans = DifferencePlans(rule, instance_atom(instances, rule), way.body, matcher.schemas)
        needed = needed_changes(self.plans, rule, semantics) if way.reading is Reading.SINCE else frozenset()
        self._since = Since(matcher.backend, needed, self.plans.opaque)

    def note(self, nets: Mapping[str, Net]) -> None:
        """Takes note of what came and went."""
        for join in self.joins:
            join.note(nets)
        self._since.note(nets)

    def changes(self) -> tuple[tuple[Trigger, Facts], ...] | None:
        """Brings what is retained up to date; what has changed since last time, None where all is to be looked at."""
        for number, join in enumerate(self.joins):
            nets = join.follow()
            for later in self.joins[number + 1 :]:
                later.note(nets)
            self._since.note(nets)
        is_lost = self._since.is_lost or self.way.reading is Reading.ALL
        changes = tuple(self._since.take())
        return None if is_lost else changes

    def rest(self) -> None:
        """Is not the way any more, for now: what it retains stays, and goes on to take note of changes."""
        self._since.forget()

    def drop(self) -> None:
        """Retains nothing any more."""
        for join in self.joins:
            join.drop()


def instance_atom(instances: Schema, rule: ProductionRule) -> Atom:
    """An instance of a rule: the variables that it binds."""
    return Atom(instances.relation, tuple(Variable(name) for name in instances.names), rule.span)


def needed_changes(plans: DifferencePlans, rule: ProductionRule, semantics: Semantics) -> frozenset[Trigger]:
    """The changes that can give a rule something to do, and where what it could do is kept, those that take it away."""
    gaining = plans.gaining | {undone_by(head.sign, head.atom.relation) for head in rule.heads}
    if semantics is not Semantics.INSTANCE:
        return gaining
    return gaining | plans.losing | {Trigger(head.atom.relation, head.sign) for head in rule.heads}


def undone_by(sign: Sign, relation: str) -> Trigger:
    """The change after which there is something to insert or to delete again."""
    return Trigger(relation, Sign.DELETE if sign is Sign.INSERT else Sign.INSERT)
