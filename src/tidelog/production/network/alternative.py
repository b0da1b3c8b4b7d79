"""One alternative of a production rule in motion: tried by one of several ways, the one that costs least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tidelog.backends.protocol import Facts
from tidelog.maintain.journal import Net
from tidelog.production.firing import Switch
from tidelog.production.network.difference_plans import since
from tidelog.production.network.matching import Matcher
from tidelog.production.network.measured_choice import MeasuredChoice
from tidelog.production.network.way_in_motion import WayInMotion
from tidelog.production.prepared import AlternativePlans


class Alternative:
    """The ways to try an alternative, one of which is in use, and what tries by it have cost."""

    def __init__(self, plans: AlternativePlans, matcher: Matcher) -> None:
        self.rule = plans.rule
        self.match = plans.match
        self._matcher = matcher
        self._ways = [WayInMotion(each, matcher) for each in plans.ways]
        self._choice = MeasuredChoice([bool(each.way.nodes) for each in plans.ways])
        self._seconds = 0.0
        self._none = matcher.backend.facts(plans.match.relation).none()
        self._written = plans.written

    @property
    def way(self) -> WayInMotion:
        """The way in use."""
        return self._ways[self._choice.current]

    @property
    def rows(self) -> int:
        """How many rows are retained for it."""
        return sum(join.rows for way in self._ways for join in way.joins)

    def note(self, nets: Mapping[str, Net]) -> None:
        """Takes note of what came and went."""
        for way in self._ways:
            way.note(nets)

    def instances(self) -> Facts:
        """All instances, from the body as it is written."""
        return self._matcher.found(self._written.all()).get(self.match.relation, self._none)

    def holding(self, instances: Facts) -> Facts:
        """Those of `instances` that hold."""
        found = self._matcher.found_from(since(self.match.relation), instances, self._written.holding())
        return found.get(self.match.relation, self._none)

    @contextmanager
    def measured(self) -> Iterator[None]:
        """A block of work for a try; looked at only where there is a choice, since that takes a while."""
        if len(self._ways) == 1:
            yield
            return
        effort = self._matcher.backend.effort
        began = effort()
        yield
        self._seconds += effort() - began

    def end_try(self) -> Switch | None:
        """Looks at what the try has cost, while the facts are those of the try; what is done otherwise from now on."""
        before, was_comparing = self._choice.current, self._choice.is_comparing
        overturned = self._choice.note(self._seconds)
        self._seconds = 0.0
        if self._choice.current != before:
            self._ways[before].rest()
            self.way.changes()
        if was_comparing and not self._choice.is_comparing:
            for way in self._ways:
                if way is not self.way:
                    way.drop()
        if overturned is None:
            return None
        retained = tuple(node.rule for node in self.way.way.nodes)
        return Switch(self.rule, retained, overturned.before, overturned.after)
