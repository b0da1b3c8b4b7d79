"""Facts are found among rows, by whichever way is quicker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.facts.fact_set import FactSet
from tidelog.facts.search import numbers_among


def array(rows, width):
    return np.array(rows, np.int32).reshape(-1, width)


@pytest.mark.parametrize("width", [1, 2, 3])
@given(st.data())
def test_the_numbers_of_all_rows_that_are_among_the_facts(width, data):
    row = st.tuples(*[st.integers(0, 3)] * width)
    rows = data.draw(st.lists(row, max_size=30))
    facts = data.draw(st.lists(row, max_size=8, unique=True))
    found = numbers_among(array(rows, width), FactSet(array(facts, width)))
    assert found.dtype == np.int32
    assert found.tolist() == [number for number, each in enumerate(rows) if each in facts]
