"""What components reach is estimated well enough to tell a closure that fits from one that does not."""

from __future__ import annotations

import numpy as np
import pytest

from tidelog.facts.closure import begins_of
from tidelog.kernels.reach_size import REGISTERS, estimate_reach
from unit.kernels.forms import TIERS, tier


def estimate(after):
    """The estimate for nodes of which each has edges to some before it."""
    counts = np.array([len(ends) for ends in after], np.int32)
    payload = np.array([end for ends in after for end in ends], np.int32).reshape(-1, 1)
    nodes = np.arange(len(after), dtype=np.int32)
    registers = np.zeros((nodes.size, REGISTERS), np.uint8)
    begins = np.arange(nodes.size + 1)
    return estimate_reach(nodes, begins, nodes, begins_of(counts)[:-1], counts, payload, nodes, registers)


@pytest.mark.parametrize("name", TIERS)
def test_the_estimate_for_a_chain_is_not_far_off(name):
    length = 400
    with tier(name):
        found = estimate([[]] + [[node - 1] for node in range(1, length)])
    assert 0.6 < found / (length * (length - 1) / 2) < 1.6


@pytest.mark.parametrize("name", TIERS)
def test_few_pairs_are_estimated_nearly_exactly(name):
    with tier(name):
        found = estimate([[] if node % 2 == 0 else [node - 1] for node in range(200)])
    assert found == pytest.approx(100, rel=0.05)


def test_what_is_reached_in_two_ways_counts_once():
    diamonds = [[], [0], [0], [1, 2], [3, 2, 1, 0]]
    assert estimate(diamonds) == pytest.approx(1 + 1 + 3 + 4, rel=0.1)
