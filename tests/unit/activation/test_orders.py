"""Literals that only an order joins are found through it, and the index has no history there either."""

from __future__ import annotations

import random

import pytest

from tidelog.activation.baselines import JoinIndex, Structure
from tidelog.activation.codes import Codes
from tidelog.activation.elements import ordered_places
from tidelog.activation.yield_index import YieldIndex
from unit.activation.test_baselines import arrivals, plain, prepared
from unit.activation.test_figures import events, numbers
from unit.activation.watching import rules_for, watcher_of
from unit.kernels.forms import TIERS, tier

RULES = [
    "q(x, y) :- b(x, t), c(y, u), t {} u.",
    "q(x, y) :- b(x, t), c(x, u), t {} u, d(y).",
    "q(t, u) :- b(x, t), c(y, u), d(z), t {} u, z < t, z != x.",
    "q(t, u) :- b(1, t), b(2, u), t {} u, !c(t, u).",
]


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "!="])
@pytest.mark.parametrize("form", TIERS)
def test_an_order_finds_what_reading_everything_finds(form, operator):
    draw = random.Random(6)
    text = numbers(q=2, b=2, c=2, d=1) + "\n".join(rule.format(operator) for rule in RULES) + "\n"
    with tier(form):
        ours, other = YieldIndex(Codes()), JoinIndex(Codes(), Structure.NO_INDEX)
        relations = prepared(ours, text)
        assert prepared(other, text) == relations
        for _ in range(4):
            script = []
            for _ in range(40):
                number, arity = draw.choice(list(relations.values()))
                row = tuple(draw.choice([0, 1, 1, 2, 7, -9]) for _ in range(arity))
                script.append((number, row, draw.choice([1, 1, -1])))
            batch = arrivals(script)
            assert plain(ours.apply(batch)) == plain(other.apply(batch))
        for rule in range(len(RULES)):
            assert plain(ours.matches(rule)) == plain(other.matches(rule))


def test_an_order_alone_leads_to_the_partners_and_to_no_other_tuple():
    watcher, _ = watcher_of(numbers(q=2, sent=2, seen=2) + "q(x, y) :- sent(x, t), seen(y, u), u > t.\n")
    events(watcher, [("+", "seen", at, at) for at in range(500)])
    before = watcher.index.accesses()
    assert events(watcher, [("+", "sent", 9, 497), ("+", "sent", 9, 600)]) == [[("+", 9, 498), ("+", 9, 499)], []]
    read = watcher.index.accesses()
    assert read.tuples - before.tuples == 2
    assert read.entries - before.entries < 80


def test_the_shorter_of_a_list_and_an_order_is_followed():
    text = numbers(q=2, b=2, c=2) + "q(t, u) :- b(x, t), c(x, u), t < u.\n"
    watcher, _ = watcher_of(text)
    events(watcher, [("+", "c", 1, at) for at in range(400)])
    before = watcher.index.accesses().entries
    assert events(watcher, [("+", "b", 1, 398)]) == [[("+", 398, 399)]]
    assert watcher.index.accesses().entries - before < 60
    before = watcher.index.accesses().entries
    assert events(watcher, [("+", "b", 2, 0)]) == [[]]
    assert watcher.index.accesses().entries - before < 20


def test_what_a_value_must_not_be_is_passed_over_as_a_whole():
    watcher, _ = watcher_of(numbers(q=1, b=1, c=2) + "q(y) :- b(x), c(y, u), x != u.\n")
    events(watcher, [("+", "c", at, 5) for at in range(300)])
    events(watcher, [("+", "c", 1, 6)])
    before = watcher.index.accesses().entries
    assert events(watcher, [("+", "b", 5)]) == [[("+", 1)]]
    assert watcher.index.accesses().entries - before < 30


def test_orders_are_kept_for_columns_that_an_order_joins_and_no_others():
    _, checked = watcher_of(
        numbers(q=1, b=2, c=2)
        + "q(x) :- b(x, y), c(z, w), y < w, x > 3, x <= y.\nq(x) :- b(x, y), c(x, w), y != w.\n"
        + "q(x) :- b(x, y), c(z, w), y != w.\nq(x) :- b(x, y), c(x, w), y >= w, !b(y, w).\n"
    )
    places = [sorted((at.literal, at.column) for at in ordered_places(rule)) for rule in rules_for(checked, "q")]
    assert places == [[(0, 1), (1, 1)], [], [(0, 1), (1, 1)], [(0, 1), (1, 1)]]


def test_a_rule_that_needs_an_order_may_come_after_the_tuples():
    text = numbers(q=2, b=2, c=2)
    watcher, _ = watcher_of(text + "q(x, y) :- b(x, t), c(y, t).\n")
    events(watcher, [("+", "c", at, at) for at in range(40)])
    _, checked = watcher_of(text + "q(x, y) :- b(x, t), c(y, u), t >= u.\n")
    watcher.add_watch(rules_for(checked, "q"), checked.schemas["q"].kinds)
    assert events(watcher, [("+", "b", 7, 1)]) == [[("+", 7, 0), ("+", 7, 1), ("+", 7, 1)]]


def test_the_lowest_and_the_highest_number_bound_nothing_beyond_them():
    watcher, _ = watcher_of(numbers(q=2, b=1, c=1) + "q(x, y) :- b(x), c(y), x < y.\n")
    lowest, highest = -(2**63), 2**63 - 1
    assert events(watcher, [("+", "b", highest), ("+", "c", lowest), ("+", "c", highest), ("+", "b", lowest)]) == [
        *([], [], [], [("+", lowest, highest)])
    ]
    assert events(watcher, [("-", "c", highest), ("+", "c", 0)]) == [[("-", lowest, highest)], [("+", lowest, 0)]]
