"""Rows read at once are those read value by value; what is not for the kernel is left to others."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors import marshalled_rows
from tidelog.connectors.marshalled_rows import marshalled_table
from tidelog.connectors.python_rows import table_of_rows
from tidelog.kernels import jit
from unit.connectors.schemas import schema
from unit.kernels.forms import TIERS, tier

THING = schema("thing", name="symbol", size="number", weight="unsigned", colour="symbol")
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**33), 2**33) | st.integers(-3, 3)
TEXTS = st.text(max_size=6)
VALUES = st.one_of(NUMBERS, TEXTS, st.none(), st.booleans(), st.floats(), st.just(b"a"), st.just(np.int64(3)))


@pytest.fixture(autouse=True, scope="module")
def for_any_number_of_rows() -> Iterator[None]:
    with patch.object(marshalled_rows, "MANY_ROWS", 1), patch.object(jit, "is_compiled", lambda: True):
        yield


@pytest.mark.parametrize("form", TIERS)
@given(rows=st.lists(st.tuples(TEXTS, NUMBERS, st.integers(0, 2**60 - 1), TEXTS), min_size=1, max_size=8))
def test_rows_are_those_that_were_given(form, rows):
    with tier(form):
        table = marshalled_table(rows, THING)
        whole = table_of_rows(list(map(list, rows)), THING)
    is_short = all(abs(row[1]) < 2**60 for row in rows)
    assert (table is not None) == is_short
    for found in (table or whole, whole):
        assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == rows
        found.validate(full=True)


@pytest.mark.parametrize("form", TIERS)
@given(rows=st.lists(st.lists(VALUES, min_size=3, max_size=5).map(tuple) | TEXTS, min_size=1, max_size=5))
def test_rows_of_other_types_are_left_to_others(form, rows):
    types = [str, int, int, str]
    are_right = all(isinstance(row, tuple) and list(map(type, row)) == types for row in rows)
    fit = are_right and all(abs(row[1]) < 2**60 and 0 <= row[2] < 2**60 for row in rows)
    with tier(form):
        assert (marshalled_table(rows, THING) is not None) == fit


def test_half_of_a_pair_is_no_text():
    assert marshalled_table([("\ud800", 1, 1, "")], THING) is None
    assert marshalled_table([("\ud7ff\ue000", 1, 1, "")], THING) is not None


def test_floats_are_left_to_others():
    assert marshalled_table([(1.5,)], schema("f", x="float")) is None
