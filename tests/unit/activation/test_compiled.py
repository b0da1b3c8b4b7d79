"""Compiled kernels of the yield index do what plain ones do."""

from __future__ import annotations

import random

import pytest

from tidelog.activation.dump import data_index
from tidelog.schema import Attribute, Kind, Schema
from unit.activation.test_figures import numbers
from unit.activation.watching import watcher_of
from unit.kernels.forms import TIERS, tier

TEXT = numbers(q=3, a=1, b=2, c=2) + (
    "q(x, y, z) :- b(x, y), c(y, z), !a(z), x < z.\n"
    "q(x, y, 0) :- b(x, y), b(y, x), !c(x, _).\n"
    "q(x, x, 1) :- b(x, x), a(_), c(2, x).\n"
)


def replayed(name: str) -> tuple[list[object], object]:
    """All matches of a random script and the index in the end, in one form of the kernels."""
    draw = random.Random(5)
    with tier(name):
        watcher, _ = watcher_of(TEXT)
        found: list[object] = []
        for _ in range(1500):
            relation, arity = draw.choice([("a", 1), ("b", 2), ("c", 2)])
            row = tuple(draw.randrange(-3, 6) for _ in range(arity))
            found.append((watcher.insert if draw.random() < 0.6 else watcher.delete)(relation, row))
        index = [data_index(watcher.index, *column) for column in (("a", 0), ("b", 0), ("b", 1), ("c", 0), ("c", 1))]
        return found, (index, watcher.index.accesses())


def replayed_with_watches_that_come_and_go(name: str) -> list[object]:
    """All matches of a random script in which watches are added and removed between tuples that come by themselves."""
    draw = random.Random(7)
    with tier(name):
        watcher, _ = watcher_of(TEXT)
        rules = [watcher.index.rules[number] for number in watcher.rules[0]]
        found: list[object] = []
        for step in range(600):
            relation, arity = draw.choice([("a", 1), ("b", 2), ("c", 2)])
            row = tuple(draw.randrange(6) for _ in range(arity))
            found.append((watcher.insert if draw.random() < 0.6 else watcher.delete)(relation, row))
            if step % 50 == 20:
                watcher.add_watch([draw.choice(rules)], (Kind.NUMBER,) * 3)
            if step % 100 == 80:
                watcher.remove_watch(draw.randrange(len(watcher.rules)))
            if step == 300:
                watcher.add_relation(Schema("wide", tuple(Attribute(name, "number", Kind.NUMBER) for name in "xyzw")))
        return found


@pytest.mark.skipif(len(TIERS) < 2, reason="there is only the plain form")
def test_a_tuple_by_itself_sees_the_watches_there_are_in_both_forms_of_the_kernels():
    plain, compiled = map(replayed_with_watches_that_come_and_go, TIERS)
    assert plain == compiled
    assert {match.watch for matches in plain for match in matches} >= {0, 1, 5}


@pytest.mark.skipif(len(TIERS) < 2, reason="there is only the plain form")
def test_both_forms_of_the_kernels_give_the_same_matches_and_the_same_index():
    plain, compiled = map(replayed, TIERS)
    assert plain == compiled
    assert sum(map(len, plain[0])) > 500
