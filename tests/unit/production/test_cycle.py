"""Production rules fire as declared, and a session takes what they do as one change."""

import pytest

import tidelog
from answers import checked_program
from production_answers import states_by_engine
from tidelog.errors import LimitError, OscillationError, UsageError
from tidelog.facts.chain import ChainRecord
from tidelog.maintain.protocol import Limits
from tidelog.production import Firing
from tidelog.production.firing import print_firing
from unit.production.paper_programs import R1, R1_FACTS

DOORS = """
.production set
.decl request(x: number)
.decl closed(x: number)
.decl blocked(x: number)
.decl open(x: number)
.decl free(n: number)
free(n) :- n = count : { open(_) }.
+open(x), -closed(x) :- request(x), closed(x), !blocked(x). [name opening, priority 10]
-request(x) :- request(x), open(x). [name served]
"""
DOOR_FACTS = {"request": [(1,), (2,), (3,)], "closed": [(1,), (2,), (3,), (4,)], "blocked": [(2,)]}


def opened(text: str, facts: dict[str, list[tuple[object, ...]]], **options: object) -> tidelog.Session:
    db = tidelog.open(text, **options)
    for relation, rows in facts.items():
        db.insert(relation, rows)
    return db


def test_a_run_is_one_change_and_derived_relations_follow_it() -> None:
    db = opened(DOORS, DOOR_FACTS)
    delta = db.run()
    assert sorted(db["open"]) == [(1,), (3,)]
    assert sorted(db["closed"]) == [(2,), (4,)]
    assert sorted(db["request"]) == [(2,)]
    assert list(db["free"]) == [(2,)]
    assert sorted(delta["open"].appeared) == [(1,), (3,)]
    db.undo()
    assert sorted(db["request"]) == [(1,), (2,), (3,)]
    assert list(db["open"]) == []


def test_a_run_in_a_what_if_is_taken_back() -> None:
    db = opened(DOORS, DOOR_FACTS)
    with db.whatif(retract={"blocked": [(2,)]}) as hypothetical:
        hypothetical.run()
        assert sorted(hypothetical["open"]) == [(1,), (2,), (3,)]
    assert list(db["open"]) == []


def test_a_run_sees_facts_that_were_retracted_from_the_text() -> None:
    db = tidelog.open(".production set .decl p(x: number) .decl q(x: number) p(1). p(2). +q(x) :- p(x).")
    db.retract("p", [(2,)])
    db.run()
    assert list(db["q"]) == [(1,)]


def test_rules_of_higher_priority_fire_first_and_each_firing_is_told() -> None:
    told: list[str] = []
    opened(DOORS, DOOR_FACTS).run(lambda firing: told.extend(print_firing(firing)))
    assert told == [
        "cycle 1: opening (<text>:9)",
        "  for x = 1",
        "  for x = 3",
        "  -closed(1)",
        "  -closed(3)",
        "  +open(1)",
        "  +open(3)",
        "cycle 2: served (<text>:10)",
        "  for x = 1",
        "  for x = 3",
        "  -request(1)",
        "  -request(3)",
    ]


def test_a_fact_that_one_firing_inserts_and_deletes_stays_as_it_was() -> None:
    text = ".production set .decl p(x: number) .decl q(x: number) +q(1), -q(x) :- p(x)."
    assert states_by_engine(checked_program(text), {"p": [(1,)], "q": [(1,)]}) == (
        frozenset({("p", (1,)), ("q", (1,))}),
    )
    last = states_by_engine(checked_program(text), {"p": [(2,)], "q": [(2,)]})[-1]
    assert last == {("p", (2,)), ("q", (1,))}


def test_rules_in_parallel_cancel_each_other() -> None:
    text = ".production parallel .decl p(x: number) .decl q(x: number) +q(x) :- p(x). -q(x) :- p(x), x > 1."
    last = states_by_engine(checked_program(text), {"p": [(1,), (2,)]})[-1]
    assert last == {("p", (1,)), ("p", (2,)), ("q", (1,))}


def test_one_instance_at_a_time_the_least_first() -> None:
    text = ".production instance .decl p(x: number) .decl q(x: number) +q(x), -p(x) :- p(x)."
    firings: list[Firing] = []
    db = opened(text, {"p": [(3,), (-1,), (2,)]})
    db.run(firings.append)
    bound = [row for firing in firings for table in firing.fired[0].instances for row in table.to_pylist()]
    assert bound == [{"x": -1}, {"x": 2}, {"x": 3}]


def test_the_history_of_a_fact_says_when_it_came_and_went_and_by_which_rule() -> None:
    text = """
    .production set
    .decl p(x: number) .decl q(x: number)
    +q(x) :- p(x). [name copy, priority 2]
    -q(x) :- q(x), x > 1. [name cut, priority 1]
    -p(x) :- p(x), x > 1. [name end, priority 3]
    """
    db = opened(text, {"p": [(1,), (2,)], "q": [(2,), (5,)]})
    db.run()
    assert db.history("q", (1,)) == (ChainRecord(0, is_there=False), ChainRecord(2, is_there=True, rules=("copy",)))
    assert db.history("q", (2,)) == (ChainRecord(0, is_there=True), ChainRecord(3, is_there=False, rules=("cut",)))
    assert db.history("p", (2,)) == (ChainRecord(0, is_there=True), ChainRecord(1, is_there=False, rules=("end",)))
    assert db.history("p", (1,)) == ()


