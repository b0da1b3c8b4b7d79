"""A question that is answered first gives the rows that deriving everything gives, on random programs.

Where deriving everything ends with an error, a question may still have an answer: it need not look at the facts that
cause the error. It never ends with one where deriving everything does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from unittest import mock

from hypothesis import assume, event, given
from hypothesis import strategies as st

import tidelog
from answers import Failure, by_oracle, checked_program
from change_strategies import VARIANTS, Variant
from closure_strategies import closure_programs
from fragments import CHANGES, VALUES, Relation
from strategies import Sample, programs, rows_for
from tidelog.errors import EvaluationError
from tidelog.schema import Kind, Row, Value
from tidelog.world import meeting

NODE = st.integers(0, 6)


@dataclass(frozen=True)
class Asked:
    """A question about one relation: the constants by column, and which columns have variables."""

    relation: str
    constants: Mapping[int, Value]
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.relation}({', '.join(map(self._argument, range(len(self.names))))})"

    def answers(self, rows: set[Row]) -> set[Row]:
        """The assignments of its variables, among `rows`, by definition."""
        found = set()
        for row in rows:
            values: dict[str, Value] = {}
            agrees = all(row[column] == value for column, value in self.constants.items())
            for column, name in enumerate(self.names):
                if column not in self.constants and name != "_":
                    agrees &= values.setdefault(name, row[column]) == row[column]
            if agrees:
                found.add(tuple(values.values()))
        return found

    def _argument(self, column: int) -> str:
        value = self.constants.get(column)
        if value is None:
            return self.names[column]
        return f'"{value}"' if isinstance(value, str) else str(value)


@st.composite
def questions(draw: st.DrawFn, relations: tuple[Relation, ...]) -> Asked:
    """A question that binds a column, of a relation with rules where there is one."""
    computed = [relation for relation in relations if relation.has_rows and (relation.layer or relation.qualifier)]
    assume(computed)
    relation = draw(st.sampled_from(computed))
    first = draw(st.integers(0, len(relation.kinds) - 1))
    constants: dict[int, Value] = {}
    for column, kind in enumerate(relation.kinds):
        if column == first or draw(st.integers(0, 3)) == 3:
            constants[column] = draw(st.sampled_from(VALUES[kind][:6]))
    same = Kind.NUMBER if relation.kinds.count(Kind.NUMBER) > 1 and draw(st.integers(0, 4)) == 4 else None
    names = tuple(
        "_" if draw(st.integers(0, 5)) == 5 else "Same" if kind is same else f"V{column}"
        for column, kind in enumerate(relation.kinds)
    )
    return Asked(relation.name, constants, names)


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
