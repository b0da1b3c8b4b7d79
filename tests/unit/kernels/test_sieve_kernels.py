"""A sieve lets through all that it was made of, in order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kernels.sieve import make_sieve, sift
from unit.kernels.forms import run_both

keys = st.lists(st.integers(0, 2**62), max_size=20)


@given(keys, keys, st.sampled_from([1, 2, 64]))
def test_what_is_looked_for_passes_and_little_else(wanted, others, words):
    bits = np.zeros(words, np.int64)
    run_both(make_sieve, np.array(wanted, np.int64), bits)
    offered = np.array([*others, *wanted], np.int64)
    out, numbers = np.zeros(offered.size + 1, np.int64), np.zeros(offered.size + 1, np.int32)
    found = run_both(sift, offered, bits, out, numbers)
    assert set(wanted) <= set(out[:found].tolist())
    assert numbers[:found].tolist() == sorted(set(numbers[:found].tolist()))
    assert out[:found].tolist() == offered[numbers[:found]].tolist()
    if not wanted:
        assert not found
