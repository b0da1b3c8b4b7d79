"""An engine with production rules: after each change it has what running the rules from the start leaves."""

from __future__ import annotations

from unittest.mock import sentinel

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from answers import checked_program
from production_answers import GOES_ROUND, states_by_oracle, tuples
from production_oracle import State, derived
from production_strategies import ARITIES, VIEWS, ProductionSample, production_programs, rows_of
from tidelog.connectors.frames import to_table
from tidelog.errors import OscillationError
from tidelog.maintain.protocol import SILENT, Limits
from tidelog.pipeline.config import Tier
from tidelog.pipeline.engine import Engine
from tidelog.pipeline.starting import start_engine
from tidelog.schema import Row

Facts = dict[str, list[Row]]


def engine_over(sample: ProductionSample) -> Engine:
    engine = start_engine(
        checked_program(sample.text),
        Tier.COMPILED,
        sentinel.spark,
        jobs=1,
        limits=Limits(),
        observer=SILENT,
        reduction=None,
    )
    for name, rows in sample.facts.items():
        engine.load(name, to_table(rows, engine.checked.schemas[name]))
    engine.materialize()
    return engine


def facts_in(engine: Engine) -> dict[str, set[Row]]:
    return {name: set(tuples(engine.rows(name))) for name in (*ARITIES, *VIEWS)}


def expected(engine: Engine, state: State) -> dict[str, set[Row]]:
    rows = derived(engine.checked, state)
    return {name: set(rows.get(name, ())) for name in (*ARITIES, *VIEWS)}


changed = st.fixed_dictionaries({}, optional={name: rows_of(arity) for name, arity in ARITIES.items()})


@settings(max_examples=25)
@given(
    production_programs("set", "instance", "parallel"),
    st.lists(st.tuples(changed, changed, st.booleans()), min_size=1, max_size=3),
)
def test_changes_lead_to_what_running_again_leads_to(
    sample: ProductionSample, changes: list[tuple[Facts, Facts, bool]]
) -> None:
    assume(states_by_oracle(checked_program(sample.text), sample.facts) != GOES_ROUND)
    engine = engine_over(sample)
    given_facts = {name: set(rows) for name, rows in sample.facts.items()}
    for inserted, retracted, is_kept in changes:
        before = facts_in(engine)
        after = {
            name: (rows - set(retracted.get(name, ()))) | set(inserted.get(name, ()))
            for name, rows in given_facts.items()
        }
        states = states_by_oracle(engine.checked, after)
        schemas = engine.checked.schemas
        sides = [{name: to_table(rows, schemas[name]) for name, rows in side.items()} for side in (inserted, retracted)]
        if states == GOES_ROUND:
            with pytest.raises(OscillationError):
                engine.take(*sides)
            assert facts_in(engine) == before
            continue
        taken = engine.take(*sides)
        assert facts_in(engine) == expected(engine, states[-1])
        told = {
            name: (set(tuples(delta.appeared())), set(tuples(delta.vanished())))
            for name, delta in taken.outcome.deltas.items()
        }
        now = facts_in(engine)
        assert told == {
            name: (now[name] - before[name], before[name] - now[name]) for name in now if now[name] != before[name]
        }
        assert taken.counts.inserted == sum(len(after[name] - given_facts[name]) for name in after)
        assert taken.counts.retracted == sum(len(given_facts[name] - after[name]) for name in after)
        if is_kept:
            given_facts = after
        else:
            engine.take_back(taken)
            assert facts_in(engine) == before
        assert {name: set(tuples(engine.given(name))) for name in ARITIES} == given_facts
