"""The store hands out indexes that are right for what is stored now, and counts what an optimiser asks."""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.store import Store
from tidelog.plan.nodes import Version
from tidelog.schema import Attribute, Kind, Schema

EDGE = Schema("edge", (Attribute("a", "number", Kind.NUMBER), Attribute("b", "number", Kind.NUMBER)))


def store_of(*rows):
    store = Store({"edge": EDGE})
    insert(store, *rows)
    return store


def insert(store, *rows):
    numbers = np.array(rows, np.int64).reshape(-1, 2)
    ids = store.values.identify(Kind.NUMBER, numbers.reshape(-1)).reshape(-1, 2)
    return store.relations["edge"].insert(ids)


def test_bounds_follow_the_versions():
    store = store_of((1, 2), (2, 3))
    store.relations["edge"].stage(np.array([(0, 0)], np.int32))
    store.relations["edge"].advance()
    assert [store.bounds("edge", version) for version in (Version.OLD, Version.DELTA, Version.FULL)] == [
        (0, 2),
        (2, 3),
        (0, 3),
    ]
    assert store.rows("edge", Version.DELTA) == 1


def test_the_same_index_is_kept_and_forgotten_when_the_relation_is_cleared():
    store = store_of((1, 2))
    index = store.index("edge", (0,))
    assert store.index("edge", (0,)) is index
    store.clear("edge")
    assert store.rows("edge", Version.FULL) == 0
    insert(store, (1, 5))
    assert store.index("edge", (0,)).distinct() == 1
    assert store.index("edge", (0,)) is not index


def test_an_ordered_index_is_made_anew_when_rows_have_come():
    store = store_of((1, 20), (1, 10))
    first = store.ordered_index("edge", (0,), 1, Version.FULL)
    assert store.ordered_index("edge", (0,), 1, Version.FULL) is first
    insert(store, (1, 15))
    assert first.values.tolist() == [10, 20]
    assert store.ordered_index("edge", (0,), 1, Version.FULL).values.tolist() == [10, 15, 20]


def test_an_ordered_index_is_not_remembered_over_a_clear():
    store = store_of((1, 20), (1, 10))
    store.ordered_index("edge", (0,), 1, Version.FULL)
    store.clear("edge")
    insert(store, (1, 7), (1, 3))
    assert store.ordered_index("edge", (0,), 1, Version.FULL).values.tolist() == [3, 7]


def test_distinct_counts_values_and_is_never_less_than_one():
    store = store_of()
    assert store.distinct("edge", (0,)) == 1
    assert store.distinct("edge", ()) == 1
    insert(store, *((number % 3, number) for number in range(12)))
    assert store.distinct("edge", (0,)) == 3
    assert store.distinct("edge", (1,)) == 12
    assert store.distinct("edge", (0, 1)) == 12


def test_distinct_of_several_columns_is_exact_where_there_is_an_index():
    store = store_of(*((number % 2, number % 3) for number in range(2)), (1, 1), (2, 2))
    assert store.distinct("edge", (0, 1)) == 3
    store.index("edge", (0, 1))
    assert store.distinct("edge", (0, 1)) == 3
