"""Whether facts have a derivation is answered by generated code where there is some."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from unittest import mock

import pytest

import tidelog
from tidelog import Tier
from tidelog.backends.local import asking
from tidelog.backends.local.asking import unanswered
from tidelog.maintain import update

SAME_GENERATION = """
.decl edge(parent: number, child: number)
.decl same(x: number, y: number)
same(x, y) :- edge(p, x), edge(p, y), x != y.
same(x, y) :- edge(a, x), same(a, b), edge(b, y).
"""


@pytest.fixture(autouse=True)
def questions_are_asked() -> Iterator[None]:
    """However long it takes, changes are followed: starting over asks nothing."""
    with mock.patch.object(update, "BUDGET", inf):
        yield


TREE = [(0, 1), (0, 2), (1, 3), (2, 4), (5, 1), (5, 2)]


def test_a_fact_with_another_derivation_stays_and_one_without_goes() -> None:
    with mock.patch.object(asking, "unanswered", wraps=unanswered) as asked, opened() as session:
        assert sorted(session["same"]) == [(1, 2), (2, 1), (3, 4), (4, 3)]
        delta = session.apply(retract={"edge": [(0, 1)]})
        assert not delta["same"].vanished
        delta = session.apply(retract={"edge": [(5, 2)]})
        assert sorted(delta["same"].vanished) == [(1, 2), (2, 1), (3, 4), (4, 3)]
    codes = [code for call in asked.call_args_list for code, _ in call.args[0]]
    assert any("asked_numbers" in code.rule.source for code in codes)
    assert any("asked_numbers" not in code.rule.source for code in codes)


def test_code_for_another_kind_of_row_numbers_is_not_run() -> None:
    with mock.patch.object(asking, "fits", return_value=False), opened() as session:
        session.apply(retract={"edge": [(0, 1)]})
        assert len(session["same"]) == 4
        session.apply(retract={"edge": [(5, 2)]})
        assert not len(session["same"])


@pytest.mark.parametrize("rows", [1, asking._ROWS])
def test_what_one_question_found_stays_when_the_next_is_asked(rows: int) -> None:
    with mock.patch.object(asking, "_ROWS", rows), opened() as session:
        session.apply(retract={"edge": [(0, 1)]})
        first = session.apply(retract={"edge": [(2, 4)]})
        second = session.apply(retract={"edge": [(5, 2)]})
        assert sorted(first["same"].vanished) == [(3, 4), (4, 3)]
        assert sorted(second["same"].vanished) == [(1, 2), (2, 1)]


def test_a_loop_ends_where_a_derivation_was_found() -> None:
    with opened() as session:
        session.apply(retract={"edge": [(0, 1)]})
        askers = session._model.materialization._backend._questions._askers  # type: ignore[attr-defined]
        sources = [each.code.rule.source for each in askers._candidates.values() if each.is_ready and is_written(each)]
    assert sources
    for source in sources:
        assert source.count("for at") == source.count("break")


def is_written(candidate: object) -> bool:
    return hasattr(candidate.code, "rule")  # type: ignore[attr-defined]


def opened() -> tidelog.Session:
    """A session over a family tree in which 1 and 2 have two parents in common."""
    session = tidelog.open(SAME_GENERATION, tier=Tier.PUSH)
    session.insert("edge", TREE)
    return session
