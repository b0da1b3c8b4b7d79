"""An update gives what starting over gives, tells only what is different, and can be taken back."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest

import tidelog
from tidelog.errors import EvaluationError, LimitError
from tidelog.maintain import budget, update
from tidelog.maintain.journal import Journal
from tidelog.maintain.materialize import Run
from tidelog.maintain.protocol import Limits, Maintenance, Strategy
from tidelog.maintain.update import Update
from tidelog.schema import Row
from tidelog.session import Session

Rows = Mapping[str, list[Row]]

WAYS = [Maintenance(modules, strategy) for modules, strategy in product((False, True), Strategy)]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.strategy.value}, modules {way.modules}")

RELATIONS = """
.decl a(x: number)
.decl b(x: number)
.decl e(x: number, y: number)
.decl p(x: number, y: number)
.decl r(x: number)
"""
REACH = f"{RELATIONS} r(x) :- a(x). r(y) :- r(x), e(x, y)."
PATHS = f"{RELATIONS} p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
CIRCLE = {"a": [(1,)], "e": [(1, 2), (1, 4), (2, 3), (3, 2), (4, 3)]}


def opened(text: str, facts: Rows, way: Maintenance = WAYS[-1], limits: Limits | None = None) -> Session:
    """A session whose answers have been asked for once."""
    db = tidelog.open(tidelog.parse(text), maintenance=way, limits=limits or Limits())
    for relation, rows in facts.items():
        db.insert(relation, rows)
    db["r"].rows()
    return db


def answers(db: Session) -> dict[str, list[Row]]:
    return {name: sorted(db[name]) for name in ("p", "r")}


def explicit(facts: Rows, insert: Rows, retract: Rows) -> dict[str, list[Row]]:
    """`facts` after a change."""
    names = {*facts, *insert}
    return {
        name: sorted(({*facts.get(name, ())} - {*retract.get(name, ())}) | {*insert.get(name, ())}) for name in names
    }


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The relations that updates derived anew, in order."""
    names: list[str] = []
    start_over = Update._start_over

    def noted(self: Update, number: int, questions: update.StratumQuestions) -> None:
        names.extend(questions.stratum.relations)
        start_over(self, number, questions)

    monkeypatch.setattr(Update, "_start_over", noted)
    return names


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be spent on asking."""
    monkeypatch.setattr(update, "BUDGET", 0.0)
    monkeypatch.setattr(budget, "LEAST", 0.0)


@pytest.fixture
def much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes, a change is followed."""
    monkeypatch.setattr(budget, "LEAST", 1000.0)


@every_way
@pytest.mark.usefixtures("much_time")
def test_a_fact_with_another_derivation_stays_and_nobody_is_told(way: Maintenance, restarts: list[str]) -> None:
    db = opened(REACH, CIRCLE, way)
    delta = db.apply(retract={"e": [(1, 2)]})
    assert sorted(db["r"]) == [(1,), (2,), (3,), (4,)]
    assert [name for name in delta if len(delta[name].appeared) + len(delta[name].vanished)] == ["e"]
    assert restarts == []


@every_way
@pytest.mark.usefixtures("much_time")
def test_a_circle_does_not_hold_itself_up(way: Maintenance, restarts: list[str]) -> None:
    db = opened(REACH, CIRCLE, way)
    db.apply(retract={"e": [(1, 2)]})
    delta = db.apply(retract={"e": [(4, 3)]})
    assert sorted(delta["r"].vanished) == [(2,), (3,)]
    assert sorted(db["r"]) == [(1,), (4,)]
    assert restarts == []


@every_way
def test_both_entries_of_a_circle_may_go_at_once(way: Maintenance) -> None:
    db = opened(REACH, CIRCLE, way)
    db.apply(retract={"e": [(1, 2), (4, 3)]})
    assert sorted(db["r"]) == [(1,), (4,)]


