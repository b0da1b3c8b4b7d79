"""Late news for a run of parallel production rules."""

from __future__ import annotations

import pytest

import tidelog
from answers import checked_program
from production_answers import tuples
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.errors import OscillationError
from tidelog.facts.change import Change
from tidelog.facts.fact_set import FactSet
from tidelog.maintain.protocol import Limits
from tidelog.production.late.chain_columns import OPEN
from tidelog.production.late.incr_update import revise
from tidelog.production.late.late_run import LateRun

WALK = """\
.production parallel
.decl step(x: number, y: number)
.decl at(x: number)
.decl seen(x: number)
.decl reached(x: number)
.decl far(x: number)
+at(y), -at(x) :- at(x), step(x, y), !seen(y). [name walking]
+seen(x) :- reached(x). [name seeing]
reached(x) :- at(x).
far(x) :- seen(x), x > 2.
step(0, 1). step(1, 2). step(2, 3). step(3, 4). step(4, 5).
at(0).
"""


BY_STATES = WALK
BY_CHAINS = WALK.replace(":- reached(x).", ":- at(x).")
on_both_roads = pytest.mark.parametrize("text", [BY_STATES, BY_CHAINS], ids=["states", "chains"])


def walked(text: str = BY_CHAINS) -> tidelog.Session:
    db = tidelog.open(text)
    db.run()
    return db


@on_both_roads
def test_news_of_the_start_leads_where_a_run_with_it_leads(text: str) -> None:
    db = walked(text)
    delta = db.apply(retract={"step": [(2, 3)]}, at=0)
    assert sorted(db["seen"]) == [(0,), (1,), (2,)]
    assert sorted(db["at"]) == [(2,)]
    assert sorted(delta["at"].appeared) == [(2,)]
    assert list(db["far"]) == []
    db.apply(insert={"step": [(2, 3)]}, at=0)
    assert sorted(db["at"]) == [(5,)]


@on_both_roads
def test_news_of_a_cycle_is_one_more_operation_in_it(text: str) -> None:
    db = walked(text)
    db.apply(insert={"at": [(4,)]}, at=2)
    assert sorted(db["at"]) == [(3,), (5,)]
    assert [record.cycle for record in db.history("at", (4,))] == [0, 2, 3]


@on_both_roads
def test_an_operation_against_one_of_the_rules_cancels_it(text: str) -> None:
    db = walked(text)
    db.apply(retract={"at": [(2,)]}, at=2)
    assert list(db["at"]) == []
    assert sorted(db["seen"]) == [(0,), (1,)]


@on_both_roads
def test_the_history_after_news_is_that_of_the_run_with_it(text: str) -> None:
    db = walked(text)
    db.apply(insert={"step": [(0, 4)]}, at=0)
    fresh = tidelog.open(text + "step(0, 4).\n")
    fresh.run()
    for relation, most in (("at", 6), ("seen", 6)):
        for value in range(most):
            assert db.history(relation, (value,)) == fresh.history(relation, (value,))


@on_both_roads
def test_a_fact_deleted_from_the_input_can_come_again(text: str) -> None:
    db = walked(text)
    for _ in range(2):
        db.apply(retract={"at": [(0,)]}, at=0)
        assert list(db["seen"]) == []
        db.apply(insert={"at": [(0,)]}, at=0)
        assert len(db["seen"]) == 6


@on_both_roads
def test_undo_and_redo_go_back_and_forth_between_the_chains_of_before_and_after_late_news(text: str) -> None:
    db = walked(text)
    facts = [("at", (value,)) for value in range(6)] + [("seen", (value,)) for value in range(6)]

    def chains() -> list[object]:
        return [db.history(*fact) for fact in facts]

    seen = [chains()]
    for change, at in ({"step": [(2, 3)]}, 0), ({"at": [(2,)]}, 2):
        db.apply(retract=change, at=at)
        seen.append(chains())
    assert seen[0] != seen[1] != seen[2]
    for expected in (seen[1], seen[0]):
        db.undo()
        assert chains() == expected
    for expected in (seen[1], seen[2]):
        db.redo()
        assert chains() == expected
    db.undo()
    db.undo()
    db.apply(retract={"step": [(3, 4)]}, at=0)
    assert sorted(db["at"]) == [(3,)]


@on_both_roads
def test_news_that_was_undone_is_not_there_for_later_news(text: str) -> None:
    db = walked(text)
    db.apply(insert={"step": [(8, 9)]}, at=0)
    db.undo()
    db.apply(insert={"at": [(8,)]}, at=0)
    assert sorted(db["at"]) == [(5,), (8,)]


@on_both_roads
def test_late_news_may_come_once_another_change_was_taken_back(text: str) -> None:
    db = walked(text)
    db.apply(insert={"step": [(5, 6)]})
    with pytest.raises(tidelog.UsageError, match="facts or rules were changed since"):
        db.apply(retract={"step": [(3, 4)]}, at=0)
    db.undo()
    with db.whatif(insert={"at": [(8,)]}) as hypothetical:
        hypothetical.run()
        hypothetical.add_rules(".decl lone(x: number) lone(x) :- at(x), !step(x, _).")
    db.apply(insert={"step": []})
    db.apply(insert={"step": [(0, 1)]}, retract={"step": [(7, 7)]})
    db.apply(retract={"step": [(3, 4)]}, at=0)
    assert sorted(db["at"]) == [(3,)]
    db.undo()
    assert sorted(db["at"]) == [(5,)]


