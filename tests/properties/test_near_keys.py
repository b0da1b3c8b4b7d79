"""Looking rows up by some columns of a key gives the oracle's rows, on random programs and random changes."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest
from hypothesis import given, settings

from answers import by_engine, by_oracle, checked_program
from change_strategies import PROGRAMS, VARIANTS, Story, pairs, stories
from replay import expected_history, replay
from strategies import Sample, programs
from tidelog.backends.local import store
from tidelog.backends.local.near_key import NearKey


@pytest.fixture(scope="module", autouse=True)
def read_however_few() -> Iterator[None]:
    """Rows are read by some columns of their key however few there are, and some tests at least do so."""
    uses = 0

    def counted(method):
        def call(*arguments):
            nonlocal uses
            uses += 1
            return method(*arguments)

        return call

    asked, joined = counted(NearKey.present), counted(NearKey.joined)
    with mock.patch.object(store, "_WORTH_READING", 0), mock.patch.multiple(NearKey, present=asked, joined=joined):
        yield
    assert uses


@given(programs())
def test_the_engine_gives_the_rows_of_the_oracle(sample: Sample) -> None:
    checked = checked_program(sample.text)
    assert by_engine(checked, sample.facts) == by_oracle(checked, sample.facts)


@settings(max_examples=pairs(share=2))
@given(story=stories(PROGRAMS))
def test_changes_one_by_one_give_what_the_oracle_gives_at_once(story: Story) -> None:
    history = expected_history(story)
    if history is not None:
        with VARIANTS[0].open(history.checked) as session:
            replay(history, session)
