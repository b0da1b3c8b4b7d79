"""A symmetric closure under change relates all members of a component; its deltas are the difference of the sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from tidelog.errors import UsageError
from tidelog.facts import equivalence as module
from tidelog.facts.equivalence import SymmetricClosure
from unit.facts.closure_model import Checked, rows_of, scripts, symmetric
from unit.kernels.forms import TIERS, tier

NONE = rows_of([])


def edges(*pairs):
    return [(0, source, target) for source, target in pairs]


@pytest.mark.parametrize("name", TIERS)
@settings(max_examples=100, deadline=None)
@given(scripts(7))
def test_each_update_gives_the_closure_and_the_difference(name, script):
    with tier(name):
        checked = Checked(SymmetricClosure(), symmetric)
        for added, removed in script:
            checked.update(added, removed)


@settings(max_examples=60, deadline=None)
@given(scripts(7))
def test_searching_whole_components_gives_the_same(script):
    few, module._FEW_STEPS = module._FEW_STEPS, -1000
    try:
        checked = Checked(SymmetricClosure(), symmetric)
        for added, removed in script:
            checked.update(added, removed)
    finally:
        module._FEW_STEPS = few


def test_an_edge_joins_two_cliques_and_parts_them_again():
    checked = Checked(SymmetricClosure(), symmetric)
    checked.update(edges(*itertools.combinations(range(6), 2), *itertools.combinations(range(10, 14), 2)))
    assert checked.closure.count == 36 + 16
    checked.update(edges((13, 0)))
    assert checked.closure.count == 100
    checked.update(removed=edges((13, 0)))
    checked.update(removed=edges((0, 1)))
    assert checked.closure.count == 36 + 16


def test_a_node_without_edges_is_related_to_nothing():
    checked = Checked(SymmetricClosure(), symmetric)
    checked.update(edges((1, 2), (3, 3)))
    assert checked.closure.count == 4 + 1
    checked.update(removed=edges((1, 2), (3, 3)))
    assert checked.closure.count == 0
    checked.update(edges((2, 1)))


def test_an_edge_in_both_directions_must_go_twice():
    checked = Checked(SymmetricClosure(), symmetric)
    checked.update(edges((1, 2), (2, 1)))
    checked.update(removed=edges((1, 2)))
    assert checked.closure.count == 4
    checked.update(removed=edges((2, 1)))
    assert checked.closure.count == 0


def test_what_was_connected_only_through_a_node_that_is_cut_off_comes_apart():
    checked = Checked(SymmetricClosure(), symmetric)
    checked.update(edges((1, 2), (2, 3), (2, 4), (1, 1), (3, 3), (4, 4), (4, 5)))
    checked.update(removed=edges((1, 2), (2, 3), (2, 4)))


def test_moving_a_node_between_components_in_one_change():
    checked = Checked(SymmetricClosure(), symmetric)
    checked.update(edges((1, 2), (2, 3), (3, 4), (7, 8), (8, 9)))
    checked.update(edges((3, 7)), edges((2, 3)))
    checked.update(edges((2, 3), (20, 21)), edges((3, 7), (8, 9)))


def test_random_changes_of_a_larger_graph():
    random = np.random.default_rng(3)
    checked = Checked(SymmetricClosure(), symmetric)
    every = [(0, int(a), int(b)) for a, b in random.integers(0, 40, (45, 2))]
    checked.update(every[:30])
    for _ in range(6):
        picks = random.integers(0, len(every), 16)
        checked.update([every[pick] for pick in picks[:8]], [every[pick] for pick in picks[6:]])


def test_nodes_that_lost_all_edges_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "_FEW_NODES", 8)
    checked = Checked(SymmetricClosure(), symmetric)
    for start in range(0, 60, 3):
        checked.update(edges((start, start + 1)), edges((start - 3, start - 2)))
    assert checked.closure._graph.node_count < 40


def test_a_delta_of_an_earlier_update_is_refused():
    closure = SymmetricClosure()
    delta = closure.update(rows_of(edges((1, 2))), NONE)
    closure.update(rows_of(edges((2, 3))), NONE)
    with pytest.raises(UsageError, match="changed since"):
        delta.appeared()


def test_nothing_is_in_an_empty_closure():
    closure = SymmetricClosure()
    assert closure.count == 0
    assert list(closure.pairs()) == []
    assert closure.contains(rows_of([(0, 1, 1)])).tolist() == [False]
    assert closure.successors(rows_of([(0, 1)], 2))[1].tolist() == [0]
    assert closure.update(NONE, rows_of(edges((1, 2)))).vanished_count == 0
