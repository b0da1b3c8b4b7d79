"""Parallel production rules shared among partitions leave the facts that the definitions say, cycle by cycle."""

from __future__ import annotations

from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from production_partitions import Partitions

from answers import checked_program
from production_answers import states_by_oracle
from production_strategies import ProductionSample, production_programs
from tidelog.pipeline.production.course import Course
from tidelog.pipeline.production.director import Pace

NEVER = ProductionSample("parallel", ("+a(x) :- b(x, x), 1 < 1.",), {"b": [(1, 1)]})


@settings(max_examples=50)
@given(production_programs("parallel"), st.sampled_from(Pace), st.integers(2, 4))
@example(NEVER, Pace.SYNCHRONOUS, 2)
def test_partitions_pass_through_the_states_of_the_oracle(
    sample: ProductionSample, pace: Pace, partitions: int
) -> None:
    checked = checked_program(sample.text)
    expected = states_by_oracle(checked, sample.facts)
    assert Partitions(checked, pace, partitions).states(sample.facts) == expected


FAILURES = """
.production parallel
.decl link(x: symbol, y: symbol)
.decl fails(x: symbol)
.decl up(x: symbol)
.decl saved(x: symbol)
-up(y), +fails(y) :- fails(x), link(x, y), up(y), !saved(y).
+saved(z) :- fails(x), link(x, y), link(y, z), link(z, "end").
-fails(x) :- fails(x), saved(x).
"""


def row_of_links(length: int) -> dict[str, list[tuple[str, ...]]]:
    names = [f"n{number}" for number in range(length)]
    return {
        "link": [*pairwise(names), (names[-1], "end"), (names[length // 2], "end")],
        "up": [(name,) for name in names[1:]],
        "fails": [(names[0],)],
        "saved": [],
    }


def test_partitions_that_run_ahead_need_fewer_exchanges_and_revise_what_they_did() -> None:
    checked, facts = checked_program(FAILURES), row_of_links(16)
    expected = states_by_oracle(checked, facts)
    in_step, ahead = (Partitions(checked, pace, 2) for pace in (Pace.SYNCHRONOUS, Pace.ASYNCHRONOUS))
    assert in_step.states(facts) == expected
    with mock.patch.object(Course, "_followed", autospec=True, side_effect=Course._followed) as followed:
        assert ahead.states(facts) == expected
    assert followed.called
    assert ahead.exchanges < in_step.exchanges


def test_a_partition_runs_ahead_into_states_that_never_are_and_comes_back() -> None:
    text = """
    .production parallel
    .decl on(x: number)
    .decl off(x: number)
    .decl stop(x: number, y: number)
    .decl odd(x: number)
    +on(x), -off(x) :- off(x).
    +off(x), -on(x) :- on(x), !odd(x).
    +odd(y) :- stop(x, y).
    """
    checked = checked_program(text)
    facts = {"on": [(1,), (2,), (3,), (4,)], "off": [], "odd": [], "stop": [(5, 1), (6, 2), (7, 3), (8, 4)]}
    assert Partitions(checked, Pace.ASYNCHRONOUS, 2).states(facts) == states_by_oracle(checked, facts)


def test_an_operation_that_others_go_on_asking_for_counts_in_all_iterations_that_a_partition_has_behind_it() -> None:
    text = """
    .production parallel
    .decl step(x: number, n: number)
    .decl next(n: number, m: number)
    .decl lamp(x: number)
    .decl off(y: number, x: number)
    +step(x, m), -step(x, n) :- step(x, n), next(n, m).
    +lamp(x) :- step(x, 3).
    -lamp(x) :- off(_, x).
    """
    checked = checked_program(text)
    facts = {
        "step": [(x, 0) for x in range(6)],
        "next": [(n, n + 1) for n in range(6)],
        "lamp": [],
        "off": [(8, x) for x in range(4)],
    }
    run = Partitions(checked, Pace.ASYNCHRONOUS, 2, {"next": 1, "step": 1000, "lamp": 1000, "off": 1000})
    assert run.states(facts) == states_by_oracle(checked, facts)


def test_what_late_news_makes_a_rule_ask_for_ends_when_the_rule_does_not_ask_any_more() -> None:
    text = """
    .production parallel
    .decl step(x: number, n: number)
    .decl next(n: number, m: number)
    .decl trigger(z: number, x: number)
    .decl pulse(x: number)
    .decl to(x: number, y: number)
    .decl lamp(y: number)
    +step(x, m), -step(x, n) :- step(x, n), next(n, m).
    +pulse(x) :- trigger(z, x), step(z, 1).
    -pulse(x) :- pulse(x).
    -lamp(y) :- pulse(x), to(x, y).
    +lamp(y) :- step(y, 6).
    """
    checked = checked_program(text)
    numbers = range(6)
    facts = {
        "step": [(x, 0) for x in numbers],
        "next": [(n, n + 1) for n in range(8)],
        "trigger": [(0, x) for x in numbers],
        "pulse": [],
        "to": [(x, y) for x in numbers for y in numbers if x != y],
        "lamp": [],
    }
    sizes = {"next": 1, "step": 1000, "trigger": 10, "pulse": 10, "to": 10, "lamp": 1000}
    assert Partitions(checked, Pace.ASYNCHRONOUS, 2, sizes).states(facts) == states_by_oracle(checked, facts)


@pytest.mark.parametrize("pace", Pace)
def test_symbols_floats_and_relations_without_columns_find_their_partitions(pace: Pace) -> None:
    text = """
    .production parallel
    .decl price(item: symbol, at: float)
    .decl cheap(item: symbol)
    .decl sale()
    .decl tag(item: symbol, n: unsigned)
    +cheap(x), +tag(x, 18446744073709551615) :- price(x, p), p < -0.5, sale().
    -sale() :- cheap(_).
    +sale() :- price(_, p), p = -0.0, !cheap("b").
    """
    checked = checked_program(text)
    facts = {"price": [("a", -1.5), ("b", 0.0), ("ü", -0.75)], "cheap": [], "sale": [], "tag": []}
    assert Partitions(checked, pace, 3).states(facts) == states_by_oracle(checked, facts)
