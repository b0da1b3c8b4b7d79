"""`Session.watch`: what callbacks hear, and what becomes of a change when one raises."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.errors import ProgramError, UsageError
from tidelog.world.watches import OnError

PROGRAM = """\
.decl near(person: symbol, device: number)
.decl uses(person: symbol, device: number)
.decl request(device: number, channel: symbol)
.decl link(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- link(x, y).
path(x, z) :- path(x, y), link(y, z).
"""
ALERT = "alert(p) :- near(p, d), uses(p, d), request(d, _)."


@pytest.fixture
def db():
    with tidelog.open(PROGRAM) as session:
        yield session


def heard(session, rule):
    told = []
    session.watch(rule, on_match=lambda match: told.append(("+" if match.begins else "-", *match.row)))
    return told


def test_a_callback_hears_what_begins_and_ends_after_each_change(db):
    db.insert("near", [("ann", 1)])
    told = heard(db, ALERT)
    db.insert("uses", [("ann", 1)])
    db.insert("request", [(1, "c"), (1, "d")])
    assert told == [("+", "ann")]
    db.retract("request", [(1, "c")])
    assert told == [("+", "ann")]
    db.retract("request", [(1, "d")])
    db.undo()
    assert told == [("+", "ann"), ("-", "ann"), ("+", "ann")]


def test_what_holds_already_does_not_begin_and_a_change_as_a_whole_is_told_once(db):
    db.apply(insert={"near": [("ann", 1)], "uses": [("ann", 1)], "request": [(1, "c")]})
    told = heard(db, ALERT)
    db.apply(insert={"request": [(1, "d")]}, retract={"request": [(1, "c")]})
    with db.whatif(retract={"near": [("ann", 1)]}):
        pass
    assert told == []
    db.apply(retract={"near": [("ann", 1)]})
    assert told == [("-", "ann")]


def test_derived_relations_can_be_watched_recursive_ones_too(db):
    told = heard(db, "loop(x) :- path(x, x), !near(_, x).")
    db.insert("link", [(1, 2), (2, 1)])
    assert sorted(told) == [("+", 1), ("+", 2)]
    db.insert("near", [("ann", 2)])
    db.retract("link", [(2, 1)])
    assert told[2:] == [("-", 2), ("-", 1)]


def test_a_cancelled_watch_is_silent_while_others_go_on(db):
    told = heard(db, "here(p) :- near(p, _).")
    with db.watch("there(p) :- near(p, _).", on_match=lambda _: told.append("not any more")):
        pass
    db.insert("near", [("ann", 1)])
    assert told == [("+", "ann")]


def test_an_error_in_a_callback_names_rule_and_row_and_leaves_the_change_applied(db):
    told = heard(db, "here(p) :- near(p, _).")

    def fail(_):
        raise ValueError("no")

    db.watch("bad(p) :- near(p, _).", on_match=fail)
    told_later = heard(db, "later(p) :- near(p, _).")
    with pytest.raises(ValueError) as raised:
        db.insert("near", [("ann", 1)])
    assert raised.value.__notes__ == [
        "raised for <begins: bad('ann',)> by the callback of <watch: bad(p) :- near(p, _).>; "
        "the change behind it stays applied"
    ]
    assert db["near"].rows() == [("ann", 1)]
    assert (told, told_later) == ([("+", "ann")], [])
    with pytest.raises(ValueError):
        db.retract("near", [("ann", 1)])
    assert told == [("+", "ann"), ("-", "ann")]


def test_others_hear_of_a_change_when_a_watch_that_raises_was_told_to_continue(db):
    def fail(_):
        raise ValueError("no")

    db.watch("bad(p) :- near(p, _).", on_match=fail, on_error=OnError.CONTINUE)
    told = heard(db, "later(p) :- near(p, _).")
    with pytest.raises(ExceptionGroup) as raised:
        db.insert("near", [("ann", 1), ("bob", 1)])
    assert len(raised.value.exceptions) == 2
    assert sorted(told) == [("+", "ann"), ("+", "bob")]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("a(y) :- near(_, x), y = x + 1.", "cannot compute '+'"),
        ("a(n) :- near(_, _), n = count : { uses(_, _) }.", "cannot aggregate ('count')"),
        ('a(p) :- near(p, _), p < "b".', "cannot compare the order of symbols"),
        ('a(p) :- near(p, _), match("a.*", p).', "cannot call 'match'"),
        ("a() :- !near(_, _).", "needs a relation in its body that is not negated"),
        ("a(x) :- !near(x, 1).", "variable 'x' is not bound"),
        ("a(x) :- nera(x, 1).", "did you mean 'near'"),
        ("a(x) :- link(x, _). b(x) :- link(x, _).", "one head, 'a'"),
        ("a(x), b(x) :- link(x, _).", "one head, 'a'"),
        ("a(x) :- link(x, _). a(1).", "this is a fact"),
        ("+a(x) :- link(x, _).", "its head has no sign"),
        ("a(x, y) :- link(x, y). a(x, z) :- (link(x, y), a(y, z) ; link(z, x)).", "cannot read 'a'"),
    ],
)
def test_a_rule_that_no_tuple_can_decide_is_refused_with_the_reason_and_what_to_do(db, rule, said):
    with pytest.raises(ProgramError) as raised:
        db.watch(rule, on_match=print)
    assert said in str(raised.value)
    assert "hint: " in str(raised.value)


@pytest.mark.parametrize("text", ["", ".decl a(x: number)", "a(1)."])
def test_text_that_is_no_rule_is_refused(db, text):
    with pytest.raises(UsageError, match="expected a rule to watch"):
        db.watch(text, on_match=print)


def test_alternatives_and_several_rules_of_one_head_are_one_watch(db):
    told = heard(db, "a(x) :- link(x, _) ; near(_, x). a(x) :- request(x, _).")
    db.insert("link", [(1, 2)])
    db.insert("near", [("ann", 1)])
    db.retract("link", [(1, 2)])
    assert told == [("+", 1)]
    db.retract("near", [("ann", 1)])
    assert told == [("+", 1), ("-", 1)]


def test_what_a_callback_changes_is_told_behind_what_was_to_be_told_by_then(db):
    told = []

    def grow(match):
        told.append((match.row, match.begins))
        if match.row == (1,):
            db.apply(insert={"link": [(4, 4)]}, retract={"link": [(2, 2)]})

    db.watch("here(x) :- link(x, x).", on_match=grow)
    db.insert("link", [(1, 1), (2, 2), (3, 3)])
    assert told == [((1,), True), ((2,), True), ((3,), True), ((2,), False), ((4,), True)]


def test_callbacks_that_change_the_session_again_and_again_come_to_an_end(db):
    db.watch("next(y) :- link(_, y).", on_match=lambda match: match.row < (2_000,) and follow(match.row[0]))

    def follow(node):
        db.insert("link", [(0, node + 1)])

    db.remove_rules("path(x, z) :- path(x, y), link(y, z).")
    db.insert("link", [(0, 1)])
    assert len(db["link"]) == 2_000


def test_a_watch_is_not_made_where_facts_are_not_settled(db):
    def watch(_):
        db.watch("here(p) :- near(p, _).", on_match=print)

    with db.whatif(insert={"near": [("ann", 1)]}), pytest.raises(UsageError, match="what-if"):
        watch(None)
    with db.subscribe("near", watch), pytest.raises(UsageError, match="where facts are settled"):
        db.insert("near", [("ann", 1)])
    told = heard(db, "both(p) :- near(p, d), uses(p, d).")
    db.insert("uses", [("ann", 1)])
    assert told == []


@pytest.mark.parametrize("on_error", ["continue", "stop", None])
def test_what_to_do_on_an_error_is_said_by_its_name(db, on_error):
    with pytest.raises(UsageError, match=r"OnError\.CONTINUE"):
        db.watch("here(p) :- near(p, _).", on_match=print, on_error=on_error)


def test_a_relation_that_is_declared_anew_with_other_columns_can_be_watched(db):
    db.materialize()
    near = heard(db, "here(p) :- near(p, _).")
    db.add_rules(".decl boss(a: number)")
    with db.watch("boss_(a) :- boss(a).", on_match=print):
        pass
    db.undo()
    db.add_rules(".decl boss(a: symbol, b: symbol)")
    told = heard(db, "peers(a) :- boss(a, b), boss(b, a).")
    db.insert("near", [("ann", 1)])
    db.insert("boss", [("a", "b"), ("b", "a")])
    assert sorted(told) == [("+", "a"), ("+", "b")]
    assert near == [("+", "ann")]


def test_a_watched_relation_may_go_and_come_back_but_not_with_other_columns(db):
    db.materialize()
    db.add_rules(".decl boss(a: number)")
    told = heard(db, "heads(a) :- boss(a).")
    db.insert("boss", [(1,)])
    db.undo()
    db.undo()
    assert told == [("+", 1), ("-", 1)]
    with pytest.raises(UsageError, match=r"reads boss\(a: number\), which would become boss\(a: symbol\): cancel"):
        db.add_rules(".decl boss(a: symbol)")
    assert "boss" not in db
    db.add_rules(".decl chief(a: number)")
    with db.watch("chiefs(a) :- chief(a).", on_match=print):
        pass
    db.undo()
    db.add_rules(".decl chief(a: symbol)")
    heard(db, "chiefs(a) :- chief(a).")
    db.add_rules(".decl boss(a: number)")
    db.insert("boss", [(2,)])
    assert told == [("+", 1), ("-", 1), ("+", 2)]


ROUTES = ".decl link(from: symbol, @to: symbol)\n.decl path(@from: symbol, to: symbol)\n.decl closed(@at: symbol)\n"
ROUTE = "route(x, y) :- link(x, a), path(a, y), !closed(_)."


def test_a_watch_at_a_place_reads_the_tuples_that_are_stored_there():
    with tidelog.open(ROUTES) as session:
        told = {place: [] for place in ("n1", "n2")}
        for place, heard_there in told.items():
            session.watch(
                ROUTE, on_match=lambda match, to=heard_there: to.append((match.begins, *match.row)), location=place
            )
        session.insert("link", [("s", "n1"), ("s", "n2")])
        session.insert("path", [("n1", "t"), ("n2", "u")])
        session.insert("closed", [("n2",), ("n3",)])
    assert told == {"n1": [(True, "s", "t")], "n2": [(True, "s", "u"), (False, "s", "u")]}


@pytest.mark.parametrize(
    ("declared", "place", "what"),
    [
        (".decl a(x: number)", 1, "no relation says where its tuples are stored"),
        (
            ".decl a(@x: number)",
            "n1",
            r"column 'x' of a\(x: number\) says where tuples are: a location is of type number, not 'n1'",
        ),
        (".decl a(@x: number)", True, "a location is of type number, not True"),
        (".decl a(@x: unsigned)", -1, "a location is of type unsigned, not -1"),
        (".decl a(@x: unsigned)", 2**64, "a location is of type unsigned, not 18446744073709551616"),
        (".decl a(@x: float)", 10**400, "a location is of type float, not 1000"),
        (".decl a(@x: number)", 2**63, "a location is of type number, not 9223372036854775808"),
        (
            ".decl a(@x: number)\n.decl b(@x: symbol)",
            1,
            r"of one kind, but column 'x' of b\(x: symbol\) holds no number",
        ),
    ],
)
def test_a_place_at_which_no_tuple_can_be_is_an_error(declared, place, what):
    with tidelog.open(declared) as session, pytest.raises(UsageError, match=what):
        session.watch("q(x) :- a(x).", on_match=print, location=place)
