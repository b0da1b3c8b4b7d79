"""A transitive closure under change is what a set of pairs would be, and its deltas are the difference of the sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.errors import LimitError, UsageError
from tidelog.facts import closure as closures
from tidelog.facts import transitive as module
from tidelog.facts.closure import ClosureTooLarge, End
from tidelog.facts.graph import Graph
from tidelog.facts.nodes import SOURCE
from tidelog.facts.reach_rows import ListRows
from tidelog.facts.transitive import Form, TransitiveClosure
from unit.facts.closure_model import Checked, dense_edges, rows_of, scripts, transitive, tuples
from unit.kernels.forms import TIERS, tier

NONE = rows_of([])
forms = pytest.mark.parametrize("form", list(Form))


def edges(*pairs):
    return [(0, source, target) for source, target in pairs]


@forms
@pytest.mark.parametrize("name", TIERS)
@settings(max_examples=60, deadline=None)
@given(scripts(6))
def test_each_update_gives_the_closure_and_the_difference(form, name, script):
    with tier(name):
        checked = Checked(TransitiveClosure(form=form), transitive)
        for added, removed in script:
            checked.update(added, removed)


@pytest.mark.parametrize("name", TIERS)
@settings(max_examples=100, deadline=None)
@given(scripts(9))
def test_changes_between_known_nodes_are_followed(name, script):
    with tier(name):
        checked = Checked(TransitiveClosure(form=Form.BITS), transitive)
        # All nodes are there from the start, so that later changes can leave the components as they are.
        checked.update([(group, 1000 * node + 7, 9999) for group in (0, 3) for node in range(9)])
        for added, removed in script:
            checked.update(added, removed)


@forms
@pytest.mark.parametrize("name", TIERS)
@settings(max_examples=60, deadline=None)
@given(dense_edges(6), st.lists(st.tuples(dense_edges(9), dense_edges(9)), max_size=3), scripts(4))
def test_nodes_that_were_numbered_by_their_ids_are_followed(form, name, first, near, far):
    with tier(name):
        checked = Checked(TransitiveClosure(form=form), transitive)
        checked.update(first)
        for added, removed in (*near, *far):
            checked.update(added, removed)


@pytest.mark.parametrize(
    ("ids", "numbers"), [((0, 1, 3), [0, 1, 3]), ((0, 1, 2, 7), [0, 1, 2, 7]), ((0, 1, 2, 8), [0, 1, 2, 3])]
)
def test_nodes_are_numbered_by_ids_of_which_half_are_nodes(ids, numbers):
    graph = Graph()
    graph.begin(rows_of(edges(*pairwise(ids))))
    assert graph.find(rows_of([(0, node) for node in ids], 2), SOURCE).tolist() == numbers


def test_the_first_delta_knows_its_sources():
    closure = TransitiveClosure()
    delta = closure.update(rows_of(edges((0, 1), (1, 2))), NONE)
    assert tuples(delta.appeared_ends(End.SOURCE)) == [(0, 0), (0, 1)]
    assert tuples(delta.vanished_ends(End.SOURCE)) == []
    assert delta.appeared_ends(End.TARGET) is None


def test_many_changes_of_an_acyclic_graph_are_followed():
    random = np.random.default_rng(7)
    ends = np.sort(random.permuted(np.tile(np.arange(150), (400, 1)), axis=1)[:, :2], axis=1)
    every = [(0, int(a), int(b)) for a, b in ends]
    checked = Checked(TransitiveClosure(form=Form.BITS), transitive)
    checked.update(every)
    for _ in range(3):
        gone = [every[pick] for pick in random.integers(0, len(every), 40)]
        checked.update(removed=gone)
        checked.update(gone[:30])
        checked.update(gone[20:], gone[:10] + gone[30:])
        checked.update(gone[:10])


@forms
@settings(max_examples=40, deadline=None)
@given(scripts(12), st.integers(0, 7))
def test_an_update_turned_round_undoes_it(form, script, at):
    closure = TransitiveClosure(form=form)
    present = set()
    for added, removed in script[:at]:
        closure.update(rows_of(added), rows_of(removed))
        present = (present - set(removed)) | set(added)
    before = sorted(row for piece in closure.pairs() for row in tuples(piece))
    for added, removed in script[at : at + 1]:
        new = set(added) - present
        gone = (set(removed) & present) - set(added)
        there = closure.update(rows_of(new), rows_of(gone))
        back = closure.update(rows_of(gone), rows_of(new))
        assert (there.appeared_count, there.vanished_count) == (back.vanished_count, back.appeared_count)
    assert sorted(row for piece in closure.pairs() for row in tuples(piece)) == before


@forms
def test_closing_a_chain_to_a_ring_and_cutting_it_again(form):
    checked = Checked(TransitiveClosure(form=form), transitive)
    checked.update(edges(*((n, n + 1) for n in range(9))))
    checked.update(edges((9, 0)))
    assert checked.closure.count == 100
    checked.update(edges((20, 4), (5, 30)))
    checked.update(removed=edges((4, 5)))
    checked.update(edges((4, 5)), edges((9, 0), (2, 3)))


@forms
def test_removing_one_of_two_ways_changes_nothing(form):
    checked = Checked(TransitiveClosure(form=form), transitive)
    checked.update(edges((1, 2), (2, 4), (1, 3), (3, 4), (4, 5), (1, 5)))
    delta = checked.closure.update(NONE, rows_of(edges((1, 5))))
    assert (delta.appeared_count, delta.vanished_count) == (0, 0)


@forms
def test_a_loop_is_a_pair_and_goes_with_its_edge(form):
    checked = Checked(TransitiveClosure(form=form), transitive)
    checked.update(edges((1, 1), (1, 2)))
    checked.update(removed=edges((1, 1)))
    checked.update(edges((1, 1)), edges((1, 1)))


@forms
def test_edges_twice_present_or_absent_have_no_effect(form):
    checked = Checked(TransitiveClosure(form=form), transitive)
    checked.update(edges((1, 2), (1, 2), (2, 3)))
    checked.update(edges((1, 2), (3, 4), (3, 4)), edges((2, 3), (2, 3), (7, 8), (3, 1)))


@forms
def test_nothing_is_in_an_empty_closure(form):
    closure = TransitiveClosure(form=form)
    assert closure.count == 0
    assert list(closure.pairs()) == []
    assert closure.contains(rows_of([(0, 1, 2)])).tolist() == [False]
    for begins, lengths, payload in (
        closure.successors(rows_of([(0, 1)], 2)),
        closure.predecessors(rows_of([(0, 1)], 2)),
    ):
        assert (begins.tolist(), lengths.tolist(), payload.shape) == ([0], [0], (0, 1))
    assert closure.update(NONE, NONE).appeared_count == 0


@forms
def test_rows_wider_than_a_word_are_kept_under_random_change(form):
    random = np.random.default_rng(5)
    checked = Checked(TransitiveClosure(form=form), transitive)
    every = [(0, int(a), int(b)) for a, b in random.integers(0, 90, (110, 2))]
    checked.update(every[:80])
    for _ in range(4):
        picks = random.integers(0, len(every), 12)
        checked.update([every[pick] for pick in picks[:8]], [every[pick] for pick in picks[4:]])


def test_bits_turn_into_lists_and_back_by_size(monkeypatch):
    monkeypatch.setattr(module, "FEW_BYTES", 512)
    checked = Checked(TransitiveClosure(), transitive)
    checked.update(edges(*((n, n + 1) for n in range(0, 40, 2))))
    assert checked.closure._rows.words.size
    checked.update(edges(*((n, n + 1) for n in range(100, 140, 2))))
    assert not checked.closure._rows.words.size, "many nodes, few pairs"
    checked.update(edges(*((n, n + 1) for n in range(40)), *((n + 101, n + 100) for n in range(40))))
    checked.update(edges((40, 140)))
    assert checked.closure._rows.words.size, "many pairs"
    checked.update(removed=edges((30, 31)))


def test_a_closure_that_is_too_large_is_refused_and_nothing_has_changed():
    checked = Checked(TransitiveClosure(form=Form.LISTS, most_bytes=1 << 12), transitive)
    few = edges((1, 2), (2, 3))
    checked.update(few)
    with pytest.raises(LimitError, match="transitive closure"):
        checked.closure.update(rows_of(edges(*((n, n + 1) for n in range(100)))), rows_of(few))
    checked.compare(transitive(few))
    checked.update(edges((3, 4)))


def test_a_closure_that_will_be_too_large_is_refused_before_it_is_computed(monkeypatch):
    monkeypatch.setattr(module, "FEW_BYTES", 0)
    monkeypatch.setattr(ListRows, "compute", None)
    closure = TransitiveClosure(most_bytes=1 << 10)
    with pytest.raises(ClosureTooLarge, match="compact form"):
        closure.update(rows_of(edges(*((n, n + 1) for n in range(200)))), NONE)
    assert closure.count == 0


def test_a_closure_of_many_nodes_and_few_pairs_is_kept_as_lists(monkeypatch):
    monkeypatch.setattr(module, "FEW_BYTES", 0)
    checked = Checked(TransitiveClosure(most_bytes=1 << 10), transitive)
    checked.update(edges(*((n, n + 1) for n in range(0, 160, 2))))
    assert not checked.closure._rows.words.size


def test_a_delta_of_an_earlier_update_is_refused():
    closure = TransitiveClosure()
    delta = closure.update(rows_of(edges((1, 2))), NONE)
    pairs = closure.pairs()
    closure.update(rows_of(edges((2, 3))), NONE)
    with pytest.raises(UsageError, match="changed since"):
        delta.appeared()
    assert len(list(pairs)) == 1, "an iterator begins when it is first read"


def test_nodes_that_lost_all_edges_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "_FEW_NODES", 8)
    checked = Checked(TransitiveClosure(), transitive)
    for start in range(0, 60, 3):
        checked.update(
            edges((start, start + 1), (start + 1, start + 2)), edges((start - 3, start - 2), (start - 2, start - 1))
        )
    assert checked.closure._graph.node_count < 40


def test_pairs_come_in_pieces(monkeypatch):
    monkeypatch.setattr(closures, "PAIRS_AT_ONCE", 5)
    checked = Checked(TransitiveClosure(), transitive)
    checked.update(edges((1, 2), (2, 3), (3, 4), (4, 5)))
    assert [len(piece) for piece in checked.closure.pairs()] == [4, 5, 1]
