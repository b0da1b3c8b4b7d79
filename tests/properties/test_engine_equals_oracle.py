"""The engine gives the oracle's rows, or an error where the oracle gives one, on random programs.

`TIDELOG_EXAMPLES` sets how many programs each test tries. A program that was once answered wrongly becomes a case:
`cases/regressions/<what it shows>/`, with the facts and rows that Hypothesis printed, so that it is tried for ever.
"""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from answers import by_engine, by_oracle, checked_program
from strategies import Sample, programs, shuffled


@given(programs())
def test_the_engine_gives_the_rows_of_the_oracle(sample: Sample) -> None:
    checked = checked_program(sample.text)
    assert by_engine(checked, sample.facts) == by_oracle(checked, sample.facts)


@given(programs())
def test_two_threads_give_the_rows_of_the_oracle(sample: Sample) -> None:
    checked = checked_program(sample.text)
    assert by_engine(checked, sample.facts, jobs=2) == by_oracle(checked, sample.facts)


@given(programs(), st.randoms(use_true_random=False))
def test_the_order_of_literals_and_rules_changes_nothing(sample: Sample, randomness: random.Random) -> None:
    expected = by_oracle(checked_program(sample.text), sample.facts)
    other = checked_program(shuffled(sample, randomness).text)
    assert by_oracle(other, sample.facts) == expected
    assert by_engine(other, sample.facts) == expected
