"""Lent arrays: nobody gets one that somebody else has."""

from __future__ import annotations

from tidelog.facts.buffers import SIZE, borrow, give_back


def test_an_array_that_was_given_back_is_lent_again_and_never_twice_at_once():
    first = borrow(3)
    assert first.shape == (SIZE, 3)
    give_back(first)
    second, third = borrow(3), borrow(3)
    assert second is first
    assert third is not first
