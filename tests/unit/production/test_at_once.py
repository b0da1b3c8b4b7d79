"""One kernel runs rules that fire in sets, and leaves to others what it cannot do; nobody sees a difference."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

import tidelog
from answers import checked_program
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.tiers import Tiers
from tidelog.connectors.frames import to_table
from tidelog.errors import EvaluationError, LimitError, OscillationError, TidelogError
from tidelog.facts.chain import ChainRecord
from tidelog.kernels import jit
from tidelog.maintain.protocol import Limits
from tidelog.plan.retention.network import Retention
from tidelog.production import Result, cycle, run_rules
from tidelog.production.at_once.encoding import encoded
from tidelog.schema import Row

COUNTER = """
.production set
.decl at(n: number)
.decl end(n: number)
-at(n), +at(n + 1) :- at(n), end(m), n < m. [name count]
"""

LIGHTS = """
.production set
.decl on()
.decl lamp(name: symbol, colour: symbol)
.decl seen(name: symbol, weight: float, size: unsigned)
.decl weighs(name: symbol, weight: float, size: unsigned)
+on() :- lamp(_, "red"), !on(). [name switch]
+seen(x, w, s), -lamp(x, "red") :- on(), lamp(x, "red"), weighs(x, w, s), x != "c". [name look]
"""

MOVES = """
.production set
.decl piece(name: number, x: number, y: number)
.decl met(one: number, other: number)
.decl end(x: number)
+met(a, b), -piece(b, x, y) :- piece(a, x, y), piece(b, x, y), a < b. [name meet, priority 1]
-piece(a, x, y), +piece(a, x + 1, y) :- piece(a, x, y), end(m), x < m, y > 0. [name right]
-piece(a, x, y), +piece(a, x, y + 1), +piece(a + 100, x, y + 2) :- piece(a, x, y), y <= 0. [name down]
"""


@pytest.fixture(autouse=True)
def _kernels_are_used() -> Iterator[None]:
    """As if kernels were compiled; they run as the Python that they are, and the network's rules never have code."""
    with (
        patch.object(jit, "is_compiled", lambda: True),
        patch.object(cycle.compiler, "is_ready", lambda: True),
        patch.object(Tiers, "note", lambda *_: None),
    ):
        yield


def result(text: str, facts: dict[str, list[Row]], **options: object) -> Result:
    checked = checked_program(text)
    tables = {name: to_table(rows, checked.schemas[name]) for name, rows in facts.items()}
    return run_rules(checked, LocalBackend(checked.schemas), tables, **options)


def rows(tables: dict[str, object], relation: str) -> list[Row]:
    return sorted(tuple(row.values()) for row in tables[relation].to_pylist()) if relation in tables else []


def test_a_run_of_many_cycles_needs_no_network() -> None:
    with patch.object(cycle, "Cycle", side_effect=AssertionError("the network is not needed")):
        done = result(COUNTER, {"at": [(0,)], "end": [(1500,)]})
    assert done.cycles == 1500
    assert (rows(done.came, "at"), rows(done.went, "at")) == ([(1500,)], [(0,)])


def test_values_of_all_kinds_and_relations_without_columns() -> None:
    facts = {
        "lamp": [("a", "red"), ("b", "green"), ("c", "red")],
        "weighs": [("a", -0.5, 2**64 - 1), ("b", 1.0, 1), ("c", 1.0, 1)],
    }
    done = result(LIGHTS, facts)
    others = result(LIGHTS, facts, retention=Retention.COSMA)
    assert rows(done.came, "seen") == rows(others.came, "seen") == [("a", -0.5, 2**64 - 1)]
    assert done.came["on"].num_rows == others.came["on"].num_rows == 1
    assert (done.cycles, rows(done.went, "lamp")) == (2, [("a", "red")])


def test_rows_that_go_leave_their_places_in_all_indexes_to_those_that_come() -> None:
    pieces = [(name, name % 7, name % 3 - 2) for name in range(40)]
    done, others = (
        result(MOVES, {"piece": pieces, "end": [(9,)]}, retention=retention) for retention in (None, Retention.COSMA)
    )
    for tables, expected in ((done.came, others.came), (done.went, others.went)):
        assert [rows(tables, name) for name in ("piece", "met")] == [rows(expected, name) for name in ("piece", "met")]
    assert (done.cycles, len(rows(done.went, "piece"))) == (others.cycles, 40)
    assert len(rows(done.came, "met")) > 40


def test_runs_that_find_the_room_of_others_do_the_same() -> None:
    checked = checked_program(MOVES)

    def ran(facts: dict[str, list[Row]], retention: Retention | None) -> list[list[Row]]:
        tables = {name: to_table(some, checked.schemas[name]) for name, some in facts.items()}
        done = run_rules(checked, LocalBackend(checked.schemas), tables, retention=retention)
        return [rows(some, name) for some in (done.came, done.went) for name in ("piece", "met")]

    for count in (3, 40, 5, 90, 90, 20, 50):
        pieces = [(name, name % 7, name % 3 - 2) for name in range(count)]
        facts = {"piece": pieces, "end": [(9,)], "met": [(0, 200), (1, 2), (3, 200)]}
        assert ran(facts, None) == ran(facts, Retention.COSMA)


