"""Which instances of an alternative are firable by themselves, kept from try to try.

The output token relations of Fabret, Regnier and Simon 1993 for rules that fire by instances (section 5.3, rule R2):
firing uses one instance, and the others are there when the rule is tried again.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.backends.protocol import Facts
from tidelog.plan.retention.network import Reading
from tidelog.production.network.alternative import Alternative
from tidelog.production.network.difference_plans import since
from tidelog.production.network.matching import Matcher, union
from tidelog.production.network.since import Trigger
from tidelog.production.network.way_plans import undone_by


class Firable:
    """The firable instances of an alternative."""

    def __init__(self, alternative: Alternative, matcher: Matcher) -> None:
        self.alternative = alternative
        self._matcher = matcher
        self._backend = matcher.backend
        self._relation = alternative.match.relation
        self._none = matcher.backend.facts(self._relation).none()

    def instances(self) -> Facts:
        """Those that change something by themselves."""
        with self.alternative.measured():
            way = self.alternative.way
            changes = way.changes()
            if changes is None:
                found = self._matcher.found(way.plans.all()).get(self._relation, self._none)
                firable = self._firable(found)
                if way.way.reading is Reading.SINCE:
                    self._backend.clear(self._relation)
                    self._backend.exchange(self._relation, firable, self._none)
                return firable
            if changes:
                self._follow(changes)
            return self._backend.facts(self._relation)

    def _follow(self, changes: Sequence[tuple[Trigger, Facts]]) -> None:
        """Brings what is kept up to date: looks again at the instances that changes have to do with."""
        plans, heads = self.alternative.way.plans, self.alternative.rule.heads
        touched: list[Facts] = [self._none]
        concerned: list[Facts] = [self._none]
        for trigger, facts in changes:
            asked = [*plans.gained(trigger)]
            for head in (head for head in heads if head.atom.relation == trigger.relation):
                is_undone = undone_by(head.sign, trigger.relation) == trigger
                asked += plans.with_row(head.atom) if is_undone else plans.stored_with_row(head.atom)
            concerned += self._matcher.found_from(since(trigger.relation), facts, asked).values()
            touched += self._matcher.found_from(since(trigger.relation), facts, plans.touched(trigger)).values()
        gone, others = union(touched), union(concerned)
        instances = others.union(gone)
        firable = self._firable(others.minus(gone) if plans.is_exact else self._holding(instances))
        lost = self._backend.stored(self._relation, instances.minus(firable))
        self._backend.exchange(self._relation, self._backend.unknown(self._relation, firable), lost)

    def _holding(self, instances: Facts) -> Facts:
        plans = self.alternative.way.plans
        found = self._matcher.found_from(since(self._relation), instances, plans.holding())
        return found.get(self._relation, self._none)

    def _firable(self, instances: Facts) -> Facts:
        found = self._matcher.found_from(self._relation, instances, self.alternative.match.firable)
        return found.get(self._relation, self._none)