@every_way
def test_an_explicit_fact_survives_its_derivation_and_the_other_way_round(way: Maintenance) -> None:
    db = opened(REACH, {"a": [(1,)], "e": [(1, 2), (2, 3)], "r": [(2,)]}, way)
    db.apply(retract={"e": [(1, 2)]})
    assert sorted(db["r"]) == [(1,), (2,), (3,)]
    db.apply(insert={"e": [(1, 2)]}, retract={"r": [(2,)]})
    assert sorted(db["r"]) == [(1,), (2,), (3,)]
    db.apply(retract={"e": [(1, 2)]})
    assert sorted(db["r"]) == [(1,)]


NEGATED = f"{REACH} p(x, y) :- e(x, y), !r(y). p(x, x) :- b(x), !e(x, _)."
COUNTED = f"{REACH} p(x, n) :- b(x), n = count : {{ r(y), e(x, y) }}, n > 0."
JOINED = f"{REACH} p(x, y) :- r(x), r(y), e(x, y)."
OPAQUE = f"{RELATIONS} r(n) :- n = count : {{ b(_) }}. p(n, m) :- r(n), m = sum y : {{ e(x, y), x < k, k = n }}."

MIXED = {
    "negation": NEGATED,
    "aggregate": COUNTED,
    "joined with itself": JOINED,
    "closure": PATHS,
    "closure read": f"{PATHS} r(x) :- p(x, x).",
    "closure joined with itself": f"{PATHS} r(x) :- p(x, y), p(y, x), b(y).",
    "aggregate of an aggregate": OPAQUE,
}
START = {"a": [(1,)], "b": [(2,), (3,)], "e": [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (7, 7)]}
CHANGES: list[tuple[Rows, Rows]] = [
    ({}, {"e": [(1, 2)]}),
    ({"e": [(1, 2), (5, 6)], "b": [(5,)]}, {"e": [(3, 1)]}),
    ({"a": [(4,)]}, {"a": [(1,)], "b": [(2,), (3,)]}),
    ({"e": [(6, 4), (2, 2)]}, {"e": [(2, 3), (3, 4), (7, 7)]}),
    ({"b": [(2,)]}, {"e": [(1, 2), (6, 4), (4, 5)]}),
]


def check_changes(text: str, way: Maintenance) -> None:
    """Each change gives the answers of starting over, and tells the difference."""
    db, facts = opened(text, START, way), dict(START)
    for insert, retract in CHANGES:
        before = answers(db)
        delta = db.apply(insert=insert, retract=retract)
        facts = explicit(facts, insert, retract)
        after = answers(db)
        assert after == answers(opened(text, facts, way))
        for name in after:
            assert sorted(delta[name].appeared) == sorted({*after[name]} - {*before[name]})
            assert sorted(delta[name].vanished) == sorted({*before[name]} - {*after[name]})


@every_way
@pytest.mark.usefixtures("much_time")
@pytest.mark.parametrize("text", MIXED.values(), ids=MIXED.keys())
def test_changes_that_are_followed_give_what_starting_over_gives(text: str, way: Maintenance) -> None:
    check_changes(text, way)


@every_way
@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("text", MIXED.values(), ids=MIXED.keys())
def test_without_time_to_ask_strata_are_derived_anew_and_answers_are_the_same(text: str, way: Maintenance) -> None:
    check_changes(text, way)


@pytest.mark.usefixtures("no_time")
def test_without_time_to_ask_only_strata_that_may_lose_facts_are_derived_anew(restarts: list[str]) -> None:
    db = opened(REACH, CIRCLE)
    db.apply(retract={"e": [(1, 2)]})
    assert restarts == ["r"]
    db.apply(insert={"e": [(1, 2)]})
    assert restarts == ["r"], "what only adds is not asked about"


def test_a_change_of_most_of_a_relation_is_not_followed(restarts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "MANY_FACTS", 0)
    db = opened(REACH, {"a": [(1,)], "e": [(number, number + 1) for number in range(1, 30)]})
    db.apply(retract={"e": [(29, 30), (28, 29), (27, 28), (26, 27)]})
    assert restarts == ["r"]
    assert len(db["r"]) == 26


