"""A join that is retained for a production rule, brought up to date when the rule is tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.backends.protocol import Facts
from tidelog.maintain.journal import Net
from tidelog.plan.nodes import Version
from tidelog.plan.retention.network import Node
from tidelog.production.network.difference_plans import DifferencePlans, since
from tidelog.production.network.matching import Matcher, union
from tidelog.production.network.since import Since, Trigger


class RetainedJoin:
    """The rows of a node of the network, as they were when its rule was last tried, and what has changed since then."""

    def __init__(self, node: Node, plans: DifferencePlans, matcher: Matcher) -> None:
        self._matcher = matcher
        self._backend = matcher.backend
        self._relation = node.relation
        self._none = matcher.backend.facts(node.relation).none()
        self._plans = plans
        self._since = Since(matcher.backend, self._plans.gaining | self._plans.losing, self._plans.opaque)

    @property
    def rows(self) -> int:
        """How many rows are retained."""
        return self._backend.statistics().rows(self._relation, Version.FULL)

    def note(self, nets: Mapping[str, Net]) -> None:
        """Takes note of what came and went in the relations it is made of."""
        self._since.note(nets)

    def follow(self) -> Mapping[str, Net]:
        """Brings it up to date; what came and went by that, under its name."""
        if not self._since:
            return {}
        is_lost, changes = self._since.is_lost, self._since.take()
        net = self._derived_anew() if is_lost else self._followed(changes)
        self._backend.exchange(self._relation, net.came, net.went)
        return {self._relation: net} if net else {}

    def drop(self) -> None:
        """Retains nothing any more; when it is followed the next time, it is derived anew."""
        self._backend.clear(self._relation)
        self._since.forget()

    def _derived_anew(self) -> Net:
        stored = self._backend.facts(self._relation)
        rows = self._matcher.found(self._plans.all()).get(self._relation, self._none)
        return Net(rows.minus(stored), stored.minus(rows))

    def _followed(self, changes: Sequence[tuple[Trigger, Facts]]) -> Net:
        touched: list[Facts] = [self._none]
        gained: list[Facts] = [self._none]
        for trigger, facts in changes:
            name = since(trigger.relation)
            touched += self._matcher.found_from(name, facts, self._plans.touched(trigger)).values()
            gained += self._matcher.found_from(name, facts, self._plans.gained(trigger)).values()
        went = union(touched)
        if not self._plans.is_exact:
            holding = self._matcher.found_from(since(self._relation), went, self._plans.holding())
            went = went.minus(holding.get(self._relation, self._none))
        return Net(self._backend.unknown(self._relation, union(gained)), went)
