"""The code of each rule of a program before there are facts, for those who show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.analysis.checked import CheckedProgram
from tidelog.codegen.operands import NotPushed, PushedRule
from tidelog.codegen.push_rule import push_rule
from tidelog.plan.lower import lower
from tidelog.plan.modules import with_modules
from tidelog.plan.nodes import Plan, RulePlan, StratumPlan, Version
from tidelog.plan.optimize import optimize
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.walk import map_rules

Code = PushedRule | NotPushed


def rule_codes(checked: CheckedProgram) -> Iterator[tuple[StratumPlan, list[tuple[RulePlan, Code]]]]:
    """For each stratum the code of its rules, once for each version that reads a delta, or why there is none.

    Joins are ordered as they are when nothing is known about sizes: while a program runs, that may change.
    """
    plan = map_rules(with_modules(optimize(lower(checked))), ordered)
    surroundings = PlanSurroundings(plan)
    facts = {rule.id for stratum in checked.strata for rule in stratum.rules if not rule.body}
    for stratum in plan.strata:
        rules = [rule for rule in (*stratum.once, *stratum.rounds) if rule.id not in facts]
        yield stratum, [(rule, push_rule(rule, surroundings)) for rule in rules]


def ordered(rule: RulePlan) -> RulePlan:
    """`rule` in the order it has when nothing is known about sizes."""
    return replace(rule, node=order_joins(rule.node, Nothing(), rule.order))


class PlanSurroundings:
    """What a generator asks, answered without facts: any key may have many ids."""

    def __init__(self, plan: Plan) -> None:
        self._widths = {name: max(1, schema.arity) for name, schema in {**plan.schemas, **plan.hidden}.items()}
        self._closed = {
            stratum.closed.closure.relation
            for stratum in plan.strata
            if stratum.closed is not None and not stratum.closed.is_written_out
        }

    def width(self, relation: str) -> int:
        return self._widths[relation]

    def is_stored(self, relation: str) -> bool:
        return relation not in self._closed

    def is_rarer(self, one: tuple[str, int], other: tuple[str, int]) -> bool:  # noqa: ARG002
        return False

    def has_long_rows(self, relation: str, key: int) -> bool:  # noqa: ARG002
        return True

    def has_few_ids(self, relation: str, column: int) -> bool:  # noqa: ARG002
        return True

    def has_several(self, relation: str, key: int) -> bool:  # noqa: ARG002
        return True

    def short_column(self, relation: str) -> int | None:  # noqa: ARG002
        return None

    def numbers_pairs(self, relation: str) -> bool:  # noqa: ARG002
        return False


class Nothing:
    """Statistics of relations about which nothing is known."""

    def rows(self, relation: str, version: Version) -> int:  # noqa: ARG002
        return 1

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int:  # noqa: ARG002
        return 1
