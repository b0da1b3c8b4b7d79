"""A question that is answered first gives the rows that deriving everything gives, on random programs.

Where deriving everything ends with an error, a question may still have an answer: it need not look at the facts that
cause the error. It never ends with one where deriving everything does not.
"""

from __future__ import annotations

from unittest import mock

from hypothesis import event, given
from hypothesis import strategies as st

import tidelog
from answers import Failure, by_oracle, checked_program
from change_strategies import VARIANTS, Variant
from closure_strategies import closure_programs
from fragments import CHANGES
from questions import Asked, questions
from strategies import Sample, programs, rows_for
from tidelog.errors import EvaluationError
from tidelog.schema import Row
from tidelog.world import meeting

NODE = st.integers(0, 6)


@st.composite
def asked_samples(draw: st.DrawFn, samples: st.SearchStrategy[Sample]) -> tuple[Sample, Asked]:
    """A program with facts, some of them given to relations that have rules, and a question about it."""
    sample = draw(samples)
    facts = dict(sample.facts)
    for relation in sample.relations:
        if relation.layer and relation.has_rows and draw(st.integers(0, 3)) == 3:
            facts[relation.name] = draw(rows_for(relation, 1))
    return Sample(sample.relations, sample.rules, facts), draw(questions(sample.relations))


def check_answers(sample: Sample, asked: Asked, variant: Variant = VARIANTS[0]) -> None:
    checked = checked_program(sample.text)
    expected = by_oracle(checked, sample.facts)
    with variant.open(checked) as db:
        for name, rows in sample.facts.items():
            db.insert(name, list(rows))
        try:
            first = db.query(asked.text).rows()
        except EvaluationError:
            assert expected == Failure(), f"{asked.text} fails"
            return
        assert len(first) == len(set(first))
        again = db.query(asked.text).rows()
        assert sorted(map(repr, again)) == sorted(map(repr, first))
        event(f"rewritten: {not db._model.is_materialized}")
        if isinstance(expected, Failure):
            return
        assert set(first) == asked.answers(expected[asked.relation]), asked.text
        db.materialize()
        assert {name: set(db[name].rows()) for name in expected} == expected, "asking changed what is derived"
        assert set(db.query(asked.text).rows()) == set(first)


@given(asked_samples(programs(CHANGES)))
def test_a_question_has_the_answers_of_the_oracle(drawn: tuple[Sample, Asked]) -> None:
    check_answers(*drawn)


@given(asked_samples(programs()))
def test_a_question_fails_only_where_the_oracle_does(drawn: tuple[Sample, Asked]) -> None:
    check_answers(*drawn)


@given(asked_samples(closure_programs()), st.sampled_from(VARIANTS))
def test_a_question_about_closures_has_the_answers_of_the_oracle(drawn: tuple[Sample, Asked], variant: Variant) -> None:
    check_answers(*drawn, variant)


STEPS = (
    "r(y) :- r(x), e(x, y).",
    "r(y) :- r(x), e(y, x), x != 3.",
    "r(x) :- r(y), e(x, y), !n(x).",
    "r(1) :- r(x), e(x, 2).",
    "s(x, z) :- s(x, y), e(y, z).",
    "s(x, y) :- e(a, x), s(a, b), e(b, y).",
    "s(x, y) :- s(y, x), !n(x).",
    "s(x, x) :- s(x, y), e(y, x).",
)
BEGINNINGS = ("r(x) :- n(x).", "r(x) :- e(x, x).", "s(x, y) :- e(x, y), x < y.", "s(x, x) :- n(x).", "s(4, 2) :- n(3).")
LINEAR = """
.decl e(a: number, b: number) .decl n(a: number) .decl r(a: number) .decl s(a: number, b: number)
"""


@given(
    st.lists(st.sampled_from(STEPS), min_size=1, unique=True),
    st.lists(st.sampled_from(BEGINNINGS), min_size=1, unique=True),
    st.lists(st.tuples(NODE, NODE), max_size=14),
    st.lists(st.tuples(NODE), max_size=3),
    st.sampled_from([1, 4, meeting.WORTH_A_LOOK]),
)
def test_a_search_from_both_ends_has_the_answers_of_the_oracle(
    steps: list[str], beginnings: list[str], edges: list[Row], nodes: list[Row], worth_a_look: int
) -> None:
    checked = checked_program(LINEAR + "\n".join([*steps, *beginnings]))
    expected = by_oracle(checked, {"e": edges, "n": nodes})
    assert not isinstance(expected, Failure)
    with tidelog.open(checked) as db, mock.patch.object(meeting, "WORTH_A_LOOK", worth_a_look):
        db.insert("e", edges)
        db.insert("n", nodes)
        for one in range(7):
            assert len(db.query(f"r({one})")) == ((one,) in expected["r"]), f"r({one})"
            for other in range(7):
                assert len(db.query(f"s({one}, {other})")) == ((one, other) in expected["s"]), f"s({one}, {other})"


def test_asking_leaves_the_session_as_it_was() -> None:
    with tidelog.open(".decl e(a: number, b: number) .decl p(a: number, b: number) p(x, y) :- e(x, y).") as db:
        db.insert("e", [(1, 2)])
        assert db.query("p(1, X)").rows() == [(2,)]
        db.insert("e", [(1, 3)])
        assert sorted(db.query("p(1, X)")) == [(2,), (3,)]
        db.retract("e", [(1, 2)])
        assert db.query("p(1, X)").rows() == [(3,)]