def test_a_fact_that_comes_and_goes_again_and_again_has_a_record_for_each() -> None:
    text = """
    .production parallel
    .decl on() .decl step(n: number) .decl at(n: number)
    at(0).
    +at(m), -at(n) :- at(n), n < 4, m = n + 1.
    +on() :- at(n), n % 2 = 0, n < 4. [name up]
    -on() :- at(n), n % 2 = 1. [name down]
    """
    db = opened(text, {})
    db.run()
    assert [(one.cycle, one.is_there) for one in db.history("on", ())] == [
        (0, False), (1, True), (2, False), (3, True), (4, False),
    ]  # fmt: skip
    assert {one.rules for one in db.history("on", ()) if one.is_there} == {("up",)}


def test_rules_that_go_round_are_named_and_nothing_is_changed() -> None:
    db = opened(".production set .decl p(x: number) +p(1) :- !p(1). [name on]\n-p(1) :- p(1). [name off]", {})
    with pytest.raises(OscillationError) as caught:
        db.run()
    assert str(caught.value).splitlines() == [
        "the production rules go round: after cycle 3 the facts are what they were 2 cycles before",
        "    <text>:2: -p(1) :- p(1). [name off]",
        "      -p(1)",
        "    <text>:1: +p(1) :- !p(1). [name on]",
        "      +p(1)",
        "  hint: let one of these rules ask for something that its firing ends, or remove one of them",
    ]
    assert list(db["p"]) == []


def test_a_long_way_round_is_found_too() -> None:
    text = """
    .production instance
    .decl at(x: number) .decl next(x: number, y: number)
    +at(y), -at(x) :- at(x), next(x, y).
    """
    ring = [(number, (number + 1) % 37) for number in range(37)] + [(100, 0)]
    with pytest.raises(OscillationError, match="37 cycles before"):
        opened(text, {"at": [(100,)], "next": ring}).run()


def test_rules_that_never_end_reach_a_limit_that_names_them() -> None:
    text = ".production set .decl p(x: number) p(0). +p(y) :- p(x), y = x + 1."
    db = tidelog.open(text, limits=Limits(rounds=20))
    with pytest.raises(LimitError, match=r"(?s)limit of 20 cycles.*fired last:.*<text>:1: \+p\(y\)"):
        db.run()
    assert list(db["p"]) == [(0,)]


def test_a_program_without_production_rules_has_nothing_to_run() -> None:
    with pytest.raises(UsageError, match=r"has no \.production"):
        tidelog.open(".decl p(x: number)").run()


def test_the_rule_of_section_3_1_goes_on_until_its_conflict_set_is_empty() -> None:
    states = states_by_engine(checked_program(R1.replace("instance", "set")), R1_FACTS)
    assert {row for name, row in states[-1] if name == "C"} == {
        ("gamma", 0, 1),
        ("gamma", 0, 3),
        ("gamma", 2, 3),
        ("gamma", 3, 1),
        ("gamma", 3, 3),
    }


def test_a_session_hands_what_ordinary_rules_derive_to_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("derived a second time")

    db = tidelog.open(
        ".production set .decl edge(x: number, y: number) .decl path(x: number, y: number) .decl far(x: number) "
        "edge(1, 2). edge(2, 3). path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z). "
        "+far(y) :- path(1, y), !edge(1, y)."
    )
    monkeypatch.setattr("tidelog.production.cycle.Materialization", refuse)
    db.run()
    assert list(db["far"]) == [(3,)]
    assert db.history("far", (3,)) == (ChainRecord(0, False), ChainRecord(1, True, ("rule 5",)))


def test_who_hears_of_firings_may_read_but_not_change() -> None:
    db = tidelog.open(".production set\n.decl p(x: number) .decl q(x: number) p(1). +q(x) :- p(x).")
    with pytest.raises(tidelog.UsageError, match="may read but not change"):
        db.run(lambda _: db.insert("p", [(2,)]))
    assert list(db["p"]) == [(1,)]
    assert list(db["q"]) == []
    with pytest.raises(tidelog.UsageError, match="expected a function that takes a firing"):
        db.run(3)  # type: ignore[arg-type]
    db.run(lambda firing: print(firing, db["q"].rows()))


def test_what_is_derived_has_no_history_of_its_own() -> None:
    db = tidelog.open(".production set\n.decl p(x: number) .decl q(x: number) q(x) :- p(x). p(1). -p(x) :- q(x).")
    db.run()
    assert len(db.history("p", (1,))) == 2
    with pytest.raises(tidelog.UsageError, match="'q' is derived"):
        db.history("q", (1,))
