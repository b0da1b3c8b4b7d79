"""Finds the derivations that facts could ever take part in: takes facts that differ, meets what depends on them.

They are found by plans over all facts that were ever there. Where one difference leads to the next again and again, it
goes ahead: what derivations ask for may differ soon. A derivation that is met in vain makes no difference, but costs
its share of each iteration. Where all plans are single joins a kernel follows them from fact to fact. Otherwise it is
one question after the other, which takes a while however few facts it is about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidelog.errors import EvaluationError
from tidelog.facts.fact_set import FactSet
from tidelog.plan.nodes import RulePlan
from tidelog.production.ids import ids_of
from tidelog.production.late.chain_columns import Numbers
from tidelog.production.late.course import padded
from tidelog.production.late.derivations import changed
from tidelog.production.late.late_run import LateRun
from tidelog.production.late.timelines import Question, Timelines

STEPS_AHEAD, FACTS_AHEAD = 32, 1024
"""How far the second question goes ahead, and about how many facts at most; each after it eight times as far. The first
one does not: most differences end soon."""


class Expansion:
    """What was asked so far, and plans that are ready to ask more."""

    def __init__(self, run: LateRun, timelines: Timelines) -> None:
        self._run = run
        self._timelines = timelines
        self._followed = run.ever_there.by_chains
        self._questions = 0
        self._joins: list[Question] | None = None
        self._are_joins_ready = False
        self._ready: dict[tuple[str, ...], list[Sequence[RulePlan]]] = {}

    def expand(self, iteration: int) -> None:
        """Meets the derivations of facts that differ in an iteration and were not asked about before."""
        timelines = self._timelines
        facts = (timelines.differs & ~timelines.is_expanded).nonzero()[0]
        self._add(facts[~timelines.is_there[facts]])
        self._get_ready()
        self._ask_about(facts)
        if self._questions:
            self._go_ahead(iteration, 8 ** (self._questions - 1))
        self._questions += 1
        timelines.look_up(iteration)

    def _go_ahead(self, iteration: int, further: int) -> None:
        """Meets the derivations of facts that may differ soon, and of what these may lead to.

        Where an expression has no value for some of them nothing is known about these: they need never be there.
        """
        timelines = self._timelines
        was_expanded = timelines.is_expanded.copy()
        try:
            most = FACTS_AHEAD * further
            for _ in range(STEPS_AHEAD * further):
                facts = (timelines.is_asked & ~timelines.is_expanded).nonzero()[0]
                most -= facts.size
                if not facts.size or most < 0:
                    break
                self._ask_about(facts, most)
            timelines.look_up(iteration)
            ahead = (timelines.is_expanded & ~padded(was_expanded, timelines.is_expanded.size)).nonzero()[0]
            others = ahead[~timelines.is_there[ahead]]
            if self._add(others):
                self._get_ready()
                self._ask_about(others)
        except EvaluationError:
            timelines.is_expanded = padded(was_expanded, timelines.is_expanded.size)

    def _get_ready(self) -> None:
        """Makes plans ready to be asked as long as nothing is added."""
        self._ready.clear()
        if not self._are_joins_ready:
            self._joins = self._joins_ready() if self._run.ever_there.only_joins else None
            self._are_joins_ready = True

    def _joins_ready(self) -> list[Question] | None:
        """All plans as joins, None where one is to be done in another way as things are."""
        run = self._run
        by_mark = {changed(relation): relation for relation in run.ever_there.followed}
        for mark, relation in by_mark.items():
            run.backend.mark(mark, FactSet(np.empty((0, run.width(relation)), np.int32)))
        by_head = {each.plans.relation: each.plans for each in self._followed}
        joins = []
        for plan in run.state.ready(run.ever_there.could):
            join = run.backend.single_join(plan)
            if join is None:
                return None
            joins.append(Question(by_head[plan.head], by_mark[join.marked], join))
        return joins

    def _ask_about(self, facts: Numbers, most_ahead: int = 0) -> None:
        """Meets derivations of facts, the others of which were there at some time, and by joins at once those of at
        most so many that these ask for."""
        if self._joins is not None:
            self._timelines.follow(self._joins, facts, most_ahead)
        else:
            self._ask(facts)

    def _ask(self, facts: Numbers) -> None:
        run, timelines = self._run, self._timelines
        timelines.is_expanded[facts] = True
        rows = timelines.by_relation(facts)
        for relation, (_, some) in rows.items():
            run.backend.mark(changed(relation), FactSet(some))
        ready = self._ready_for(tuple(rows))
        for followed, plans in zip(self._followed, ready, strict=True):
            for found in run.backend.collect(plans).values() if plans else ():
                timelines.derive(followed.plans, ids_of(found))

    def _ready_for(self, relations: tuple[str, ...]) -> list[Sequence[RulePlan]]:
        """The plans of each alternative for marked facts of these relations, as long as nothing is added."""
        if relations not in self._ready:
            could = ([plan for name, plan in each.could if name in relations] for each in self._followed)
            self._ready[relations] = [self._run.state.ready(plans) if plans else () for plans in could]
        return self._ready[relations]

    def _add(self, facts: Numbers) -> int:
        """Adds those of `facts` that were never there to the others; how many these are.

        Derivations that use two of them are found by asking about one when the other is added.
        """
        rows = self._timelines.by_relation(facts)
        added = sum([self._run.ever_there.add(relation, FactSet(some)) for relation, (_, some) in rows.items()])
        self._are_joins_ready &= not added
        return added
