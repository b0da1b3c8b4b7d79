"""Undo goes back exactly, redo goes forward exactly, and a hypothesis leaves no trace, on random programs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from change_strategies import ALL_PROGRAMS, VARIANTS, Story, Variant, pairs, stories
from replay import History, apply_step, expected_history, replay, rows_of
from tidelog.session import Session


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=2))
@given(story=stories(ALL_PROGRAMS, most=5))
def test_undo_goes_back_to_each_state_and_redo_forward_again(variant: Variant, story: Story) -> None:
    history = expected_history(story)
    assert history is not None
    states = [history.start, *(chapter.rows for chapter in history.chapters if not chapter.fails)]
    with variant.open(history.checked) as session:
        replay(history, session)
        for state in reversed(states[:-1]):
            session.undo()
            assert rows_of(session) == state
        for state in states[1:]:
            session.redo()
            assert rows_of(session) == state


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=1))
@given(story=stories(ALL_PROGRAMS, most=4), back=st.integers(1, 3))
def test_a_change_after_an_undo_goes_on_from_there(variant: Variant, story: Story, back: int) -> None:
    history = expected_history(story)
    assert history is not None
    with variant.open(history.checked) as session:
        replay(history, session)
        for _ in range(back):
            session.undo()
        retell(history, len(history.chapters) - back, session)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=1))
@given(story=stories(ALL_PROGRAMS, most=4))
def test_a_hypothesis_shows_its_consequences_and_leaves_no_trace(variant: Variant, story: Story) -> None:
    history = expected_history(story)
    assert history is not None
    before = history.start
    with variant.open(history.checked) as session:
        for chapter in history.chapters:
            with session.whatif(insert=chapter.step.insert, retract=chapter.step.retract) as hypothetical:
                assert rows_of(hypothetical) == chapter.rows
            assert rows_of(session) == before
            apply_step(chapter, before, session)
            before = chapter.rows


def retell(history: History, first: int, session: Session) -> None:
    """Applies the chapters from `first` on to a session that has told those before it."""
    before = history.chapters[first - 1].rows if first else history.start
    for chapter in history.chapters[first:]:
        apply_step(chapter, before, session)
        before = chapter.rows
