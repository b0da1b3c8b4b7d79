"""After every change of a random script over a random program, the engine has the rows of the oracle.

And the delta that it returns is the difference between the rows before and after. `make soak` goes on with such stories
until it is stopped. A story that was once told wrongly becomes a case: `cases/regressions/<what it shows>/`.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from change_strategies import PROGRAMS, RISKY_PROGRAMS, VARIANTS, Story, Variant, pairs, stories
from replay import expected_history, replay


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=5))
@given(story=stories(PROGRAMS))
def test_changes_one_by_one_give_what_the_oracle_gives_at_once(variant: Variant, story: Story) -> None:
    history = expected_history(story)
    if history is not None:
        with variant.open(history.checked) as session:
            replay(history, session)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=2))
@given(story=stories(RISKY_PROGRAMS))
def test_a_change_fails_where_the_oracle_finds_no_value_and_leaves_no_trace(variant: Variant, story: Story) -> None:
    history = expected_history(story)
    if history is not None:
        with variant.open(history.checked) as session:
            replay(history, session)
