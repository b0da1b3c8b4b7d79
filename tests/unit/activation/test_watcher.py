"""Corners of activation that the random rules meet too seldom."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tidelog.activation.baselines import JoinIndex, Structure
from tidelog.activation.codes import Codes
from tidelog.activation.protocol import Arrivals
from tidelog.kernels import watch_program as join
from tidelog.schema import Kind
from unit.activation.test_figures import events, numbers
from unit.activation.watching import rules_for, watcher_of
from unit.kernels.forms import TIERS, tier


def test_a_match_through_a_tuple_in_two_places_begins_and_ends_once():
    watcher, _ = watcher_of(numbers(q=3, e=2) + "q(x, y, z) :- e(x, y), e(y, z).\n")
    steps = [("+", "e", 1, 1), ("+", "e", 1, 1), ("+", "e", 1, 2), ("-", "e", 1, 1), ("-", "e", 1, 1)]
    assert events(watcher, steps) == [*([("+", 1, 1, 1)], [], [("+", 1, 1, 2)], [("-", 1, 1, 1), ("-", 1, 1, 2)], [])]
    assert watcher.index.statistics[0, [join.BEGUN, join.ENDED]].tolist() == [2, 2]


def test_a_negated_literal_ends_a_match_when_its_first_tuple_comes_and_begins_it_when_the_last_goes():
    watcher, _ = watcher_of(numbers(q=1, p=1, s=2) + "q(x) :- p(x), !s(x, _).\n")
    steps = [("+", "p", 1), ("+", "s", 1, 7), ("+", "s", 1, 8), ("-", "s", 1, 7), ("-", "s", 1, 8)]
    assert events(watcher, steps) == [[("+", 1)], [("-", 1)], [], [], [("+", 1)]]


def test_a_row_that_only_changes_its_reason_neither_begins_nor_ends():
    watcher, _ = watcher_of(numbers(q=0, e=2) + "q() :- e(x, y), !e(y, x), x != y.\nq() :- e(x, x).\n")
    steps = [("+", "e", 1, 2), ("+", "e", 1, 1), ("+", "e", 2, 1), ("-", "e", 1, 1)]
    assert events(watcher, steps) == [[("+",)], [], [], [("-",)]]


def test_a_tuple_without_a_partner_costs_one_search_for_each_constrained_column_and_no_tuple():
    watcher, _ = watcher_of(
        numbers(q=2, near=2, use=2, request=2) + "q(x, y) :- near(x, z), use(x, z), request(z, y).\n"
    )
    events(watcher, [("+", "near", 1, 2), ("+", "near", 1, 3)])
    accesses = watcher.index.accesses()
    assert (accesses.searches, accesses.tuples) == (4, 0)
    events(watcher, [("+", "use", 1, 2), ("+", "request", 2, 5)])
    assert watcher.index.accesses().tuples == 2  # of the one match, besides the tuple that completes it


def test_more_columns_than_a_page_has_are_joined_all_the_same():
    names = [f"r{at}" for at in range(12)]
    text = numbers(q=1, **dict.fromkeys(names, 1)) + f"q(x) :- {', '.join(f'{name}(x)' for name in names)}.\n"
    watcher, _ = watcher_of(text)
    steps = [("+", name, 4) for name in reversed(names)]
    assert events(watcher, steps) == [*([[]] * 11), [("+", 4)]]
    assert events(watcher, [("-", "r5", 4), ("+", "r5", 4)]) == [[("-", 4)], [("+", 4)]]


def test_all_columns_of_a_variable_share_the_entries_of_its_values():
    text = numbers(q=1, p1=2, p2=2, p3=2) + "q(x) :- p1(x, z), p2(_, z), p3(_, z).\n"
    watcher, checked = watcher_of(text)
    other = JoinIndex(Codes(), Structure.FILTERS)
    for rule in rules_for(checked, "q"):
        for name in ("p1", "p2", "p3"):
            other.add_relation(checked.schemas[name])
        other.add_rule(rule)
    for number, name in enumerate(("p1", "p2", "p3")):
        events(watcher, [("+", name, at, at % 10) for at in range(30)])
        rows = np.array([(at, at % 10) for at in range(30)])
        other.apply(Arrivals(np.full(30, number, np.int32), np.ones(30, np.int8), rows))
    assert watcher.index.size().entries == 10 + 90  # the values, and each tuple under one
    assert other.size().entries == 30 + 90


def test_columns_that_are_joined_meet_on_one_page_though_others_come_between():
    declared = numbers(q=1, **{f"r{at}": 2 for at in range(8)})
    joins = "".join(f"q(x) :- r{at}(x, _), r{at + 4}(_, x).\n" for at in range(4))
    watcher, _ = watcher_of(declared + joins)
    events(watcher, [("+", f"r{at}", 1, 1) for at in range(8)])
    assert watcher.index.accesses().searches == 8  # one for each tuple: its own place is that of its partners


def test_codes_keep_equality_and_the_order_of_numbers():
    codes = Codes()
    cases = {
        Kind.NUMBER: [-(2**63), -1, 0, 2**63 - 1],
        Kind.UNSIGNED: [0, 1, 2**63, 2**64 - 1],
        Kind.FLOAT: [float("-inf"), -1.5, -1e-300, 0.0, 1e-300, 2.0, float("inf")],
    }
    for kind, values in cases.items():
        found = [codes.of_value(value, kind) for value in values]
        assert found == sorted(set(found))
    assert codes.of_value(-0.0, Kind.FLOAT) == codes.of_value(0.0, Kind.FLOAT)
    assert codes.of_value("é", Kind.SYMBOL) == codes.of_value("é", Kind.SYMBOL) != codes.of_value("", Kind.SYMBOL)


def test_a_tuple_that_makes_two_negated_literals_false_ends_a_match_once():
    watcher, _ = watcher_of(numbers(q=1, p=1, s=2) + "q(x) :- p(x), !s(x, _), !s(_, x).\n")
    assert events(watcher, [("+", "p", 1), ("+", "s", 1, 1), ("-", "s", 1, 1)]) == [[("+", 1)], [("-", 1)], [("+", 1)]]
    assert watcher.index.statistics[0, [join.BEGUN, join.ENDED]].tolist() == [2, 1]


@pytest.mark.parametrize("form", TIERS)
def test_an_arrival_with_more_matches_than_there_is_room_for_begins_and_ends_each_once(form):
    steps = [("b", 1, y) for y in range(200)] + [("a", 1, 7)] + [("b", 1, y) for y in range(200, 1100)]
    steps += [("c", 1, 5), ("a", -1, 7), ("c", -1, 5), ("a", 1, 8)]
    with tier(form):
        watcher, _ = watcher_of(numbers(q=2, a=1, b=1, c=1) + "q(x, y) :- a(x), b(y), !c(y).\n")
        relations, signs, values = zip(*steps, strict=True)
        numbered = np.array([watcher.index.relations[relation] for relation in relations], np.int32)
        rows = np.array(values, np.int64).reshape(-1, 1)
        found = watcher.read(watcher.apply(Arrivals(numbered, np.array(signs, np.int8), rows)))
    told = [(match.arrival, match.begins, *match.row) for match in found]
    assert len(told) == len(set(told))
    later = dict.fromkeys(((at, True) for at in range(201, 1101)), 1)
    counts = {(200, True): 200, **later, (1101, False): 1, (1102, False): 1099, (1104, True): 1100}
    assert Counter((arrival, begins) for arrival, begins, *_ in told) == counts


@pytest.mark.parametrize("form", TIERS)
def test_a_tuple_that_ends_more_matches_than_there_is_room_for_is_stored_all_the_same(form):
    with tier(form):
        watcher, _ = watcher_of(numbers(q=1, a=1, b=1, c=1) + "q(x) :- a(x), b(y), !c(y).\n")
        events(watcher, [("+", "b", 5), *(("+", "a", x) for x in range(200))])
        told = events(watcher, [("+", "c", 5), ("+", "c", 5), ("-", "c", 5), ("-", "c", 5)])
    assert told == [[("-", x) for x in range(200)], [], [("+", x) for x in range(200)], []]


@pytest.mark.parametrize("form", TIERS)
def test_a_rule_that_comes_after_the_tuples_finds_every_match_of_them(form):
    text = numbers(q=2, a=2, b=1) + "q(x, y) :- a(3, x), b(y), x != y.\n"
    with tier(form):
        watcher, checked = watcher_of(text)
        events(watcher, [("+", "a", at % 4, at) for at in range(40)] + [("+", "b", at) for at in range(20)])
        later = watcher.index.add_rule(rules_for(checked, "q")[0])
        found = watcher.index.matches(later)
    wanted = {(x, y) for x in range(3, 40, 4) for y in range(20) if x != y}
    assert sorted(map(tuple, found.heads.tolist())) == sorted(wanted)
    assert set(found.arrivals.tolist()) == {0}
