"""Hash numbers spread over all bits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kernels.hashing import mix, sum_of_rows
from unit.kernels.forms import run_both

_ALL_BITS = 2**64 - 1


def mixed(key: int) -> int:
    """The model of `mix`, over Python's own integers."""
    key ^= key >> 32
    key = key * 0x9E3779B97F4A7C15 & _ALL_BITS
    key ^= key >> 32
    key = key * 0xD6E8FEB86659FD93 & _ALL_BITS
    return key ^ (key >> 32)


@given(st.integers(0, _ALL_BITS))
def test_mix_is_the_same_number_as_exact_arithmetic_gives(key):
    assert int(run_both(mix, np.uint64(key))) == mixed(key)


def test_neighbours_fall_into_different_places():
    places = {int(mix(np.uint64(key))) % 1024 for key in range(1024)}
    assert len(places) > 600


def test_different_keys_have_different_hash_numbers():
    assert len({int(mix(np.uint64(key << 32 | key))) for key in range(2000)}) == 2000


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), unique=True), st.randoms())
def test_the_sum_of_rows_does_not_depend_on_their_order_but_on_each_of_them(rows, chance):
    def total(some):
        return int(run_both(sum_of_rows, np.array(some, np.int32).reshape(-1, 2), np.uint64(3)))

    assert total(chance.sample(rows, len(rows))) == total(rows)
    if rows:
        assert total(rows[1:]) != total(rows)
