"""A change that fails leaves everything as it was, and the next one works, on random programs.

It may fail by a limit, by a row of the wrong type, or by an error in a subscriber. That an expression has no value is
tried in `test_updates.py`.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import Failure, checked_program
from change_strategies import ALL_PROGRAMS, VARIANTS, Story, Variant, pairs, stories
from explicit_facts import Step, answer_after, explicit_start
from replay import apply_step, expected_history, rows_of
from tidelog.errors import InputError, LimitError
from tidelog.maintain.protocol import Limits
from tidelog.session import Session

GRAPH = """
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


class Refused(Exception):
    """What a subscriber raises."""


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=1))
@given(story=stories(ALL_PROGRAMS, most=5), limit=st.integers(1, 12))
def test_a_limit_on_rows_stops_all_of_a_change(variant: Variant, story: Story, limit: int) -> None:
    stop_or_go(story, variant, Limits(rows=limit))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=1))
@given(story=stories(ALL_PROGRAMS, most=5), limit=st.integers(1, 3))
def test_a_limit_on_rounds_stops_all_of_a_change(variant: Variant, story: Story, limit: int) -> None:
    stop_or_go(story, variant, Limits(rounds=limit))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=1))
@given(story=stories(ALL_PROGRAMS, most=5), data=st.data())
def test_a_subscriber_that_raises_undoes_the_change(variant: Variant, story: Story, data: st.DataObject) -> None:
    history = expected_history(story)
    assert history is not None
    relation = data.draw(st.sampled_from(sorted(history.start)))
    before = history.start
    with variant.open(history.checked) as session:
        for chapter in history.chapters:
            with session.subscribe(relation, refuse):
                if not chapter.fails and chapter.rows[relation] != before[relation]:
                    with pytest.raises(Refused):
                        session.apply(insert=chapter.step.insert, retract=chapter.step.retract)
            assert rows_of(session) == before
            apply_step(chapter, before, session)
            before = chapter.rows


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=1))
@given(story=stories(ALL_PROGRAMS, most=4), data=st.data())
def test_a_row_of_the_wrong_type_refuses_all_of_a_change(variant: Variant, story: Story, data: st.DataObject) -> None:
    history = expected_history(story)
    assert history is not None
    before = history.start
    with variant.open(history.checked) as session:
        for chapter in history.chapters:
            relation = data.draw(st.sampled_from(sorted(history.start)))
            bad = (object(),) * max(1, session.schemas[relation].arity)
            side = {**chapter.step.insert, relation: [*chapter.step.insert.get(relation, ()), bad]}
            with pytest.raises(InputError):
                session.apply(insert=side, retract=chapter.step.retract)
            assert rows_of(session) == before
            apply_step(chapter, before, session)
            before = chapter.rows


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("row", ["ab", (1,), (1, 2, 3), (1, "b"), (1, None), (1, 2.5), (1, 2**63)])
def test_the_seventh_row_is_named_when_it_is_wrong(variant: Variant, row: object) -> None:
    with variant.open(checked_program(GRAPH)) as session:
        session.apply(insert={"edge": [(1, 2)]})
        with pytest.raises(InputError, match="row 7"):
            session.apply(insert={"edge": [*((2, node) for node in range(6)), row]}, retract={"edge": [(1, 2)]})
        assert rows_of(session) == {"edge": {(1, 2)}, "path": {(1, 2)}}
        delta = session.apply(insert={"edge": [(2, 3)]})
        assert set(delta["path"].appeared.rows()) == {(2, 3), (1, 3)}


def stop_or_go(story: Story, variant: Variant, limits: Limits) -> None:
    """Each change either leads to the rows of the oracle or, by a limit, to those before it, as its hypothesis does."""
    checked = story.checked()
    explicit = explicit_start(checked, {})
    before = answer_after(checked, explicit)
    assert not isinstance(before, Failure)
    with variant.open(checked, limits) as session:
        try:
            assert rows_of(session) == before
        except LimitError:  # the text alone derives too much
            return
        for step in (Step(insert=story.sample.facts), *story.steps):
            then = step.after(explicit, checked)
            with suppress(LimitError), session.whatif(insert=step.insert, retract=step.retract):
                pass
            assert rows_of(session) == before
            if succeeds(step, session):
                explicit, answer = then, answer_after(checked, then)
                assert not isinstance(answer, Failure)
                before = answer
            assert rows_of(session) == before


def succeeds(step: Step, session: Session) -> bool:
    try:
        session.apply(insert=step.insert, retract=step.retract)
    except LimitError:
        return False
    return True


def refuse(_delta: object) -> None:
    raise Refused
