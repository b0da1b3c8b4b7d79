"""A rule that reads only its own head takes up what it derives at once: fewer rounds of Python, the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Derived, Tier, Watch, unwatched
from tidelog.checking import check_program
from tidelog.errors import LimitError
from tidelog.language.parser import parse
from tidelog.maintain.materialize import Run
from tidelog.maintain.protocol import SILENT, Limits
from tidelog.plan.differentiate import in_step
from tidelog.plan.lower import lower
from tidelog.plan.nodes import Plan, RulePlan
from tidelog.plan.optimize import optimize
from unit.local.plans import table

CHAIN = 200
EDGES = [(node, node + 1) for node in range(CHAIN)]

ONE_RULE = """
.decl edge(x: number, y: number)
.decl far(x: number, steps: number)
far(0, 0).
far(y, n + 1) :- far(x, n), edge(x, y).
"""

TWO_RULES = """
.decl edge(x: number, y: number)
.decl far(x: number, side: number)
far(0, 0).
far(y, 1 - side) :- far(x, side), edge(x, y), x % 3 != 0.
far(y, side) :- far(x, side), edge(x, y), x % 3 = 0.
far(x, 2) :- far(x, 1), edge(_, x).
"""


ALTERNATIVES = """
.decl edge(x: number, y: number)
.decl far(x: number, side: number)
far(0, 0).
far(y, side) :- far(x, side), (edge(x, y), x % 2 = 0 ; edge(y, x), x % 3 = 0 ; edge(x, y), x % 7 != 0).
"""


class CountingBackend(LocalBackend):
    """A backend that counts how often it is asked to derive, and what."""

    calls = 0
    derived = 0

    def derive(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Derived:
        found = super().derive(rules, watch)
        self.calls += 1
        self.derived += sum(found.rows.values())
        return found


def planned(text: str) -> Plan:
    return optimize(lower(check_program(parse(text))))


def evaluated(
    plan: Plan, tier: Tier, limits: Limits | None = None
) -> tuple[CountingBackend, int, list[tuple[int, ...]]]:
    """The backend, the number of rounds and the rows of `far`, in order."""
    schemas = {**plan.schemas, **plan.hidden}
    backend = CountingBackend(schemas, tier=tier)
    backend.insert("edge", table(schemas["edge"], EDGES))
    run = Run(plan, backend, limits or Limits(), SILENT)
    rounds, _ = run.evaluate(1, plan.strata[-1])
    return backend, rounds, list(zip(*backend.table("far").to_pydict().values(), strict=True))


@pytest.mark.parametrize("tier", [Tier.VECTORISED, Tier.PUSH])
@pytest.mark.parametrize("text", [ONE_RULE, TWO_RULES, ALTERNATIVES])
def test_rows_and_their_number_are_those_of_rounds(text: str, tier: Tier) -> None:
    plan = planned(text)
    stepwise = replace(plan, strata=tuple(map(in_step, plan.strata)))
    ahead, _, rows = evaluated(plan, tier)
    plain, _, expected = evaluated(stepwise, tier)
    assert sorted(rows) == sorted(expected)
    assert len(rows) == len(set(rows))
    assert ahead.derived == plain.derived, "each row is taken up once by each rule"
    assert ahead.calls < plain.calls


@pytest.mark.parametrize("tier", [Tier.VECTORISED, Tier.PUSH])
def test_rounds_count_as_if_all_were_made_one_by_one(tier: Tier) -> None:
    plan = planned(ONE_RULE)
    assert evaluated(plan, tier)[1] == CHAIN + 1
    assert evaluated(replace(plan, strata=tuple(map(in_step, plan.strata))), tier)[1] == CHAIN + 1
    evaluated(plan, tier, Limits(rounds=CHAIN + 1))
    with pytest.raises(LimitError, match="rounds"):
        evaluated(plan, tier, Limits(rounds=CHAIN))


def test_what_follows_from_a_row_stands_behind_it() -> None:
    rows = evaluated(planned(TWO_RULES), Tier.VECTORISED)[2]
    for number, (x, side) in enumerate(rows[1:], start=1):
        possible = {(x - 1, side if (x - 1) % 3 == 0 else 1 - side)} | ({(x, 1)} if side == 2 else set())
        assert possible & set(rows[:number])


def test_a_rule_that_reads_its_head_twice_or_another_relation_of_its_stratum_waits_for_the_round() -> None:
    text = """
    .decl e(x: number, y: number)
    .decl p(x: number, y: number)
    .decl q(x: number, y: number)
    p(x, y) :- e(x, y).
    p(x, z) :- p(x, y), p(y, z).
    p(x, z) :- p(x, y), e(y, z).
    q(x, y) :- p(x, y).
    p(x, z) :- p(x, y), q(y, z).
    """
    rules = planned(text).strata[-1].rounds
    assert {rule.text.strip() for rule in rules if rule.ahead_below} == {"p(x, z) :- p(x, y), e(y, z)."}
