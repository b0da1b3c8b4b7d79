"""A rule that leads from ids to others goes many rounds in one kernel: the same rows, in the same order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.backends.local import paths, running_ahead
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Tier
from tidelog.checking import check_program
from tidelog.language.parser import parse
from tidelog.maintain.materialize import Run
from tidelog.maintain.protocol import SILENT, Limits
from tidelog.plan.differentiate import in_step
from tidelog.plan.lower import lower
from tidelog.plan.nodes import Plan, RulePlan
from tidelog.plan.optimize import optimize
from unit.local.plans import table

FORTH = "reached(y) :- reached(x), edge(x, y)."
BACK = "reached(x) :- reached(y), edge(x, y)."
MORE_THAN_A_PATH = (
    "reached(y) :- reached(x), edge(x, y), y != 3.",
    "reached(y) :- reached(x), edge(x, y), edge(y, y).",
    "reached(x) :- reached(x), edge(x, y).",
    "reached(y + 1) :- reached(x), edge(x, y), y < 9.",
    "reached(7) :- reached(x), edge(x, y).",
    "reached(y) :- reached(3), edge(3, y).",
    "reached(x) :- reached(x), edge(x, x).",
)


def planned(*rules: str) -> Plan:
    declared = ".decl edge(x: number, y: number)\n.decl start(x: number)\n.decl reached(x: number)\n"
    return optimize(lower(check_program(parse("\n".join((declared, "reached(x) :- start(x).", *rules))))))


def evaluated(plan: Plan, edges: list[tuple[int, int]], tier: Tier = Tier.VECTORISED) -> tuple[int, list[int]]:
    """The number of rounds and the rows, in order, that follow from the start 0."""
    backend = LocalBackend({**plan.schemas, **plan.hidden}, tier=tier)
    backend.insert("edge", table(plan.schemas["edge"], edges))
    backend.insert("start", table(plan.schemas["start"], [(0,)]))
    rounds, _ = Run(plan, backend, Limits(), SILENT).evaluate(1, plan.strata[-1])
    return rounds, backend.table("reached").to_pydict()["x"]


def round_by_round(plan: Plan) -> Plan:
    return replace(plan, strata=tuple(map(in_step, plan.strata)))


def path_rules(plan: Plan) -> list[RulePlan]:
    backend = LocalBackend({**plan.schemas, **plan.hidden})
    return [
        rule
        for rule in plan.strata[-1].rounds
        if paths.path_of(rule, backend._bodies.of(rule), backend._store) is not None
    ]


def test_steps_along_pairs_are_paths_either_way() -> None:
    assert len(path_rules(planned(FORTH))) == len(path_rules(planned(BACK))) == 1
    assert len(path_rules(planned(FORTH, BACK))) == 2


@pytest.mark.parametrize("text", MORE_THAN_A_PATH)
def test_what_does_more_is_no_path_and_gives_the_same(text: str) -> None:
    plan = planned(text)
    edges = [(node, (3 * node + more) % 11) for node in range(11) for more in (0, 1)]
    assert not path_rules(plan)
    assert sorted(evaluated(plan, edges)[1]) == sorted(evaluated(round_by_round(plan), edges)[1])


@pytest.mark.parametrize("tier", [Tier.VECTORISED, Tier.PUSH])
@pytest.mark.parametrize("few", [1, 2, 5, paths.FEW_ROWS])
@given(edges=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=80))
def test_a_path_gives_the_rows_of_rounds_in_their_order(tier: Tier, few: int, edges: list[tuple[int, int]]) -> None:
    plan = planned(FORTH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_ahead, "FEW_ROWS", few)
        assert evaluated(plan, edges, tier) == evaluated(round_by_round(plan), edges, tier)


@given(edges=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=80))
def test_two_paths_of_one_relation_reach_the_same_rows(edges: list[tuple[int, int]]) -> None:
    plan = planned(FORTH, BACK)
    assert sorted(evaluated(plan, edges)[1]) == sorted(evaluated(round_by_round(plan), edges)[1])


@pytest.mark.parametrize("room", [1, 7, 100])
def test_rows_that_find_no_room_are_derived_all_the_same(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_ROOM", room)
    # Ids are given in order of the rows: those of later rounds lie beyond what the set reaches at first.
    edges = [(node, 2 * node + more) for node in range(300) for more in (1, 2)]
    plan = planned(FORTH)
    assert evaluated(plan, edges) == evaluated(round_by_round(plan), edges)