def test_the_history_names_the_rule_of_each_cycle() -> None:
    with tidelog.open(COUNTER) as db:
        db.insert("at", [(0,)])
        db.insert("end", [(3,)])
        db.run()
        assert db.history("at", (1,)) == (
            ChainRecord(0, is_there=False),
            ChainRecord(1, is_there=True, rules=("count",)),
            ChainRecord(2, is_there=False, rules=("count",)),
        )
        assert db.history("at", (9,)) == ()


@pytest.mark.parametrize(
    ("facts", "limits", "error"),
    [
        ({"at": [(0,)], "end": [(100,)]}, Limits(rounds=7), LimitError),
        ({"at": [(0,)], "end": [(100,)]}, Limits(rows=5), LimitError),
        ({"at": [(2**63 - 2,)], "end": [(2**63 - 1,)]}, Limits(), None),
        ({"at": [(1,)], "end": [(2,)]}, Limits(), None),
    ],
)
def test_limits_are_told_as_by_the_network(
    facts: dict[str, list[Row]], limits: Limits, error: type[TidelogError] | None
) -> None:
    if error is None:
        assert result(COUNTER, facts, limits=limits).cycles == 1
        return
    told = []
    for retention in (None, Retention.COSMA):
        with pytest.raises(error) as raised:
            result(COUNTER, facts, limits=limits, retention=retention)
        told.append(str(raised.value))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("+at(n * n) :- at(n).", EvaluationError),
        ("+at(n / m) :- at(n), end(m).", EvaluationError),
        ("-at(n), +at(5 - n) :- at(n).", OscillationError),
    ],
)
def test_what_has_no_value_and_what_goes_round_is_told_as_by_the_network(rule: str, error: type[TidelogError]) -> None:
    text = f".production set\n.decl at(n: number)\n.decl end(n: number)\n{rule}\n"
    told = []
    for retention in (None, Retention.COSMA):
        with pytest.raises(error) as raised:
            result(text, {"at": [(3,)], "end": [(0,)]}, retention=retention)
        told.append(str(raised.value))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "rule",
    [
        '+at(strlen("ab")) :- at(n), n > 0.',
        "+at(n) :- at(_), n = range(0, 3).",
        "+at(n) :- at(n), m = mean k : { at(k) }, m > 0.5.",
        '+at(n) :- at(n), s = to_string(n), match("1", s).',
    ],
)
def test_what_a_kernel_cannot_compute_is_left_to_others(rule: str) -> None:
    assert encoded(checked_program(f".production set\n.decl at(n: number)\n{rule}\n")) is None


def test_others_go_on_where_there_is_too_much_to_do_at_once() -> None:
    text = """
        .production set
        .decl at(n: number)
        .decl pair(a: number, b: number)
        .decl on(n: number)
        -at(n), +at(n + 1) :- at(n), n < 5. [name walk, priority 1]
        +pair(a, b) :- on(a), on(b), at(5). [name join]
    """
    facts: dict[str, list[Row]] = {"at": [(0,)], "on": [(n,) for n in range(100)]}
    taken_over = []
    whole = cycle.Cycle._take_over

    def listen(self: cycle.Cycle, before: cycle.LoggedCycles) -> None:
        taken_over.append(before.cycles)
        whole(self, before)

    with patch.object(cycle.Cycle, "_take_over", listen):
        done = result(text, facts)
    assert taken_over == [5]
    assert (done.cycles, done.came["pair"].num_rows, rows(done.went, "at")) == (6, 10000, [(0,)])
    fact = to_table([(3,)], checked_program(text).schemas["at"])
    assert [record.cycle for record in done.read_chains().chain("at", fact)] == [0, 3, 4]


def test_a_program_that_says_how_rules_fire_and_has_none_does_nothing() -> None:
    db = tidelog.open(".production set\n.decl p(x: number)\np(1).")
    assert not db.run()
    assert list(db["p"]) == [(1,)]


def test_a_run_is_taken_back_and_made_again_by_the_facts_that_it_left() -> None:
    db = tidelog.open(LIGHTS)
    db.insert("lamp", [("a", "red"), ("b", "red"), ("b", "blue"), ("c", "red")])
    db.insert("weighs", [("a", 0.5, 2), ("a", -0.0, 3), ("b", 1.5, 2)])
    delta = db.run()
    after = {name: set(db[name]) for name in db}
    assert after["lamp"] == {("b", "blue"), ("c", "red")}
    assert set(delta["seen"].appeared) == {("a", 0.5, 2), ("a", 0.0, 3), ("b", 1.5, 2)} == after["seen"]
    assert delta.counts.inserted == 4
    assert delta.counts.retracted == 2
    db.undo()
    assert set(db["seen"]) == set(db["on"]) == set()
    assert len(db["lamp"]) == 4
    with db.whatif(insert={"lamp": [("d", "blue")]}) as other:
        other.run()
        assert set(other.delta["lamp"].appeared) == {("d", "blue")}
        assert set(other.delta["lamp"].vanished) == {("a", "red"), ("b", "red")}
        assert set(other["seen"]) == after["seen"]
    db.redo()
    assert {name: set(db[name]) for name in db} == after


def test_a_number_of_the_text_is_the_word_that_facts_have() -> None:
    text = """
    .production set
    .decl is(name: symbol, weight: float, size: unsigned)
    .decl found(name: symbol)
    +found(x) :- is(x, -0.0, 18446744073709551615).
    """
    big = 18446744073709551615
    done = result(text, {"is": [("a", 0.0, big), ("b", 0.0, 1), ("c", 1.0, big)]})
    assert rows(done.came, "found") == [("a",)]
