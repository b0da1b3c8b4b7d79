"""Values survive interning: the same value has the same id, and an id gives its value back."""

from __future__ import annotations

import math
from itertools import chain
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.errors import LimitError
from tidelog.facts import values as values_file
from tidelog.facts.columns import ARROW_TYPES, column_of
from tidelog.facts.values import Values
from tidelog.schema import Kind
from unit.kernels.forms import TIERS, tier

EDGES = {
    Kind.NUMBER: [0, 1, -1, 2**63 - 1, -(2**63), 2**31, -(2**31)],
    Kind.UNSIGNED: [0, 1, 2**63, 2**64 - 1, 2**32],
    Kind.FLOAT: [0.0, 1.5, -1.5, math.inf, -math.inf, 5e-324, 1.7976931348623157e308],
    Kind.SYMBOL: ["", "a", " ", "\t\n", "日本", "é", "e\u0301", "\0", "🌊" * 300],
}
ANY = {
    Kind.NUMBER: st.integers(-(2**63), 2**63 - 1),
    Kind.UNSIGNED: st.integers(0, 2**64 - 1),
    Kind.FLOAT: st.floats(allow_nan=False).map(lambda number: number + 0.0),
    Kind.SYMBOL: st.text(max_size=8),
}
kinds = pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)


def numbered(values):
    """The id of each value, counted from 0 in order of arrival."""
    known = {}
    return [known.setdefault(value, len(known)) for value in values]


@kinds
@pytest.mark.parametrize("form", TIERS)
def test_edges_read_back_as_they_were(kind, form):
    with tier(form):
        values = Values()
        ids = values.encode(kind, column_of(kind, EDGES[kind] * 2))
        assert ids.dtype == np.int32
        assert ids.tolist() == 2 * list(range(len(EDGES[kind])))
        assert values.decode(kind, ids[::-1].copy()).to_pylist() == 2 * EDGES[kind][::-1]
        assert values.size(kind) == len(EDGES[kind])


@kinds
@settings(max_examples=30)
@given(data=st.data())
def test_ids_count_different_values_in_order_of_arrival(kind, data):
    batches = data.draw(st.lists(st.lists(ANY[kind] | st.sampled_from(EDGES[kind]), max_size=30), max_size=3))
    values = Values()
    ids = [number for batch in batches for number in values.identify_all(kind, batch).tolist()]
    everything = [value for batch in batches for value in batch]
    assert ids == numbered(everything)
    column = values.decode(kind, np.array(ids, np.int32))
    assert column.type == ARROW_TYPES[kind]
    assert column.to_pylist() == everything


@kinds
@pytest.mark.parametrize("form", TIERS)
def test_many_values_outgrow_every_table(kind, form):
    many = [to_kind(kind, number) for number in range(1000)]
    with tier(form):
        values = Values()
        assert values.identify_all(kind, many + many[::-1]).tolist() == [*range(1000), *reversed(range(1000))]
        assert values.identify_one(kind, many[777]) == 777
        assert values.decode(kind, np.arange(1000, dtype=np.int32)).to_pylist() == many


def to_kind(kind, number):
    return f"text {number}" * (number % 3) + str(number) if kind is Kind.SYMBOL else number


@kinds
def test_sliced_and_chunked_columns_are_read_where_they_lie(kind):
    values = Values()
    whole = column_of(kind, EDGES[kind])
    expected = values.encode(kind, whole).tolist()
    assert values.encode(kind, whole.slice(2, 3)).tolist() == expected[2:5]
    assert values.encode(kind, whole.slice(1).slice(1, 2)).tolist() == expected[2:4]
    pieces = pa.chunked_array([whole.slice(3), whole.slice(0, 0), whole.slice(0, 3)])
    assert values.encode(kind, pieces).tolist() == expected[3:] + expected[:3]
    assert values.encode(kind, whole.slice(len(whole))).tolist() == []
    assert values.encode(kind, pa.chunked_array([], ARROW_TYPES[kind])).tolist() == []
    assert values.size(kind) == len(expected)


def test_columns_that_arrow_made_itself_are_read():
    values = Values()
    column = pa.array(["", "b", "", "long enough to matter"], pa.large_string())
    assert values.encode(Kind.SYMBOL, column).tolist() == [0, 1, 0, 2]
    assert values.encode(Kind.SYMBOL, pa.array(["", ""], pa.large_string())).tolist() == [0, 0]
    assert values.encode(Kind.NUMBER, pa.array([-1, 5, -1])).tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("form", TIERS)
def test_a_column_of_rows_is_read_as_a_column_of_ids_is(kind, form):
    with tier(form):
        values = Values()
        ids = values.identify_all(kind, EDGES[kind])
        rows = np.stack([ids[::-1], ids, ids[::-1]], axis=1)
        assert values.decode_column(kind, rows, 1).to_pylist() == EDGES[kind]
        assert values.decode_column(kind, rows, 2).to_pylist() == EDGES[kind][::-1]


def test_negative_zero_is_zero():
    values = Values()
    ids = values.encode(Kind.FLOAT, column_of(Kind.FLOAT, [0.0, -0.0]))
    assert ids.tolist() == [0, 0]
    assert math.copysign(1.0, values.numbers(Kind.FLOAT, ids)[1]) == 1.0


def test_each_kind_counts_its_own_ids():
    values = Values()
    assert [values.identify_one(kind, EDGES[kind][0]) for kind in Kind] == [0, 0, 0, 0]
    assert [values.size(kind) for kind in Kind] == [1, 1, 1, 1]


def test_numbers_come_in_the_dtype_of_their_kind():
    values = Values()
    for kind, dtype in ((Kind.NUMBER, np.int64), (Kind.UNSIGNED, np.uint64), (Kind.FLOAT, np.float64)):
        numbers = np.array(EDGES[kind], dtype)
        assert np.array_equal(values.numbers(kind, values.identify(kind, numbers[::-1])), numbers[::-1])
        assert values.numbers(kind, values.identify(kind, numbers)).dtype == dtype


def test_threads_agree_on_ids():
    values = Values()
    texts = [f"text {number}" for number in range(2000)]
    found = {}
    threads = [
        Thread(target=lambda turn=turn: found.update({turn: values.identify_all(Kind.SYMBOL, texts[::turn])}))
        for turn in (1, -1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[1].tolist() == found[-1][::-1].tolist()
    assert values.decode(Kind.SYMBOL, found[1]).to_pylist() == texts


def test_too_many_values_are_a_limit_error(monkeypatch):
    monkeypatch.setattr(values_file, "_MOST_IDS", 64)
    with pytest.raises(LimitError, match="different values"):
        Values().identify_all(Kind.NUMBER, range(200))


@pytest.mark.parametrize("form", TIERS)
@settings(max_examples=30)
@given(batches=st.lists(st.lists(st.integers(0, 30), min_size=20, max_size=60), max_size=3), shift=st.integers(-9, 9))
def test_numbers_near_to_one_another_get_the_ids_of_others(form, batches, shift):
    far = [[number + shift * 10**6 for number in batch] for batch in batches]
    with tier(form), pytest.MonkeyPatch.context() as patch:
        patch.setattr(values_file, "_MANY_WORDS", 1)
        values = Values()
        ids = [values.identify_all(Kind.NUMBER, batch).tolist() for batch in far]
    given_in_all = list(chain.from_iterable(far))
    assert list(chain.from_iterable(ids)) == numbered(given_in_all)
    known = values.decode(Kind.NUMBER, np.arange(values.size(Kind.NUMBER)))
    assert known.to_pylist() == list(dict.fromkeys(given_in_all))
