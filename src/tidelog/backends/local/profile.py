"""What each rule cost: rows, time, and how it was run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter

from tidelog.backends.protocol import RuleCost, Tier
from tidelog.facts.relation import Relation
from tidelog.plan.nodes import RulePlan


@dataclass(slots=True)
class Count:
    """How many rows a run has derived, known ones included; filled in while it lasts."""

    derived: int = 0


class Profile:
    """Adds up what rules cost. Rows wait until they are looked for: here they are looked for at once, to be counted."""

    def __init__(self) -> None:
        self._costs: dict[int, RuleCost] = {}

    def costs(self) -> tuple[RuleCost, ...]:
        """What each rule has cost so far, the dearest first."""
        return tuple(sorted(self._costs.values(), key=lambda cost: -cost.seconds))

    @contextmanager
    def run(
        self, rule: RulePlan, head: Relation, tier: Tier, why_not_pushed: Callable[[RulePlan], str | None]
    ) -> Iterator[Count]:
        """A block in which `rule` runs, or goes on to run."""
        head.settle()
        before, started, count = head.count, perf_counter(), Count()
        yield count
        head.settle()
        known = self._costs.get(rule.id)
        if known is None:
            known = RuleCost(rule.id, rule.text, rule.span)
        self._costs[rule.id] = replace(
            known,
            derived=known.derived + count.derived,
            new=known.new + head.count - before,
            seconds=known.seconds + perf_counter() - started,
            tiers=known.tiers if tier in known.tiers else (*known.tiers, tier),
            why_not_pushed=why_not_pushed(rule) or known.why_not_pushed,
        )
