"""However a network is kept, and however often that changes, rules pass through the states of the oracle."""

from collections.abc import Sequence
from random import Random
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from answers import checked_program
from production_answers import states_by_engine, states_by_oracle
from production_strategies import ProductionSample, production_programs
from tidelog.analysis.checked import ProductionRule
from tidelog.language.syntax_tree import Atom
from tidelog.plan.retention import network
from tidelog.plan.retention.network import Retention, Way
from tidelog.production.network import alternative

WAYS = ("set", "instance", "instance refraction", "parallel")


@given(production_programs(*WAYS), st.sampled_from(Retention))
@settings(max_examples=80)
def test_what_is_retained_changes_no_state(sample: ProductionSample, retention: Retention) -> None:
    checked = checked_program(sample.text)
    expected = states_by_oracle(checked, sample.facts)
    assert states_by_engine(checked, sample.facts, retention) == expected


@given(production_programs(*WAYS), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_another_way_after_each_try_changes_no_state(sample: ProductionSample, chance: Random) -> None:
    checked = checked_program(sample.text)
    expected = states_by_oracle(checked, sample.facts)
    with (
        patch.object(alternative, "MeasuredChoice", lambda ways: Moody(len(ways), chance)),
        patch.object(network, "_ways", many_ways),
    ):
        assert states_by_engine(checked, sample.facts, Retention.COSMA) == expected


class Moody:
    """A choice by chance alone, that drops what is retained now and then."""

    def __init__(self, ways: int, chance: Random) -> None:
        self._ways = ways
        self._chance = chance
        self.current = 0
        self.is_comparing = False

    def note(self, _seconds: float) -> None:
        self.current = self._chance.randrange(self._ways)
        self.is_comparing = self._chance.random() < 0.7


def many_ways(rule: ProductionRule, number: int, _retention: Retention, _annotation: object) -> Sequence[Way]:
    """Without anything retained, with the join of all atoms, and with the first atom alone."""
    body = rule.bodies[number]
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    nodes = [
        network._node(rule, f"{rule.id}.{number}@{count}", network._names(rule, atoms[:count]), atoms[:count])
        for count in {1, len(atoms)}
        if atoms
    ]
    return [network._over(body, ()), *(network._over(body, [node]) for node in nodes)]
