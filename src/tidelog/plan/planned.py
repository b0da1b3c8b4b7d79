"""Takes a checked program, returns its plan, made once for the last few programs: sessions over one share theirs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TypeAlias

from tidelog.analysis.checked import CheckedProgram
from tidelog.plan.lower import lower
from tidelog.plan.modules import with_modules
from tidelog.plan.nodes import Node, Plan, Project, RulePlan, StratumPlan, Values
from tidelog.plan.optimize import optimize
from tidelog.plan.same import Same
from tidelog.plan.update_rules import Questionnaire, questions_of

PROGRAMS_KEPT = 8

OrdersKept: TypeAlias = dict[tuple[Same[RulePlan], tuple[int, ...]], Node]
"""Bodies with their joins ordered, by the rule and the magnitudes of what it reads."""


@dataclass(frozen=True)
class Planned:
    """A plan of the rules, those that state the `facts` of the text apart from it, and the questions of updates."""

    plan: Plan
    facts: tuple[RulePlan, ...]
    orders: OrdersKept = field(default_factory=dict, compare=False)
    """Orders of joins that sessions have found for few rows."""

    @cached_property
    def questions(self) -> Questionnaire:
        """The questions that updates ask, made when somebody asks for them."""
        return questions_of(self.plan)


def planned(checked: CheckedProgram, excluded: frozenset[str], given: frozenset[str], *, modules: bool) -> Planned:
    """The plan of `checked`, with `modules` for what they can compute, but relations that are `excluded`; those that
    rules derive have facts of their own only if they are `given` some."""
    return _with_modules(Same(checked), excluded, given) if modules else _without_modules(Same(checked))


@lru_cache(PROGRAMS_KEPT)
def _without_modules(program: Same[CheckedProgram]) -> Planned:
    lowered = lower(program.thing)
    facts = tuple(rule for stratum in lowered.strata for rule in stratum.once if _states_facts(rule.node))
    plan = optimize(lowered)
    return Planned(replace(plan, strata=tuple(_without_facts(stratum) for stratum in plan.strata)), facts)


@lru_cache(PROGRAMS_KEPT)
def _with_modules(program: Same[CheckedProgram], excluded: frozenset[str], given: frozenset[str]) -> Planned:
    plain = _without_modules(program)
    return Planned(with_modules(plain.plan, excluded, plain.plan.schemas.keys() - given), plain.facts)


def _states_facts(node: object) -> bool:
    return isinstance(node, Project) and isinstance(node.input, Values)


def _without_facts(stratum: StratumPlan) -> StratumPlan:
    return replace(stratum, once=tuple(rule for rule in stratum.once if not _states_facts(rule.node)))
