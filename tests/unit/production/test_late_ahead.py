"""Late news whose differences go on and on: derivations are asked for ahead, iterations followed in one step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tidelog
from tidelog.kernels.late_news import REACHED, go_on
from tidelog.production.late.chain_columns import OPEN

PATHS = """\
.production parallel
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
+path(x, y) :- edge(x, y). [name begin]
"""
LINEAR = PATHS + "+path(x, z) :- path(x, y), edge(y, z). [name go_on]\n"
DOUBLING = PATHS + "+path(x, z) :- path(x, y), path(y, z). [name join]\n"
ROAD = [(x, x + 1) for x in range(20)]


def ran(text: str, edges: list[tuple[int, int]]) -> tidelog.Session:
    db = tidelog.open(text)
    db.insert("edge", edges)
    db.run()
    return db


def times(db: tidelog.Session, fact: tuple[int, int]) -> list[tuple[int, bool]]:
    return [(record.cycle, record.is_there) for record in db.history("path", fact)]


@pytest.mark.parametrize("text", [LINEAR, DOUBLING], ids=["linear", "doubling"])
@pytest.mark.parametrize("edge", [(12, 13), (0, 1), (40, 41)])
def test_a_difference_that_goes_on_through_all_iterations_leads_where_a_run_with_it_leads(
    text: str, edge: tuple[int, int]
) -> None:
    others = [each for each in ROAD if each != edge]
    db, other = ran(text, others), ran(text, [*others, edge])
    for change in ({"insert": {"edge": [edge]}}, {"retract": {"edge": [edge]}}, {"insert": {"edge": [edge]}}):
        db.apply(at=0, **change)
        expected = other if "insert" in change else ran(text, others)
        assert sorted(db["path"]) == sorted(expected["path"])
        for fact in ((0, 20), (0, 13), edge):
            assert times(db, fact) == times(expected, fact)


def test_facts_that_were_never_there_make_derivations_with_one_another() -> None:
    db = ran(DOUBLING, ROAD[:3])
    db.apply(insert={"edge": [(x, x + 1) for x in range(100, 110)]}, at=0)
    assert len(db["path"]) == 6 + 55
    assert (100, 110) in db["path"]


COUNTDOWN = """\
.production parallel
.decl at(n: number)
.decl stop(n: number)
.decl share(n: number, part: number)
+at(n - 1) :- at(n), !stop(n). [name count]
+share(n, 100 / n) :- at(n), !stop(n). [name divide]
"""


def test_what_need_never_be_there_is_no_error_where_it_is_asked_for_ahead() -> None:
    db = tidelog.open(COUNTDOWN)
    db.insert("stop", [(5,), (20,)])
    db.insert("at", [(30,)])
    db.run()
    db.apply(retract={"stop": [(20,)]}, at=0)
    assert sorted(db["at"]) == [(n,) for n in range(5, 31)]
    assert sorted(db["share"]) == [(n, 100 // n) for n in range(6, 31)]


def followed(run: Callable[..., tuple[int, int]]) -> tuple[object, ...]:
    """What is said of a run in which the fact 0 makes 1 and that makes 2, with 0 taken away."""
    is_there, differs = np.array([True, False, False]), np.array([True, False, False])
    records = np.array([[0, OPEN, 1, 0], [1, OPEN, 1, 0]])
    at, ends = np.array([0, 0, 1]), np.array([0, 1, 2])
    news, more, noted = np.zeros((3, 3, 2), np.int64)
    steps, spans, counts, taken = (np.zeros(shape, np.int64) for shape in ((9, 4), (9, 3), (9, 1), 3))
    number, why = run(
        0, 3, 3, 3, 2, is_there, differs, np.ones(3, np.bool_), at, ends, records, np.zeros((0, 4), np.int64), taken,
        news, more, noted, np.array([[0], [2]]), np.array([[2], [4]]), np.zeros(2, np.int64), np.zeros(3, np.int8),
        steps, spans, counts,
    )  # fmt: skip
    return int(number), int(why), steps[: taken[1]].tolist(), spans[: taken[2]].tolist(), differs.tolist()


def test_iterations_are_followed_alike_in_compiled_form_and_in_plain_python() -> None:
    number, why, steps, spans, differs = followed(go_on.python)
    assert (number, why) == (3, REACHED)
    assert steps == [[1, 0, -1, 0], [2, 1, -1, 0]]
    assert spans == [[0, 1, -1], [1, 2, -1], [2, 3, 0]]
    assert differs == [True, True, True]
    assert followed(go_on.dispatcher) == (number, why, steps, spans, differs)