@pytest.mark.usefixtures("much_time")
def test_groups_that_rows_do_not_tell_are_derived_anew(restarts: list[str]) -> None:
    text = f"{RELATIONS} p(n, m) :- n = count : {{ b(_) }}, m = count : {{ a(y), y < k, k = n }}."
    db = opened(text, {"a": [(0,), (1,), (5,)], "b": [(1,), (2,)]})
    assert sorted(db["p"]) == [(2, 2)]
    db.apply(insert={"a": [(-1,)]})
    assert restarts == ["p"]
    assert sorted(db["p"]) == [(2, 3)]
    db.apply(insert={"b": [(number,) for number in range(3, 7)]})
    assert sorted(db["p"]) == [(6, 4)]


DIVIDED = f"{RELATIONS} r(10 / x) :- a(x), !b(x). p(x, x) :- r(x)."


@every_way
def test_an_error_on_the_way_that_no_fact_of_the_end_has_is_none(way: Maintenance, restarts: list[str]) -> None:
    db = opened(DIVIDED, {"a": [(0,), (2,)], "b": [(0,)]}, way)
    db.apply(insert={"a": [(5,)]}, retract={"a": [(0,)]})
    assert answers(db) == {"p": [(2, 2), (5, 5)], "r": [(2,), (5,)]}
    assert restarts == ["r", "p"], "everything was derived from the facts of the end"


@every_way
def test_facts_of_the_text_stay_when_an_error_on_the_way_means_starting_over(way: Maintenance) -> None:
    db = opened(f"{DIVIDED} e(1, 2).", {"a": [(0,), (2,)], "b": [(0,)]}, way)
    delta = db.apply(insert={"a": [(5,)]}, retract={"a": [(0,)]})
    assert sorted(db["e"]) == [(1, 2)]
    assert len(delta["e"].vanished) == 0


@every_way
def test_an_error_of_the_end_leaves_everything_as_it_was(way: Maintenance) -> None:
    db = opened(DIVIDED, {"a": [(0,), (2,)], "b": [(0,)]}, way)
    with pytest.raises(EvaluationError):
        db.apply(insert={"a": [(5,)]}, retract={"b": [(0,)]})
    assert answers(db) == {"p": [(5, 5)], "r": [(5,)]}
    assert sorted(db["a"]) == [(0,), (2,)]
    db.apply(insert={"a": [(5,)]})
    assert answers(db) == {"p": [(2, 2), (5, 5)], "r": [(2,), (5,)]}


@every_way
@pytest.mark.usefixtures("much_time")
def test_what_a_limit_stopped_is_taken_back_and_derived_anew_once(way: Maintenance, restarts: list[str]) -> None:
    chain = [(number, number + 1) for number in range(1, 6)]
    db = opened(REACH, {"a": [(1,)], "e": chain}, way, Limits(rounds=12))
    with pytest.raises(LimitError):
        db.apply(insert={"e": [(number, number + 1) for number in range(6, 30)]})
    assert sorted(db["r"]) == [(number,) for number in range(1, 7)]
    assert sorted(db["e"]) == chain
    db.apply(retract={"e": [(3, 4)]})
    assert sorted(db["r"]) == [(1,), (2,), (3,)]
    assert restarts == ["r"], "ages do not agree with derivations any more"
    db.apply(insert={"e": [(3, 4)]})
    assert sorted(db["r"]) == [(number,) for number in range(1, 7)]
    assert restarts == ["r"]


@every_way
def test_facts_given_to_a_linear_closure_are_no_edges(way: Maintenance) -> None:
    text = f"{RELATIONS} p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
    db = opened(text, {"e": [(2, 3), (3, 4)]}, way)
    db.apply(insert={"p": [(1, 2), (4, 9)]})
    expected = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4), (4, 9)]
    assert sorted(db["p"]) == expected
    db.apply(retract={"p": [(1, 2)]})
    assert sorted(db["p"]) == [row for row in expected if row[0] != 1]
    db.undo()
    db.apply(insert={"e": [(4, 5)]})
    assert {(1, 5), (2, 5), (4, 5)} < {*db["p"]}
    assert (2, 9) not in {*db["p"]}


