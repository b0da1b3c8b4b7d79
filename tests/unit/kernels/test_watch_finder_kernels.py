"""Finders: a number is found by its hash until it leaves, however large the table becomes."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.watch_finder import NONE, found_at, leave, move_finder, tag_of, word_of
from unit.kernels.forms import run_both


def hashes(count):
    return np.random.default_rng(7).integers(0, 2**64, count, np.uint64)


def entered(codes, size):
    """A finder in which the i-th hash finds i."""
    finder = np.zeros(size, np.int64)
    for number, code in enumerate(codes):
        finder[place_of(finder, code, NONE)] = word_of(code, np.int64(number))
    return finder


def place_of(finder, code, number):
    """The first place from that of a hash on where the number is, or nothing if it is NONE; -1 if there is none."""
    place = int(tag_of(code)) % finder.size
    while (found := int(found_at(finder, place))) != number:
        if found == NONE:
            return -1
        place = (place + 1) % finder.size
    return place


def test_what_a_finder_finds_is_found_in_the_larger_one_it_is_moved_to():
    codes = hashes(30)
    larger = np.zeros(256, np.int64)
    run_both(move_finder, entered(codes, 64), larger, np.empty(10, np.int64))
    assert all(place_of(larger, code, number) >= 0 for number, code in enumerate(codes))
    assert np.count_nonzero(larger) == 30


def test_a_number_that_leaves_hides_no_other():
    codes = hashes(30)
    finder = entered(codes, 32)
    for number in range(0, 30, 2):
        run_both(leave, finder, codes[number], np.int64(number))
    assert [place_of(finder, code, number) >= 0 for number, code in enumerate(codes)] == [False, True] * 15
