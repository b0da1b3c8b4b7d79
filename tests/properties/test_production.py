"""Production rules do what the definitions of the papers say, cycle by cycle, on random programs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from answers import checked_program
from production_answers import states_by_engine, states_by_oracle
from production_strategies import ProductionSample, production_programs
from tidelog.plan.retention.network import Retention

WAYS = ("set", "instance", "instance refraction", "parallel")


@given(production_programs(*WAYS))
def test_the_engine_passes_through_the_states_of_the_oracle(sample: ProductionSample) -> None:
    checked = checked_program(sample.text)
    expected = states_by_oracle(checked, sample.facts)
    assert states_by_engine(checked, sample.facts) == expected


@given(production_programs(*WAYS), st.sampled_from([Retention.RETE, Retention.TREAT, Retention.COSMA]))
@settings(max_examples=80)
def test_what_is_retained_changes_no_state(sample: ProductionSample, retention: Retention) -> None:
    checked = checked_program(sample.text)
    expected = states_by_oracle(checked, sample.facts)
    assert states_by_engine(checked, sample.facts, retention) == expected