@every_way
def test_the_first_facts_that_are_given_to_a_closure_are_edges_too(way: Maintenance) -> None:
    db = opened(PATHS, {"e": [(2, 3), (3, 4)]}, way)
    delta = db.apply(insert={"p": [(1, 2), (2, 3)]}, retract={"e": [(3, 4)]})
    assert sorted(delta["p"].appeared) == [(1, 2), (1, 3)]
    assert sorted(delta["p"].vanished) == [(2, 4), (3, 4)]
    db.apply(retract={"e": [(2, 3)]})
    assert sorted(db["p"]) == [(1, 2), (1, 3), (2, 3)], "it was given, too"
    db.apply(insert={"e": [(3, 4)]}, retract={"p": [(2, 3)]})
    assert sorted(db["p"]) == [(1, 2), (3, 4)]
    db.undo()
    db.undo()
    db.undo()
    assert sorted(db["p"]) == [(2, 3), (2, 4), (3, 4)]


def test_other_rules_for_its_edges_do_not_compute_a_closure_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "close_again", lambda *_: 1 // 0)
    db = opened(PATHS, {"e": [(1, 2), (2, 3)], "a": [(3,)]})
    delta = db.add_rules("p(x, y) :- a(x), y = x + 1.")
    assert sorted(delta["p"].appeared) == [(1, 4), (2, 4), (3, 4)]
    delta = db.remove_rules("p(x, y) :- a(x), y = x + 1.")
    assert sorted(delta["p"].vanished) == [(1, 4), (2, 4), (3, 4)]
    db.apply(retract={"e": [(2, 3)]})
    assert sorted(db["p"]) == [(1, 2)]


