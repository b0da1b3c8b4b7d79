"""Every strategy of data reduction gives the answer of the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from answers import Failure, by_oracle
from closure_strategies import closure_programs
from spark.reductions import Case, in_process, on_spark
from strategies import Sample, programs
from tidelog.backends.local.pushing import PushedCode
from tidelog.backends.local.store import Store
from tidelog.backends.local.tiers import Tiers
from tidelog.backends.protocol import Tier
from tidelog.plan.reduction import Strategy
from unit.kernels.forms import tier

EDGES = [(1, 2), (2, 3), (3, 1), (3, 4), (5, 6), (6, 7), (8, 8), (4, 9)]
TREE = [(1, 2), (1, 3), (2, 4), (3, 5), (3, 6), (5, 7), (6, 8)]
NUMBERS = ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\n"

PROGRAMS = {
    "right linear": (
        NUMBERS + "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
        {"edge": EDGES},
    ),
    "left linear, turned round": (
        NUMBERS + "path(y, x) :- edge(x, y). path(z, x) :- edge(x, y), path(z, y).",
        {"edge": EDGES},
    ),
    "non-linear": (
        NUMBERS + "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z).",
        {"edge": EDGES},
    ),
    "closures by group, of texts": (
        """.decl link(g: symbol, x: symbol, y: symbol)
        .decl reach(x: symbol, g: symbol, y: symbol)
        reach(x, g, y) :- link(g, x, y).
        reach(x, g, z) :- reach(x, g, y), link(g, y, z).""",
        {"link": [("a", "é", "y"), ("a", "y", "z"), ("b", "z", "w"), ("b", "w", "z"), ("", "y", "")]},
    ),
    "same as": (
        NUMBERS + "path(x, y) :- edge(x, y). path(y, x) :- path(x, y). path(x, z) :- path(x, y), path(y, z).",
        {"edge": EDGES},
    ),
    "same generation": (
        """.decl parent(x: number, y: number)
        .decl same(x: number, y: number)
        same(x, y) :- parent(p, x), parent(p, y), x != y.
        same(x, y) :- parent(a, x), same(a, b), parent(b, y).""",
        {"parent": TREE},
    ),
    "points to": (
        """.decl address(y: number, x: number)
        .decl assign(y: number, z: number)
        .decl load(y: number, x: number)
        .decl store(y: number, x: number)
        .decl pts(y: number, x: number)
        pts(y, x) :- address(y, x).
        pts(y, x) :- assign(y, z), pts(z, x).
        pts(y, w) :- load(y, x), pts(x, z), pts(z, w).
        pts(z, w) :- store(y, x), pts(y, z), pts(x, w).""",
        {
            "address": [(1, 2), (3, 4), (5, 1), (6, 3)],
            "assign": [(7, 5), (8, 7), (9, 6)],
            "load": [(10, 8), (11, 9)],
            "store": [(5, 3), (9, 10)],
        },
    ),
    "mutual recursion with facts of the text": (
        """.decl next(x: number, y: number)
        .decl even(x: number)
        .decl odd(x: number)
        even(0). even(20).
        odd(y) :- even(x), next(x, y).
        even(y) :- odd(x), next(x, y).
        .decl done()
        done() :- even(4).""",
        {"next": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (20, 21)], "odd": [(30,)]},
    ),
    "negation and aggregates of what is below": (
        NUMBERS
        + """.decl blocked(x: number)
        path(x, y) :- edge(x, y), !blocked(x).
        path(x, z) :- path(x, y), edge(y, z), !blocked(y), count : { edge(z, _) } < 2.
        path(x, z) :- path(x, y), z = y + 1, z < 8, !edge(x, z).""",
        {"edge": EDGES, "blocked": [(5,), (9,)]},
    ),
    "unsigned and floats": (
        """.decl a(x: unsigned, y: float)
        .decl r(x: unsigned, y: float)
        r(x, y) :- a(x, y).
        r(x, z) :- r(x, y), a(_, z), z > y.
        r(w, y) :- r(x, y), a(w, y), w != x.""",
        {"a": [(18446744073709551615, 0.5), (3, 1.5), (3, 0.5), (9, -2.25)]},
    ),
}
STRATEGIES = [Strategy.ALONE, Strategy.PRESERVED, Strategy.ASYNCHRONOUS, Strategy.SYNCHRONOUS]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_stages_give_the_rows_of_the_oracle(name: str, strategy: Strategy) -> None:
    text, facts = PROGRAMS[name]
    by_rules, by_modules = Case(text, facts, modules=False), Case(text, facts)
    expected = by_oracle(by_rules.checked, facts)
    for partitions in (1, 2, 5):
        assert by_rules.answers(in_process, strategy, partitions) == expected
        assert by_modules.answers(in_process, strategy, partitions) == expected


@pytest.fixture
def generated_code() -> Iterator[None]:
    """Every engine runs rules by their code, as the Python that it is."""
    given_tier = Tiers.__init__

    def forced(self: Tiers, store: Store, _tier: Tier, *others: Any) -> None:
        given_tier(self, store, Tier.PUSH, *others)

    with tier("plain"), mock.patch.object(Tiers, "__init__", forced):
        yield


@pytest.mark.usefixtures("generated_code")
@pytest.mark.parametrize("name", PROGRAMS)
def test_generated_code_gives_the_rows_of_the_oracle_in_stages(name: str) -> None:
    text, facts = PROGRAMS[name]
    case = Case(text, facts, modules=False)
    with mock.patch.object(PushedCode, "run", autospec=True, side_effect=PushedCode.run) as run:
        for strategy in STRATEGIES:
            assert case.answers(in_process, strategy, 3) == by_oracle(case.checked, facts), strategy
    assert run.called


@pytest.mark.usefixtures("generated_code")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs(), st.sampled_from(STRATEGIES), st.integers(2, 4))
def test_generated_code_of_random_programs_gives_the_rows_of_the_oracle_in_stages(
    sample: Sample, strategy: Strategy, partitions: int
) -> None:
    case = Case(sample.text, sample.facts, modules=False)
    assume(any(stratum.rounds for stratum in case.plan.strata))
    assert case.answers(in_process, strategy, partitions) == by_oracle(case.checked, sample.facts)


@settings(max_examples=60)
@given(programs(), st.sampled_from(STRATEGIES), st.integers(2, 4))
def test_random_programs_have_the_rows_of_the_oracle(sample: Sample, strategy: Strategy, partitions: int) -> None:
    case = Case(sample.text, sample.facts)
    assume(any(stratum.rounds or stratum.closed for stratum in case.plan.strata))
    assert case.answers(in_process, strategy, partitions) == by_oracle(case.checked, sample.facts)


@settings(max_examples=40)
@given(closure_programs(), st.sampled_from(STRATEGIES), st.integers(2, 4))
def test_random_closures_have_the_rows_of_the_oracle(sample: Sample, strategy: Strategy, partitions: int) -> None:
    case = Case(sample.text, sample.facts)
    assert case.answers(in_process, strategy, partitions) == by_oracle(case.checked, sample.facts)


@pytest.mark.parametrize("name", ["non-linear", "closures by group, of texts", "points to", "unsigned and floats"])
def test_spark_gives_the_rows_of_the_oracle(spark: SparkSession, name: str) -> None:
    text, facts = PROGRAMS[name]
    case = Case(text, facts)
    expected = by_oracle(case.checked, facts)
    for strategy in STRATEGIES:
        assert case.answers(on_spark(spark), strategy) == expected, strategy


@pytest.mark.parametrize("strategy", [Strategy.PRESERVED, Strategy.ASYNCHRONOUS], ids=lambda each: each.value)
def test_an_error_in_a_task_is_the_error_of_the_rule(spark: SparkSession, strategy: Strategy) -> None:
    text = NUMBERS + "path(x, y) :- edge(x, y). path(x, 6 / y) :- path(x, y)."
    case = Case(text, {"edge": [(1, 2), (2, 0)]})
    assert case.answers(on_spark(spark), strategy) == Failure()
