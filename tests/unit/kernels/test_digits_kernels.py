"""Numbers sorted by digits are in the order that comparing them gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kernels.digits import sort_by_digits
from unit.kernels.forms import TIERS, run_both, tier


def in_order(numbers: np.ndarray, low: int, high: int) -> list[int]:
    spare = np.zeros_like(numbers)
    return (spare if sort_by_digits(numbers, spare, low, high) else numbers).tolist()


@pytest.mark.parametrize("form", TIERS)
@given(bits=st.integers(1, 62), low=st.integers(0, 8), data=st.data())
def test_numbers_are_sorted_by_the_bits_asked_for_and_equal_ones_stay_as_they_came(form, bits, low, data):
    numbers = data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=40))
    with tier(form):
        found = in_order(np.array(numbers, np.int64), low, bits)
    assert found == sorted(numbers, key=lambda number: number >> low)


@pytest.mark.parametrize("size", [1 << 9, 1 << 12, 1 << 15])
def test_wider_digits_for_more_numbers_give_the_same_order(size):
    numbers = np.random.default_rng(size).integers(0, 1 << 40, size)
    with tier(TIERS[-1]):
        assert in_order(numbers.copy(), 0, 40) == np.sort(numbers).tolist()


def test_both_forms_write_the_same():
    numbers = np.array([5, 3, 1 << 20, 3, 0, 77], np.int64)
    assert run_both(sort_by_digits, numbers, np.zeros_like(numbers), 0, 21) in (True, False)
