"""Rules that go and come between changes of facts leave what the oracle derives by the rules of then.

The delta of each is the difference between the rows before and after. Strata whose rules are the same are not derived
anew, so what they have must be right for the rules below them.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import Failure
from change_strategies import CLOSURES, PROGRAMS, VARIANTS, Story, Variant, pairs, stories
from explicit_facts import Step, answer_after, explicit_start
from replay import plain, rows_of
from tidelog.errors import EvaluationError
from tidelog.language.printer import print_rule
from tidelog.session import Session


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=3))
@given(story=stories(PROGRAMS | CLOSURES), data=st.data())
def test_rules_that_go_and_come_leave_what_follows(variant: Variant, story: Story, data: st.DataObject) -> None:
    checked = story.checked()
    explicit = explicit_start(checked, {})
    if isinstance(answer_after(checked, explicit), Failure):
        return
    gone: list[str] = []
    with variant.open(checked) as session:
        for step in (Step(insert=story.sample.facts), *story.steps):
            then = step.after(explicit, session.program)
            if not isinstance(answer_after(session.program, then), Failure):
                session.apply(insert=step.insert, retract=step.retract)
                explicit = then
            before = rows_of(session)
            there = [rule for rule in session.program.program.rules if rule.body]
            if gone and data.draw(st.booleans(), "a rule comes back"):
                text = data.draw(st.sampled_from(gone), "comes")
                delta = changed(session, "add_rules", text)
                gone = gone if delta is None else [each for each in gone if each != text]
            elif there:
                text = print_rule(data.draw(st.sampled_from(there), "goes"))
                delta = changed(session, "remove_rules", text)
                gone = gone if delta is None else [*gone, text]
            else:
                continue
            expected = answer_after(session.program, explicit)
            assert not isinstance(expected, Failure)
            assert rows_of(session) == expected
            if delta is not None:
                for name, rows in expected.items():
                    assert plain(delta[name].appeared.rows(), name) == rows - before[name], f"appeared in {name}"
                    assert plain(delta[name].vanished.rows(), name) == before[name] - rows, f"vanished from {name}"


def changed(session: Session, what: str, text: str) -> object:
    """The delta of a change of rules; None where an expression has no value by the other rules."""
    try:
        return getattr(session, what)(text)
    except EvaluationError:
        return None