def test_a_closure_whose_edges_cannot_be_copied_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    db = opened(PATHS, {"e": [(1, 2), (2, 3)]})
    with monkeypatch.context() as broken:
        broken.setattr(Run, "evaluate", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            db.apply(insert={"p": [(3, 4)]})
    assert sorted(db["p"]) == [(1, 2), (1, 3), (2, 3)]
    db.apply(retract={"e": [(1, 2)]})
    assert sorted(db["p"]) == [(2, 3)]
    db.apply(insert={"p": [(3, 4)]})
    assert sorted(db["p"]) == [(2, 3), (2, 4), (3, 4)]


@every_way
def test_a_value_that_needs_no_rows_is_compared_with_the_marked_ones(way: Maintenance) -> None:
    text = f"{RELATIONS} r(x) :- n = count : {{ b(_) }}, e(x, n)."
    db = opened(text, {"b": [(1,), (2,)]}, way)
    db.apply(insert={"e": [(7, 2), (8, 3)]})
    assert sorted(db["r"]) == [(7,)]


@pytest.mark.usefixtures("much_time")
def test_an_aggregate_supports_only_the_head_that_is_asked_about() -> None:
    text = f"{RELATIONS} p(1, n) :- b(n). p(x, n) :- p(x, _), n = count : {{ a(_) }}. p(x, n) :- p(x, m), e(m, n)."
    db = opened(text, {"a": [(1,), (2,), (3,)], "b": [(7,)], "e": [(7, 9), (3, 9)]})
    assert sorted(db["p"]) == [(1, 3), (1, 7), (1, 9)]
    db.apply(retract={"b": [(7,)]})
    assert sorted(db["p"]) == []


@pytest.mark.usefixtures("much_time")
def test_a_rule_with_two_heads_may_close_and_read_a_relation() -> None:
    text = f"{RELATIONS} .decl q(x: number, y: number)\np(x, y) :- e(x, y). p(x, z), q(x, z) :- p(x, y), p(y, z)."
    db = opened(text, {"e": [(1, 2), (2, 3), (3, 4)]})
    db.apply(retract={"e": [(1, 2), (2, 3)]})
    assert sorted(db["q"]) == []


@every_way
def test_a_rule_that_cannot_hold_supports_nothing(way: Maintenance) -> None:
    text = '.decl given(x: symbol)\n.decl r(x: symbol)\nr(x) :- given(x). r(x) :- r(x), x < substr(x, 0, 1), x = "é".'
    db = opened(text, {"given": [("é",), ("a",)]}, way)
    db.apply(retract={"given": [("é",)]})
    assert sorted(db["r"]) == [("a",)]


GROUPS = f"""{RELATIONS}
.decl each(x: number, n: number)
.decl some(n: number)
each(x, n) :- a(x), n = count : {{ e(x, _) }}.
each(x, n) :- p(x, n).
some(n) :- a(x), n = count : {{ e(x, _) }}.
r(n) :- some(n).
"""


@every_way
@pytest.mark.usefixtures("much_time")
def test_the_head_of_a_changed_group_stays_where_another_rule_or_another_group_gives_it(
    way: Maintenance, restarts: list[str]
) -> None:
    facts = {"a": [(1,), (2,), (3,)], "e": [(1, 7), (1, 8), (2, 7), (2, 8), (3, 7)], "p": [(1, 2)]}
    db = opened(GROUPS, facts, way)
    delta = db.apply(retract={"e": [(1, 7)]})
    assert sorted(db["each"]) == [(1, 1), (1, 2), (2, 2), (3, 1)]
    assert (sorted(delta["each"].appeared), sorted(delta["each"].vanished)) == ([(1, 1)], [])
    assert sorted(db["some"]) == [(1,), (2,)]
    db.apply(retract={"e": [(2, 7)]})
    assert sorted(db["some"]) == [(1,)]
    db.apply(retract={"a": [(3,)], "e": [(3, 7)]})
    assert sorted(db["each"]) == [(1, 1), (1, 2), (2, 1)]
    assert not restarts


@pytest.mark.usefixtures("much_time")
def test_most_of_a_relation_that_no_rule_reads_again_may_go_at_once(restarts: list[str]) -> None:
    text = f"{RELATIONS} p(x, y) :- a(x), b(y). r(x) :- b(x)."
    db = opened(text, {"a": [(1,)], "b": [(number,) for number in range(5000)]})
    delta = db.apply(retract={"a": [(1,)]})
    assert len(delta["p"].vanished) == 5000
    assert not restarts
    db.apply(insert={"a": [(2,)]})
    assert len(db["p"]) == 5000


def test_a_stratum_that_could_not_derive_anything_before_is_derived_and_not_followed(restarts: list[str]) -> None:
    text = f"{RELATIONS} p(x, y) :- a(x), b(y). r(x) :- b(x)."
    db = opened(text, {"b": [(1,), (2,)]})
    assert len(db["r"]) == 2
    delta = db.apply(insert={"a": [(7,)], "b": [(3,)]})
    assert set(delta["p"].appeared) == {(7, 1), (7, 2), (7, 3)}
    assert restarts == ["p"]
    db.undo()
    assert len(db["p"]) == 0
    assert set(db["r"]) == {(1,), (2,)}
    db.redo()
    db.apply(insert={"a": [(8,)]})
    assert len(db["p"]) == 6
    assert restarts == ["p", "p"]


def test_a_stratum_with_aggregates_is_followed_though_it_could_not_derive_anything_before(restarts: list[str]) -> None:
    db = opened(f"{RELATIONS} p(x, n) :- a(x), n = count : {{ b(_) }}.", {"b": [(1,), (2,)]})
    assert len(db["p"]) == 0
    assert set(db.apply(insert={"a": [(7,)]})["p"].appeared) == {(7, 2)}
    assert not restarts


def test_what_was_tried_in_vain_is_not_tried_again_at_once(
    restarts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "MANY_FACTS", 0)
    monkeypatch.setattr(update, "MUCH", 1.0)
    monkeypatch.setattr(update, "DOUBTFUL", 1.0)
    monkeypatch.setattr(budget, "LOST_ON_TRIES", 1e9)
    tried: list[int] = []
    delete = Update._delete

    def in_vain(
        self: Update, questions: update.StratumQuestions, doubted: Mapping[str, update.Facts], number: int
    ) -> dict[str, update.Facts]:
        if not doubted:
            return delete(self, questions, doubted, number)
        tried.append(len(doubted["r"]))
        raise budget.OverBudget

    monkeypatch.setattr(Update, "_delete", in_vain)
    db = opened(REACH, CIRCLE)
    for edge in ((1, 2), (1, 4), (1, 2)):
        db.apply(retract={"e": [edge]})
        db.apply(insert={"e": [edge]})
    assert restarts == ["r"] * 3
    assert tried == [1, 1], "the second time as much was in doubt as the first; the third time that is made up for"
    assert sorted(db["r"]) == [(1,), (2,), (3,), (4,)]
