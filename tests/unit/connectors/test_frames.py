from __future__ import annotations

import sys
from collections import namedtuple
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tidelog.connectors.frames import to_pandas, to_polars, to_rows, to_table
from tidelog.connectors.protocol import Nulls, Options
from tidelog.errors import InputError, UsageError
from tidelog.facts.columns import arrow_schema
from tidelog.schema import Schema
from unit.connectors.schemas import DONE, EDGE, NAME, PERSON, schema

NODE = schema("node", n="number")
FLOAT = schema("f", x="float")
Pair = namedtuple("Pair", "a b")


class Stream:
    """Speaks the Arrow stream interface and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Batch:
    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


TABLE = pa.table({"a": [1, 3], "b": [2, 4]})
STRUCTURED = np.array([(2, 1), (4, 3)], dtype=[("b", "i4"), ("a", "i8")])


@pytest.mark.parametrize(
    "rows",
    [
        [(1, 2), (3, 4)],
        ([1, 2], [3, 4]),
        (pair for pair in [(1, 2), (3, 4)]),
        [Pair(1, 2), (np.int32(3), np.uint8(4))],
        [{"b": 2, "a": 1}, {"a": 3, "b": 4, "c": 5}],
        {"b": [2, 4], "a": [1, 3]},
        {"b": np.array([2, 4]), "a": [1, 3]},
        {"x": pa.array([1, 3]), "y": pl.Series([2, 4])},
        np.array([[1, 2], [3, 4]], dtype=np.int16),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        STRUCTURED,
        TABLE,
        TABLE.select(["b", "a"]),
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        Stream(TABLE),
        Batch(TABLE.to_batches()[0]),
        pa.table({"a": pa.array([1, 3]).dictionary_encode(), "b": pa.array([Decimal(2), Decimal(4)])}),
        pd.DataFrame({"b": [2, 4], "a": [1, 3]}, index=[7, 8]),
        pd.DataFrame([[1, 2], [3, 4]]),
        pl.DataFrame({"a": [1, 3], "b": [2, 4]}),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_the_same_two_rows_come_from_everything(rows: object) -> None:
    table = to_table(rows, EDGE)
    assert table.schema == arrow_schema(EDGE)
    assert to_rows(table) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    "rows", [[1, 2], range(1, 3), [(1,), 2], np.array([1, 2]), pa.array([1, 2]), pd.Series([1, 2]), pl.Series([1, 2])]
)
def test_a_relation_with_one_attribute_takes_plain_values(rows: object) -> None:
    assert to_rows(to_table(rows, NODE)) == [(1,), (2,)]


def test_nothing_gives_an_empty_table_with_the_right_columns() -> None:
    assert to_table([], PERSON).schema == arrow_schema(PERSON)
    assert to_table(pl.DataFrame({"a": [], "b": []}), EDGE).num_rows == 0


def test_rows_without_columns_are_counted() -> None:
    assert to_rows(to_table([()], DONE)) == [()]
    assert to_rows(to_table([], DONE)) == []


@pytest.mark.parametrize(
    ("rows", "relation", "message"),
    [
        ([(1, 2), (1, True)], EDGE, "row 2: expected a number for attribute 'b' of edge(a: number, b: number)"),
        ([(1, None)], EDGE, "found NULL"),
        ([(1, "2")], EDGE, "found '2' (str)"),
        ([(1, 2.0)], EDGE, "found 2.0 (float)"),
        ([(1, 2**63)], EDGE, "found 9223372036854775808, which is outside"),
        ([(-1,)], schema("u", x="unsigned"), "which is outside 0"),
        ([(1, 2, 3)], EDGE, "row 1: expected 2 fields for edge(a: number, b: number), found 3: (1, 2, 3)"),
        (["ab"], EDGE, "expected a row of 2 fields"),
        ("ab", EDGE, "found a single str"),
        ((3, 1), EDGE, "found one row: give a list of rows, [(3, 1)]"),
        (["a", "b"], EDGE, "found one row: give a list of rows, [['a', 'b']]"),
        ({"a": 3, "b": 1}, EDGE, "found one row: give a list of rows, [{'a': 3, 'b': 1}]"),
        ({"x": "ab"}, NAME, "found one row: give a list of rows, [{'x': 'ab'}]"),
        (7, EDGE, "found int, which cannot be iterated"),
        ([{"a": 1}], EDGE, "row 1: 'b' is missing"),
        ([b"x"], NAME, "found b'x' (bytes)"),
        (["\ud800"], NAME, "not text"),
        ([float("nan")], FLOAT, "NaN is never a value"),
        ([2**53 + 1], FLOAT, "cannot hold exactly"),
        ([10**400], FLOAT, "too large"),
        ({"a": [1], "b": [1, 2]}, EDGE, "differ in length (a: 1, b: 2)"),
        ({"a": [1, 2], "b": [3, "x"]}, EDGE, "row 2: expected a number for attribute 'b'"),
        (np.zeros((2, 3), dtype=int), EDGE, "expected an array of shape (rows, 2)"),
        (np.array([[1.0, 2.5]]), EDGE, "b: number), found 2.5"),
        (np.array([[True, False]]), EDGE, "found True (bool)"),
        (pa.table({"a": [1]}), EDGE, "needs 2 columns, found 1 (a); missing: 'b'"),
        (pa.table({"a": [1, 2], "b": [1, None]}), EDGE, "row 2: expected a number for attribute 'b'"),
        (pa.table({"a": ["1"], "b": [1]}), EDGE, "found a column of string"),
        (pa.table({"x": [1.0, float("nan")]}), FLOAT, "row 2: expected a float for attribute 'x' of f(x: float)"),
        (pl.DataFrame({"a": [1, 2], "b": [2**63, 2]}), EDGE, "found 9223372036854775808"),
        (pd.DataFrame({"a": [1, 2], "b": [1, None]}), EDGE, "row 2: expected a number for attribute 'b'"),
        (pd.DataFrame({"a": [1, 2], "b": pd.Series([1, "x"], dtype=object)}), EDGE, "found 'x'"),
        (pa.table({"s": pa.array([b"\xff"])}), NAME, "row 1: expected a symbol"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(rows: object, relation: Schema, message: str) -> None:
    with pytest.raises(InputError) as caught:
        to_table(rows, relation)
    assert message in str(caught.value)


def test_rows_with_nulls_are_skipped_on_request() -> None:
    skip = Options(nulls=Nulls.SKIP)
    assert to_rows(to_table(pa.table({"a": [1, None, 3], "b": [2, 2, None]}), EDGE, skip)) == [(1, 2)]
    assert to_rows(to_table([(1, 2), (None, 3)], EDGE, skip)) == [(1, 2)]


def test_the_row_of_the_first_misfit_is_found_in_a_long_column() -> None:
    values = [1.0] * 100_000
    values[70_000] = 0.5
    with pytest.raises(InputError, match="row 70001: "):
        to_table(pa.table({"n": values}), NODE)


def test_negative_zero_becomes_zero_on_every_road() -> None:
    for rows in ([-0.0], np.array([-0.0]), pa.table({"x": [-0.0]}), [np.float64(-0.0)]):
        assert str(to_rows(to_table(rows, FLOAT))) == "[(0.0,)]"


def test_rows_go_back_to_frames() -> None:
    table = to_table([("ann", 7, 1.5)], PERSON)
    assert to_rows(table) == [("ann", 7, 1.5)]
    assert list(to_pandas(table).itertuples(index=False, name=None)) == [("ann", 7, 1.5)]
    assert to_polars(table).rows() == [("ann", 7, 1.5)]


def test_a_missing_library_is_named_with_what_installs_it(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UsageError, match=r"pip install 'tidelog\[polars\]'"):
        to_polars(to_table([], EDGE))
