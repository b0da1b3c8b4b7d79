"""Closures among other rules stay right: recognised or not, fed by rules, read by rules, several in one program."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from change_strategies import CLOSURES, VARIANTS, Story, Variant, pairs, stories
from closure_strategies import closures_with_facts
from replay import apply_step, expected_history, replay, rows_of


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=6))
@given(story=stories(CLOSURES))
def test_closures_follow_every_change_of_what_feeds_them(variant: Variant, story: Story) -> None:
    history = expected_history(story)
    assert history is not None
    with variant.open(history.checked) as session:
        replay(history, session)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=3))
@given(story=stories(closures_with_facts()))
def test_facts_given_to_closures_are_facts_and_not_edges(variant: Variant, story: Story) -> None:
    history = expected_history(story)
    assert history is not None
    given, *rest = history.chapters
    with variant.open(history.checked) as session:
        for relation, rows in given.step.insert.items():
            session.insert(relation, list(rows))
        assert rows_of(session) == given.rows, "before anything was derived"
        before = given.rows
        for chapter in rest:
            apply_step(chapter, before, session)
            before = chapter.rows
