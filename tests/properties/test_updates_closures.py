"""Closures among other rules stay right: recognised or not, fed by rules, read by rules, several in one program."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from change_strategies import CLOSURES, VARIANTS, Story, Variant, pairs, stories
from replay import expected_history, replay


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=6))
@given(story=stories(CLOSURES))
def test_closures_follow_every_change_of_what_feeds_them(variant: Variant, story: Story) -> None:
    history = expected_history(story)
    assert history is not None
    with variant.open(history.checked) as session:
        replay(history, session)
