"""A way to try one alternative of a production rule, in motion: what it retains, and what has changed under it."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.backends.protocol import Facts
from tidelog.maintain.journal import Net
from tidelog.plan.retention.network import Reading
from tidelog.production.network.matching import Matcher
from tidelog.production.network.retained_join import RetainedJoin
from tidelog.production.network.since import Since, Trigger
from tidelog.production.network.way_plans import WayPlans


class WayInMotion:
    """What a way retains, the plans of its body over that, and the changes that matter to these."""

    def __init__(self, plans: WayPlans, matcher: Matcher) -> None:
        self.way = plans.way
        self.plans = plans.body
        self.joins = [
            RetainedJoin(node, each, matcher) for node, each in zip(plans.way.nodes, plans.joins, strict=True)
        ]
        self._since = Since(matcher.backend, plans.needed, plans.body.opaque)

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
