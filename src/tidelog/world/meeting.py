"""A search from both ends, carried out: takes its rules and a backend, returns whether the two sides meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelog.analysis.magic_ends import BothEnds
from tidelog.backends.protocol import Backend
from tidelog.language.syntax_tree import Variable
from tidelog.maintain.materialize import Run
from tidelog.maintain.ordering import Ordering
from tidelog.maintain.protocol import Observer
from tidelog.plan.differentiate import in_step
from tidelog.plan.lower import lower, lower_rule
from tidelog.plan.nodes import Join, Plan, Project, RulePlan, Scan, StratumPlan, Version
from tidelog.plan.optimize import optimize
from tidelog.span import NOWHERE

FEW_ROWS = 1 << 7
"""New rows of a side that cost less than having the other side take its turn."""

WORTH_A_LOOK = 1 << 14
"""Where the sizes of both sides multiplied are less, going on costs no more than looking whether they have met."""


@dataclass(frozen=True, slots=True)
class Search:
    """The plan of a search from both ends: its sides, and the rules that tell whether they meet."""

    ends: BothEnds
    plan: Plan
    first_steps: tuple[RulePlan, ...]
    meeting: RulePlan


def search_of(ends: BothEnds) -> Search:
    """The plan of `ends`."""
    schema = ends.checked.schemas[ends.back]
    both = Join(Scan(ends.forth, schema.names), Scan(ends.back, schema.names))
    kinds = dict(zip(schema.names, schema.kinds, strict=True))
    head = Project(both, tuple(Variable(name) for name in schema.names))
    meeting = RulePlan(0, ends.back, head, NOWHERE, "where both ends meet", kinds)
    first_steps = tuple(lower_rule(rule, ends.checked.schemas) for rule in ends.first_steps)
    plan = optimize(lower(ends.checked))
    # The side that has fewer new rows takes the next step.
    plan = replace(plan, strata=tuple(in_step(stratum, FEW_ROWS) for stratum in plan.strata))
    return Search(ends, plan, first_steps, meeting)


def meet(search: Search, run: Run, backend: Backend) -> bool:
    """Whether the answer is yes: the side back goes on alone until it has as many rows as the other begins with."""
    back = Side(2, search.plan.strata[1], run)
    rows = sum(backend.statistics().rows(name, Version.FULL) for name in search.ends.beginnings)
    worth_a_look = 1
    while back.new and back.rows < rows and not search.ends.is_narrow:
        if back.rows >= worth_a_look:
            if _gives_rows(search.first_steps, run, backend):
                return True
            worth_a_look = 2 * back.rows
        back.step()
    if not back.new:
        return _gives_rows(search.first_steps, run, backend)
    return _meet_between((Side(1, search.plan.strata[0], run), back), search.meeting, run, backend)


def _meet_between(sides: tuple[Side, Side], meeting: RulePlan, run: Run, backend: Backend) -> bool:
    """Whether both sides have a row in common; the side with fewer new rows takes the next step."""
    worth_a_look = WORTH_A_LOOK
    while all(side.new for side in sides):
        possible = sides[0].rows * sides[1].rows
        if possible >= worth_a_look:
            if _gives_rows((meeting,), run, backend):
                return True
            worth_a_look = 2 * possible
        min(sides, key=lambda side: side.new).step()
    return _gives_rows((meeting,), run, backend)


def _gives_rows(rules: tuple[RulePlan, ...], run: Run, backend: Backend) -> bool:
    ordered = run.ordered(rules)
    backend.catch_up(ordered)
    return any(len(facts) for facts in backend.collect(ordered).values())


class Steady(Ordering):
    """Each rule in the order that is best when it runs first: a step reads what is new, however much that is."""

    def __init__(self, backend: Backend, observer: Observer) -> None:
        super().__init__(backend, observer)
        self._ordered_once: dict[int, RulePlan] = {}

    def of(self, rules: Sequence[RulePlan]) -> list[RulePlan]:
        return [self._once(rule) for rule in rules]

    def of_those_with_rows(self, rules: Sequence[RulePlan]) -> list[RulePlan]:
        return self.of(rules)

    def _once(self, rule: RulePlan) -> RulePlan:
        if id(rule) not in self._ordered_once:
            (self._ordered_once[id(rule)],) = super().of((rule,))
        return self._ordered_once[id(rule)]


@dataclass(slots=True)
class Side:
    """One of the two searches: how many rows it has, and how many of them are new."""

    number: int
    stratum: StratumPlan
    run: Run
    rounds: int = 0
    rows: int = 0
    new: int = 0

    def __post_init__(self) -> None:
        self.run.observer.stratum_started(self.number, self.stratum)
        self._take(self.stratum.once)

    def step(self) -> None:
        self.rounds += 1
        self._take(self.stratum.rounds)

    def _take(self, rules: tuple[RulePlan, ...]) -> None:
        _, delta = self.run.round(self.number, self.rounds, self.stratum, rules)
        self.new = sum(delta.values())
        self.rows += self.new
