"""Production rules do what the definitions of the papers say, cycle by cycle, on random programs."""

from hypothesis import given

from answers import checked_program
from production_answers import GOES_ROUND, last_state_by_session, states_by_engine, states_by_oracle
from production_strategies import ProductionSample, production_programs

WAYS = ("set", "instance", "instance refraction", "parallel")


@given(production_programs(*WAYS))
def test_the_engine_passes_through_the_states_of_the_oracle(sample: ProductionSample) -> None:
    checked = checked_program(sample.text)
    expected = states_by_oracle(checked, sample.facts)
    assert states_by_engine(checked, sample.facts) == expected


@given(production_programs(*WAYS))
def test_a_session_ends_in_the_last_state_of_the_oracle(sample: ProductionSample) -> None:
    checked = checked_program(sample.text)
    expected = states_by_oracle(checked, sample.facts)
    assert last_state_by_session(checked, sample.facts) == (expected if expected == GOES_ROUND else expected[-1])
