"""A closure that takes too much room in compact form is computed by its rules, from the start or from a change on."""

from __future__ import annotations

from functools import partial

import pytest

import tidelog
from tidelog.backends.local import closed as closed_file
from tidelog.facts.transitive import TransitiveClosure

PROGRAM = """
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""
CHAIN = [(number, number + 1) for number in range(30)]
PATHS = {(start, end) for start in range(31) for end in range(start + 1, 31)}


def room(monkeypatch: pytest.MonkeyPatch, most_bytes: int) -> None:
    monkeypatch.setattr(closed_file, "TransitiveClosure", partial(TransitiveClosure, most_bytes=most_bytes))


def test_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    room(monkeypatch, 8)
    with tidelog.open(PROGRAM) as db:
        db.insert("edge", CHAIN)
        assert set(db["path"].rows()) == PATHS
        db.apply(retract={"edge": [(0, 1)]})
        assert set(db["path"].rows()) == {path for path in PATHS if path[0]}


def test_from_a_change_on(monkeypatch: pytest.MonkeyPatch) -> None:
    room(monkeypatch, 64)
    with tidelog.open(PROGRAM) as db:
        db.insert("edge", CHAIN[:2])
        assert set(db["path"].rows()) == {(0, 1), (1, 2), (0, 2)}
        delta = db.apply(insert={"edge": CHAIN[2:]})
        assert set(db["path"].rows()) == PATHS
        assert delta["path"].appeared_count == len(PATHS) - 3
        db.undo()
        assert set(db["path"].rows()) == {(0, 1), (1, 2), (0, 2)}
