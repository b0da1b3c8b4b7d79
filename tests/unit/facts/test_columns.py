"""Whether rows come in ascending order is seen however their columns are cut."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidelog.facts.columns import is_ascending
from tidelog.schema import Kind

numbers = st.integers(-2, 3)
rows = st.lists(st.tuples(numbers, numbers), max_size=40)


def chunked(values, cuts):
    """A column cut at these places; pieces may be empty."""
    places = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    return pa.chunked_array([pa.array(values[a:b], pa.int64()) for a, b in pairwise(places)], pa.int64())


cuts = st.lists(st.integers(0, 40), max_size=3)


@given(st.one_of(rows, rows.map(sorted), rows.map(lambda some: sorted(set(some)))), cuts, cuts)
def test_ascending_rows_are_known(given_rows, first_cuts, second_cuts):
    columns = [
        chunked([row[place] for row in given_rows], places) for place, places in enumerate((first_cuts, second_cuts))
    ]
    table = pa.table(columns, names=["x", "y"])
    assert is_ascending(table, (Kind.NUMBER, Kind.NUMBER)) == all(a < b for a, b in pairwise(given_rows))