def test_undoing_a_run_leaves_nothing_that_late_news_could_revise() -> None:
    db = walked()
    db.undo()
    assert db.history("at", (1,)) == ()
    with pytest.raises(tidelog.UsageError, match="none was made"):
        db.apply(retract={"step": [(0, 1)]}, at=0)
    db.redo()
    db.apply(retract={"step": [(0, 1)]}, at=0)
    assert sorted(db["at"]) == [(0,)]


def test_a_change_of_the_facts_ends_the_run_for_late_news() -> None:
    db = walked()
    db.insert("step", [(5, 6)])
    with pytest.raises(tidelog.UsageError, match="changed since"):
        db.apply(retract={"step": [(0, 1)]}, at=0)


def test_a_cycle_beyond_the_last_is_an_error_that_says_how_many_there_were() -> None:
    db = walked()
    with pytest.raises(tidelog.UsageError, match=r"at=7 is beyond the last cycle: the run had 6\n  hint: without at"):
        db.apply(insert={"at": [(4,)]}, at=7)
    assert sorted(db["at"]) == [(5,)]
    db.apply(retract={"step": [(2, 3)]}, at=0)
    with pytest.raises(tidelog.UsageError, match="the run had 3"):
        db.apply(insert={"at": [(4,)]}, at=4)


@pytest.mark.parametrize(
    ("change", "at", "message"),
    [
        ({"far": [(9,)]}, 0, "to do with 'far'"),
        ({"reached": [(9,)]}, 0, "'reached' is derived"),
        ({"at": [(9,)]}, -1, "number of a cycle"),
        ({"at": [(9,)]}, True, "number of a cycle"),
    ],
)
def test_news_that_no_run_can_take_is_refused(change: dict[str, object], at: int, message: str) -> None:
    db = walked(BY_STATES)
    with pytest.raises(tidelog.UsageError, match=message):
        db.apply(insert=change, at=at)
    assert sorted(db["at"]) == [(5,)]


def test_news_before_a_run_or_for_other_rules_is_refused() -> None:
    with pytest.raises(tidelog.UsageError, match=r"call run\(\) first"):
        tidelog.open(WALK).apply(insert={"at": [(9,)]}, at=0)
    db = tidelog.open(WALK.replace("parallel", "set"))
    with pytest.raises(tidelog.UsageError, match=r"does not say \.production parallel"):
        db.apply(insert={"at": [(9,)]}, at=0)


@on_both_roads
def test_news_that_makes_the_rules_go_round_changes_nothing(text: str) -> None:
    db = walked(text)
    db.add_rules("+at(x) :- seen(x), !at(x), step(9, x). -at(x) :- at(x), step(9, x).")
    db.run()
    before = sorted(db["at"]), sorted(db["seen"])
    with pytest.raises(OscillationError, match="go round"):
        db.apply(insert={"step": [(9, 1)]}, at=0)
    assert (sorted(db["at"]), sorted(db["seen"])) == before
    db.apply(insert={"at": [(8,)]}, at=0)
    assert (8,) in db["seen"]


def test_an_error_of_a_subscriber_takes_the_revision_back() -> None:
    db = walked()

    def refuse(_delta: object) -> None:
        raise ValueError("no")

    subscription = db.subscribe("at", refuse)
    with pytest.raises(ValueError, match="no"):
        db.apply(retract={"step": [(2, 3)]}, at=0)
    assert sorted(db["at"]) == [(5,)]
    subscription.cancel()
    db.apply(retract={"step": [(3, 4)]}, at=0)
    assert sorted(db["at"]) == [(3,)]


def test_chains_have_a_record_only_where_a_count_changed() -> None:
    checked = checked_program(
        ".production parallel .decl e(x: number, y: number) .decl p(x: number, y: number)"
        "+p(x, y) :- e(x, y). +p(x, z) :- p(x, y), e(y, z)."
    )
    given = {"e": to_table([(1, 2), (2, 3), (1, 3)], checked.schemas["e"]), "p": to_table([], checked.schemas["p"])}
    run = LateRun(checked, LocalBackend(checked.schemas), given, Limits())
    assert records_of(run, "p") == [
        (1, 2, 0, OPEN, 1, 0),
        (1, 3, 0, 1, 1, 0),
        (1, 3, 1, OPEN, 2, 0),  # from the second iteration on, p(1, 2) and e(2, 3) ask for it too
        (2, 3, 0, OPEN, 1, 0),
    ]
    revise(run, Change(retracted={"e": to_table([(1, 3)], checked.schemas["e"])}), 0)
    assert records_of(run, "p") == [(1, 2, 0, OPEN, 1, 0), (1, 3, 1, OPEN, 1, 0), (2, 3, 0, OPEN, 1, 0)]
    assert run.cycles == 2


def records_of(run: LateRun, relation: str) -> list[tuple[object, ...]]:
    """The chains of a relation: fact, from when to before when, how often it is added and deleted."""
    rows, _, records = run.chains(relation).everything()
    facts = tuples(run.backend.table(relation, FactSet(rows)))
    columns = zip(records.first, records.last, records.added, records.deleted, strict=True)
    return sorted((*facts[fact], *map(int, numbers)) for fact, numbers in zip(records.facts, columns, strict=True))
