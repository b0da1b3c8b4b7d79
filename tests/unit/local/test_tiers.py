"""Plain Python, compiled kernels and threads give the same rows for whole programs."""

from __future__ import annotations

import pytest

import tidelog
from tidelog import Tier
from tidelog.errors import EvaluationError
from unit.kernels.forms import TIERS, tier

PROGRAMS = {
    "reachable": """
        .decl edge(x: number, y: number)
        .decl out(x: number, y: number)
        out(x, y) :- edge(x, y).
        out(x, z) :- out(x, y), edge(y, z).
    """,
    "both sides grow": """
        .decl edge(x: number, y: number)
        .decl out(x: number, y: number)
        out(x, y) :- edge(x, y).
        out(x, z) :- out(x, y), out(y, z).
    """,
    "same generation, three columns": """
        .decl edge(x: number, y: number)
        .decl same(x: number, y: number)
        .decl out(x: number, y: number, z: number)
        same(x, y) :- edge(z, x), edge(z, y), x != y.
        same(x, y) :- edge(a, x), same(a, b), edge(b, y).
        out(x, y, x * y) :- same(x, y), x < y.
    """,
    "arithmetic, constants, negation": """
        .decl edge(x: number, y: number)
        .decl near(x: number, y: number, far: float)
        .decl out(x: number, y: number)
        near(x, y - x, 1.5) :- edge(x, y), y >= x, x % 3 != 1.
        near(x, y * 2 / 3, 0.5 + f) :- near(x, y, f), y > 1, f < 4.0.
        out(x, 7) :- near(x, y, _), !edge(y, x), edge(7, x).
        out(x + y, max(x, y)) :- near(x, y, 2.0), x band 1 = 1.
    """,
    "constants that nothing else has, beside computed values": """
        .decl edge(x: number, y: number)
        .decl out(x: number, y: number, z: number)
        out(x + y, y, 1234567) :- edge(x, y), x * y != 7654321.
        out(9999999, x - y, x) :- edge(x, y).
    """,
    "a name twice in an atom that nothing else asks for": """
        .decl edge(x: number, y: number)
        .decl pair(x: number, y: number, z: number)
        .decl out(x: number)
        pair(x, y, y + 1) :- edge(x, y).
        out(x) :- edge(x, _), x < 3.
        out(y) :- out(x), edge(x, y), pair(y, z, z).
    """,
    "mutual recursion of pairs and single ids": """
        .decl edge(x: number, y: number)
        .decl even(x: number, y: number)
        .decl odd(x: number, y: number)
        .decl seen(x: number)
        .decl out(x: number, y: number)
        odd(x, y) :- edge(x, y).
        even(x, z) :- odd(x, y), edge(y, z).
        odd(x, z) :- edge(x, y), even(y, z), seen(z).
        seen(x) :- odd(x, _).
        seen(y) :- seen(x), even(y, x).
        out(y, x) :- even(x, y), even(y, x).
        out(x, x) :- odd(x, x).
    """,
    "ids that are gathered before they are pushed": """
        .decl edge(x: number, y: number)
        .decl flow(x: number, y: number)
        .decl near(x: number, y: number)
        .decl same(x: number, y: number)
        .decl back(x: number, y: number)
        .decl out(x: number, y: number)
        flow(x, y) :- edge(x, y), x < y.
        flow(x, y) :- flow(x, z), flow(z, y).
        flow(x, y) :- edge(x, z), near(z, y), x < y.
        near(x, w) :- edge(y, x), out(y, z), edge(z, w), x + 7 = w.
        near(x, x) :- edge(x, _).
        same(x, y) :- edge(z, x), edge(z, y), x < y.
        same(x, y) :- edge(a, x), same(a, b), edge(b, y).
        back(x, y) :- edge(x, y), y < 9.
        back(x, y) :- back(x, z), back(y, z).
        out(x, y) :- flow(z, x), near(z, w), flow(w, y).
        out(3, y) :- flow(x, z), !edge(z, x), flow(z, y).
        out(x, y) :- same(x, z), back(z, y), x + y = 31.
    """,
    "keys of two columns": """
        .decl edge(x: number, y: number)
        .decl three(x: number, y: number, z: number)
        .decl out(x: number, y: number)
        three(x, y, z) :- edge(x, y), edge(y, z).
        three(x, y, w) :- three(x, y, z), three(y, z, w), x != w.
        out(x, w) :- three(x, y, z), three(y, z, w), !three(x, z, w).
    """,
    "negation and ranges": """
        .decl edge(x: number, y: number)
        .decl node(x: number)
        .decl out(x: number, y: number)
        node(x) :- x = range(0, 30).
        out(x, y) :- node(x), node(y), !edge(x, y), y <= x, x - y < 4.
    """,
    "aggregates": """
        .decl edge(x: number, y: number)
        .decl out(x: number, n: number, least: number, sum: number)
        out(x, n, least, s) :- edge(x, _), n = count : { edge(x, _) }, least = min y : { edge(x, y) },
                               s = sum y * y : { edge(x, y) }.
    """,
    "text": """
        .decl edge(x: number, y: number)
        .decl word(text: symbol)
        .decl out(x: symbol, y: number, z: float)
        word(cat(to_string(x), "é")) :- edge(x, _).
        out(cat(t, u), strlen(cat(t, u)), itof(ord(t) - ord(t))) :- word(t), word(u), contains("1", t), t < u.
    """,
}
EDGES = [(number % 23, number * number % 29) for number in range(60)]


def answer(text, jobs=1, how=Tier.VECTORISED):
    maintenance = tidelog.Maintenance(modules=False)
    with tidelog.open(text, jobs=jobs, tier=how, maintenance=maintenance) as session:
        session.insert("edge", EDGES)
        return sorted(session["out"].rows())


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_ways_give_the_same_rows(name, monkeypatch):
    monkeypatch.setattr("tidelog.backends.local.team._WORTH_SHARING", 0)
    monkeypatch.setattr("tidelog.backends.local.together._WORTH_SHARING", 0)
    monkeypatch.setattr("tidelog.backends.local.team._TRIAL", 0)
    found = []
    for form in TIERS:
        with tier(form):
            found += [answer(PROGRAMS[name]), answer(PROGRAMS[name], jobs=2), answer(PROGRAMS[name], how=Tier.PUSH)]
            found.append(answer(PROGRAMS[name], jobs=2, how=Tier.PUSH))
    assert found[0]
    assert all(each == found[0] for each in found)


def test_reachability_is_right():
    known = set(EDGES)
    while more := {(x, z) for x, y in known for y2, z in EDGES if y == y2} - known:
        known |= more
    for name in ("reachable", "both sides grow"):
        assert answer(PROGRAMS[name]) == sorted(known)


@pytest.mark.parametrize("form", TIERS)
@pytest.mark.parametrize("how", [Tier.VECTORISED, Tier.PUSH])
def test_all_ways_give_the_same_error(form, how):
    text = ".decl edge(x: number, y: number)\n.decl out(x: number)\nout(x / (y - 7)) :- edge(x, y).\n"
    with tier(form), pytest.raises(EvaluationError, match=r"3:5: division by zero for x = \d+, y = 7"):
        answer(text, how=how)
