"""Keys are found where a sorted list has them, written out or as runs of neighbours."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kernels.chains import find_keys
from unit.kernels.forms import run_both

keys_of_facts = st.lists(st.integers(0, 40), unique=True).map(sorted)


def runs_of(keys):
    begins = [place for place, key in enumerate(keys) if place == 0 or keys[place - 1] != key - 1]
    return [keys[place] for place in begins], begins


@given(keys_of_facts, st.lists(st.integers(-2, 43)))
def test_a_key_has_the_place_that_a_list_gives_it(keys, wanted):
    expected = [keys.index(key) if key in keys else -1 for key in wanted]
    for some, places in ((keys, []), runs_of(keys)):
        found = np.empty(len(wanted), np.int64)
        arrays = np.array(some, np.int64), np.array(places, np.int32)
        hits = run_both(find_keys, *arrays, len(keys), np.array(wanted, np.int64), found)
        assert (hits, found.tolist()) == (sum(place >= 0 for place in expected), expected)
