"""The round loop: everything that follows, by rounds that read only what is new, within limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, given

from answers import Failure, by_oracle, checked_program
from fragments import EVERYTHING
from strategies import Sample, programs
from tidelog.backends.protocol import Derived, Watch, unwatched
from tidelog.errors import LimitError, UsageError
from tidelog.facts.columns import arrow_schema
from tidelog.language.functions import NoValue
from tidelog.maintain.materialize import materialize
from tidelog.maintain.ordering import magnitude
from tidelog.maintain.protocol import Limits
from tidelog.plan.lower import lower
from tidelog.plan.nodes import Plan, RulePlan, StratumPlan
from tidelog.plan.optimize import optimize
from tidelog.schema import Row
from unit.maintain.memory_backend import MemoryBackend

PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.input edge
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
COUNTING = """
.decl counted(x: number)
counted(0).
counted(x + 1) :- counted(x).
"""
CHAIN = [(number, number + 1) for number in range(6)]
PLANNED = tuple(literal for literal in EVERYTHING.literals if literal != "disjunction")  # the check removes those
NO_FAILURES = replace(EVERYTHING, risky=False, literals=PLANNED)


def planned(text: str) -> Plan:
    return optimize(lower(checked_program(text)))


def backend_for(plan: Plan, **facts: Iterable[Row]) -> MemoryBackend:
    """A backend that holds `facts`."""
    backend = MemoryBackend(plan)
    for relation, rows in facts.items():
        schema = plan.schemas[relation]
        named = [dict(zip(schema.names, row, strict=True)) for row in rows]
        backend.insert(relation, pa.Table.from_pylist(named, schema=arrow_schema(schema)))
    return backend


@given(programs(NO_FAILURES))
def test_rounds_over_the_plan_give_what_the_oracle_gives(sample: Sample) -> None:
    checked = checked_program(sample.text)
    expected = by_oracle(checked, sample.facts)
    assume(not isinstance(expected, Failure))
    for plan in (lower(checked), optimize(lower(checked))):
        backend = backend_for(plan, **sample.facts)
        try:
            materialize(plan, backend)
        except NoValue:
            assume(False)
        assert {relation: backend.rows(relation) for relation in expected} == expected


def test_rows_that_were_there_at_the_start_take_part_in_recursion() -> None:
    plan = planned(PATHS)
    backend = backend_for(plan, edge=[(2, 3)], path=[(1, 2)])
    materialize(plan, backend)
    assert backend.rows("path") == {(1, 2), (2, 3), (1, 3)}


def test_a_second_run_derives_nothing_new() -> None:
    plan = planned(PATHS)
    backend = backend_for(plan, edge=CHAIN)
    materialize(plan, backend)
    before = backend.rows("path")
    materialize(plan, backend)
    assert backend.rows("path") == before


def test_a_round_runs_only_versions_whose_delta_has_rows() -> None:
    plan = planned("""
        .decl e(x: number)
        .decl p(x: number)
        .decl q(x: number)
        .input e
        p(x) :- e(x).
        p(x) :- q(x), x > 100.
        q(x) :- p(x).
    """)
    backend = backend_for(plan, e=[(1,)])
    materialize(plan, backend)
    assert [[rule.head for rule in rules] for rules in backend.derived] == [["p"], ["q"], ["p"]]


def test_a_stratum_stops_when_a_relation_has_the_rows_that_its_limitsize_asks_for() -> None:
    plan = planned(COUNTING + ".limitsize counted(n=10)\n")
    backend = backend_for(plan)
    materialize(plan, backend)
    assert backend.rows("counted") == {(number,) for number in range(10)}


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(rounds=5), "the limit of 5 rounds was reached"),
        (Limits(rows=20), "the limit of 20 rows was reached with 20 rows"),
        (Limits(seconds=1e-9), "the limit of 1e-09 seconds was reached"),
        (Limits(memory=1), "the limit of 1 bytes of memory was reached"),
    ],
)
def test_a_limit_is_an_error_that_names_it(limits: Limits, sentence: str) -> None:
    plan = planned(COUNTING)
    with pytest.raises(LimitError, match=sentence):
        materialize(plan, backend_for(plan), limits)


def test_a_limit_error_names_the_rule_its_place_the_relation_and_the_way_out() -> None:
    plan = planned(COUNTING)
    with pytest.raises(LimitError) as caught:
        materialize(plan, backend_for(plan), Limits(rounds=5))
    assert str(caught.value).splitlines() == [
        "the limit of 5 rounds was reached while new rows kept coming, in the stratum of counted",
        "  rules that still derive rows:",
        "    <text>:4: counted(x + 1) :- counted(x).  (1 in the last round)",
        "  hint: raise it with --limit-rounds or limits=Limits(rounds=…), or bound what the rules derive",
    ]


def test_a_program_that_ends_in_time_reaches_no_limit() -> None:
    plan = planned(PATHS)
    backend = backend_for(plan, edge=CHAIN)
    materialize(plan, backend, Limits(rounds=6, rows=22))
    assert len(backend.rows("path")) == 21


def test_limits_are_finite_by_default_and_must_be_above_zero() -> None:
    assert 0 < Limits().memory < 2**62
    with pytest.raises(UsageError, match="the limit on rounds must be above 0"):
        Limits(rounds=0)


class InterruptedBackend(MemoryBackend):
    """A backend at which the user presses Ctrl-C in the third call of `derive`."""

    def derive(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Derived:
        counts = super().derive(rules, watch)
        if len(self.derived) == 3:
            raise KeyboardInterrupt
        return counts


def test_after_an_interrupt_a_second_run_goes_on() -> None:
    plan = planned(PATHS)
    backend = InterruptedBackend(plan)
    backend.old["edge"] = set(CHAIN)
    with pytest.raises(KeyboardInterrupt):
        materialize(plan, backend)
    assert (0, 6) not in backend.rows("path")
    materialize(plan, backend)
    assert len(backend.rows("path")) == 21


def test_a_rule_that_joins_with_a_relation_without_rows_is_not_run() -> None:
    plan = planned(PATHS)
    backend = backend_for(plan)
    materialize(plan, backend)
    assert backend.derived == []
    assert backend.rows("path") == set()


class SlowBackend(MemoryBackend):
    """A backend whose rounds take long: it tells the watch again and again, until that stops it."""

    def derive(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Mapping[int, int]:
        while True:
            watch(rules[0], 1)


def test_a_limit_stops_a_round_that_takes_too_long() -> None:
    plan = planned(PATHS)
    backend = SlowBackend(plan)
    backend.old["edge"] = set(CHAIN)
    with pytest.raises(LimitError, match=r"the limit of 0\.2 seconds was reached") as caught:
        materialize(plan, backend, Limits(seconds=0.2))
    assert "path(x, y) :- edge(x, y)." in str(caught.value)


class Listener:
    """An observer that writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def stratum_started(self, number: int, stratum: StratumPlan) -> None:
        self.heard.append(("started", number, stratum.relations))

    def rule_ordered(self, rule: RulePlan) -> None:
        self.heard.append(("ordered", rule.id))

    def rows_derived(self, number: int, round_number: int, rule: RulePlan, derived: int) -> None:
        pass

    def round_finished(self, number: int, round_number: int, delta: Mapping[str, int], derived: int) -> None:
        self.heard.append(("round", number, round_number, dict(delta), derived))

    def stratum_finished(self, number: int, rounds: int, rows: int) -> None:
        self.heard.append(("finished", number, rounds, rows))


def test_an_observer_hears_strata_orders_and_rounds() -> None:
    plan = planned(PATHS)
    listener = Listener()
    materialize(plan, backend_for(plan, edge=[(1, 2), (2, 3)]), observer=listener)
    assert listener.heard[-6:] == [
        ("ordered", 1),
        ("round", 1, 0, {"path": 2}, 2),
        ("ordered", 2),
        ("round", 1, 1, {"path": 1}, 1),
        ("round", 1, 2, {"path": 0}, 0),
        ("finished", 1, 2, 3),
    ]


def test_a_rule_is_ordered_again_only_after_a_fourfold_change() -> None:
    assert [magnitude(rows) for rows in (0, 1, 3, 4, 15, 16, 63, 64)] == [0, 1, 1, 2, 2, 3, 3, 4]
    plan = planned(PATHS)
    listener = Listener()
    backend = backend_for(plan, edge=[(number, number + 1) for number in range(60)])
    materialize(plan, backend, observer=listener)
    assert sum(event == ("ordered", 2) for event in listener.heard) < 6
