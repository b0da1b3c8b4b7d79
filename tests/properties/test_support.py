"""What updates rest on instead of counters: every derived fact has a derivation from outside its stratum, or from facts
that came before it (docs/decisions/0007).

It is counted again after every change: each fact is asked for such a derivation, not only those in doubt.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from change_strategies import CLOSURES, PROGRAMS, VARIANTS, Story, Variant, pairs, stories
from replay import sessions_after_each_change
from tidelog.maintain.journal import Journal
from tidelog.maintain.materialize import Run
from tidelog.maintain.protocol import SILENT, Limits, Strategy
from tidelog.maintain.update import Update
from tidelog.session import Session


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=2))
@given(story=stories(PROGRAMS | CLOSURES))
def test_every_derived_fact_follows_from_facts_that_came_before_it(variant: Variant, story: Story) -> None:
    for session in sessions_after_each_change(story, variant):
        assert not unsupported(session)


def unsupported(session: Session) -> list[str]:
    """The relations with facts that have no such derivation, though updates count on it."""
    held = session._model.materialization
    backend, strata = held._backend, held._questions().strata
    run = Run(held._plan, backend, Limits(), SILENT, held._ordering)
    update = Update(backend, held._questions(), run, Journal(backend), Strategy.BACKWARD_FORWARD, frozenset(), {})
    return [
        relation
        for number, questions in enumerate(strata)
        if questions.stratum.closed is None and not questions.stratum.modules
        for relation in questions.stratum.relations
        if relation not in held._distrusted and held._kept_in(relation) != relation
        if len(update._unsupported(relation, backend.facts(relation), update._support(questions, relation), number))
    ]
