"""Rules run by generated code give the oracle's rows, from nothing and after changes.

The code runs as the Python that it is: compiling each function of each random program would take minutes. Compiled it
runs in `unit/local/test_tiers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import by_engine, by_oracle, checked_program
from case_files import Case, all_cases
from change_strategies import CLOSURES, PROGRAMS, RISKY_PROGRAMS, Story, Variant, pairs, stories
from replay import expected_history, replay, sessions_after_each_change
from strategies import Sample, programs
from test_cases import is_expected
from tidelog import Maintenance, Tier
from tidelog.backends.local import asking, operands, pushing, shares, sinks, team, together
from tidelog.errors import EvaluationError
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import PairSet
from tidelog.plan.nodes import RulePlan
from tidelog.schema import Row
from tidelog.session import Session
from unit.kernels.forms import tier
from unit.local.test_tiers import PROGRAMS as TIER_PROGRAMS

PUSH = Variant("push", {"tier": Tier.PUSH, "maintenance": Maintenance(modules=False)})
BESIDE_CLOSURES = Variant("push beside closures", {"tier": Tier.PUSH})


@pytest.fixture(autouse=True)
def plain_kernels() -> Iterator[None]:
    """Kernels are plain Python, and arrays so short that generated code often has to stop and go on; where there are
    threads, they share the work on indexes."""
    short = mock.patch.multiple(sinks, _ROOM=1, WAITING_ROOM=2)
    shared = mock.patch.multiple(operands, _MANY=1, _SOME=1)
    with tier("plain"), short, shared, mock.patch.object(pushing, "_FEW", 1):
        yield


EDGES = st.tuples(st.integers(0, 99), st.integers(0, 99)) | st.tuples(st.integers(0, 9), st.integers(0, 9))

WORTH_DIVIDING = st.sampled_from([0, 1_000])
"""Threads have ids of their own in any case, or in none."""

GATHERING = TIER_PROGRAMS["ids that are gathered before they are pushed"]


@given(programs())
def test_pushed_rows_are_those_of_the_oracle(sample: Sample) -> None:
    checked = checked_program(sample.text)
    assert by_engine(checked, sample.facts, **PUSH.options) == by_oracle(checked, sample.facts)


@given(programs(), WORTH_DIVIDING)
def test_threads_that_push_give_the_rows_of_the_oracle(sample: Sample, worth_dividing: int) -> None:
    checked = checked_program(sample.text)
    short = mock.patch.multiple(shares, _STRETCH=1, WAITING_ROOM=2, _ENTRIES=0)
    with mock.patch.multiple(together, _WORTH_SHARING=0, _WORTH_DIVIDING=worth_dividing), short:
        assert by_engine(checked, sample.facts, jobs=2, **PUSH.options) == by_oracle(checked, sample.facts)


@given(programs(), WORTH_DIVIDING)
def test_threads_that_push_into_bits_give_the_rows_of_the_oracle(sample: Sample, worth_dividing: int) -> None:
    checked = checked_program(sample.text)
    at_once = mock.patch.object(PairSet, "_bits_pay", return_value=True)
    shared = mock.patch.multiple(together, _WORTH_SHARING=0, _WORTH_DIVIDING=worth_dividing)
    with shared, mock.patch.multiple(shares, _STRETCH=1, _ENTRIES=0), at_once:
        assert by_engine(checked, sample.facts, jobs=3, **PUSH.options) == by_oracle(checked, sample.facts)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("has_long_rows", [True, False])
@pytest.mark.parametrize("is_bits", [True, False])
@settings(max_examples=15)
@given(edges=st.sets(EDGES), worth_dividing=WORTH_DIVIDING)
def test_ids_that_are_gathered_give_the_rows_of_the_oracle(
    jobs: int, has_long_rows: bool, is_bits: bool, edges: set[Row], worth_dividing: int
) -> None:
    checked = checked_program(GATHERING)
    is_long = mock.patch.object(pushing.StoreSurroundings, "has_long_rows", return_value=has_long_rows)
    bits_pay = mock.patch.object(PairSet, "_bits_pay", return_value=is_bits)
    short = mock.patch.multiple(shares, _STRETCH=1, WAITING_ROOM=2, _ENTRIES=0)
    shared = mock.patch.multiple(together, _WORTH_SHARING=0, _WORTH_DIVIDING=worth_dividing)
    with is_long, bits_pay, short, shared:
        found = by_engine(checked, {"edge": edges}, jobs=jobs, **PUSH.options)
    assert found == by_oracle(checked, {"edge": edges})


@settings(max_examples=pairs(share=5))
@given(story=stories(PROGRAMS))
def test_changes_followed_by_pushed_rules_give_what_the_oracle_gives_at_once(story: Story) -> None:
    history = expected_history(story)
    if history is not None:
        with PUSH.open(history.checked) as session:
            replay(history, session)


@pytest.mark.parametrize("jobs", [1, 2])
@settings(max_examples=pairs(share=1))
@given(story=stories(PROGRAMS | CLOSURES), worth_dividing=WORTH_DIVIDING)
def test_changes_followed_by_pushed_rules_beside_closures_and_by_threads(
    jobs: int, story: Story, worth_dividing: int
) -> None:
    history = expected_history(story)
    short = mock.patch.multiple(shares, _STRETCH=1, WAITING_ROOM=2, _ENTRIES=0)
    shared = mock.patch.multiple(together, _WORTH_SHARING=0, _WORTH_DIVIDING=worth_dividing)
    pieces = mock.patch.multiple(team, _WORTH_SHARING=0, _TRIAL=0, _PIECE=2)
    if history is not None:
        with short, shared, pieces, BESIDE_CLOSURES.open(history.checked, jobs=jobs) as session:
            replay(history, session)


@settings(max_examples=pairs(share=3))
@given(story=stories(PROGRAMS))
def test_code_finds_a_derivation_of_a_fact_where_batches_find_one(story: Story) -> None:
    for session in sessions_after_each_change(story, PUSH):
        for relation, question in questions_for_support(session):
            by_code, by_batches = unsupported(relation, question, session)
            assert by_code == by_batches


@settings(max_examples=pairs(share=3))
@given(story=stories(PROGRAMS))
def test_code_puts_the_facts_in_doubt_that_batches_put_in_doubt(story: Story) -> None:
    for session in sessions_after_each_change(story, PUSH):
        for relation, question in questions_about_what_is_lost(session):
            by_code, by_batches = found(relation, question, session)
            assert by_code == by_batches


def questions_about_what_is_lost(session: Session) -> Iterator[tuple[str, RulePlan]]:
    """Every question about facts that there are, as if they went or came."""
    for questions in session._model.materialization._questions().strata:
        for (relation, _), rules in questions.lost.items():
            yield from ((relation, rule) for rule in rules)


def found(relation: str, question: RulePlan, session: Session) -> tuple[set[Row], set[Row]]:
    """The heads that a question about every other fact of a relation finds, by code and as batches."""
    backend, ordering = session._model.materialization._backend, session._model.materialization._ordering
    backend.mark(relation, FactSet(backend.facts(relation).rows[::2]))
    rules = ordering.of((question,))
    backend.catch_up(rules)
    by_code = backend.collect(rules).get(question.head)
    by_batches = collected_in_batches(rules, session).get(question.head)
    return tuple(set() if facts is None else rows_of(facts) for facts in (by_code, by_batches))  # type: ignore[return-value]


def collected_in_batches(rules: Sequence[RulePlan], session: Session) -> Mapping[str, FactSet]:
    """What plans derive, without their code."""
    backend = session._model.materialization._backend
    with mock.patch.object(asking.Questions, "code", return_value=None):
        backend.catch_up(rules)
        return backend.collect(rules)


def questions_for_support(session: Session) -> Iterator[tuple[str, RulePlan]]:
    """Every question for a derivation of facts that there are."""
    held = session._model.materialization
    for questions in held._questions().strata:
        if questions.stratum.closed is None:
            for asked in (questions.outside, questions.older):
                yield from ((relation, rule) for relation, rules in asked.items() for rule in rules)


def unsupported(relation: str, question: RulePlan, session: Session) -> tuple[set[Row], set[Row]]:
    """All facts of a relation for which a question finds no derivation, asked by code and by batches."""
    backend, ordering = session._model.materialization._backend, session._model.materialization._ordering
    facts = backend.facts(relation)
    backend.mark(relation, facts)
    rules = ordering.of((question,))
    answered = collected_in_batches(rules, session).get(relation)
    by_batches = facts if answered is None else facts.minus(answered)
    backend.catch_up(rules)
    return rows_of(backend.unsupported(relation, rules)), rows_of(by_batches)


def rows_of(facts: FactSet) -> set[Row]:
    return set(map(tuple, facts.rows.tolist()))


@settings(max_examples=pairs(share=2))
@given(story=stories(RISKY_PROGRAMS))
def test_a_row_without_a_value_is_left_to_the_rule_as_batches(story: Story) -> None:
    history = expected_history(story)
    if history is not None:
        with PUSH.open(history.checked) as session:
            replay(history, session)


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_cases_give_what_is_expected(case: Case) -> None:
    checked = case.checked()
    expected = case.expected(checked)
    with PUSH.open(checked) as db:
        for relation, rows in case.facts(checked).items():
            db.insert(relation, rows)
        if case.expected_error is None:
            found = {name: sorted(db[name].rows()) for name in expected}
            assert found == {name: sorted(expected[name]) for name in expected}
        else:
            with pytest.raises(EvaluationError) as caught:
                db.materialize()
            assert is_expected(caught.value, case.expected_error)
