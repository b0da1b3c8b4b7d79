"""The store hands out indexes that are right for what is stored now, and counts what an optimiser asks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.backends.local import store as store_file
from tidelog.backends.local.store import Store, different_ids, drawn
from tidelog.facts.fact_set import FactSet
from tidelog.facts.values import Values
from tidelog.plan.nodes import Version
from tidelog.schema import Attribute, Kind, Schema

EDGE = Schema("edge", (Attribute("a", "number", Kind.NUMBER), Attribute("b", "number", Kind.NUMBER)))


def store_of(*rows):
    store = Store({"edge": EDGE}, Values())
    insert(store, *rows)
    return store


def insert(store, *rows):
    numbers = np.array(rows, np.int64).reshape(-1, 2)
    ids = store.values.identify(Kind.NUMBER, numbers.reshape(-1)).reshape(-1, 2)
    return store.relations["edge"].insert(ids)


def remove(store, *rows):
    ids = store.values.identify(Kind.NUMBER, np.array(rows, np.int64).reshape(-1)).reshape(-1, 2)
    store.relations["edge"].remove(FactSet(ids))


def ages(store, relation):
    store.marked[relation] = FactSet(store.read(relation, Version.FULL))
    return store.ages_of_marked(relation)[:, -1].tolist()


def test_what_is_read_follows_the_versions():
    store = store_of((1, 2), (2, 3))
    store.relations["edge"].stage(np.array([(0, 0)], np.int32))
    store.relations["edge"].advance()
    counts = [(2, Version.OLD), (1, Version.DELTA), (3, Version.FULL)]
    for count, version in counts:
        assert len(store.read("edge", version)) == store.rows("edge", version) == count
    assert store.read("edge", Version.DELTA).tolist() == [[0, 0]]


def test_the_same_index_is_kept_and_forgets_its_rows_when_the_relation_is_cleared():
    store = store_of((1, 2))
    index = store.index("edge", (0,))
    assert store.index("edge", (0,)) is index
    store.clear("edge")
    assert store.rows("edge", Version.FULL) == 0
    insert(store, (1, 5))
    assert store.index("edge", (0,)) is index
    assert index.distinct() == 1


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


@pytest.mark.parametrize("ids", [7, 1_000, 30_000, 200_000])
def test_different_ids_of_many_rows_are_guessed_from_some(ids):
    rows = np.random.default_rng(ids).integers(0, ids, (300_000, 1), np.int32)
    assert different_ids(drawn(rows), 0, rows.shape[0]) == pytest.approx(np.unique(rows).size, rel=0.35)


def test_ids_that_are_all_different_are_guessed_to_be():
    rows = np.arange(400_000, dtype=np.int32).reshape(-1, 2)
    assert different_ids(drawn(rows), 0, rows.shape[0]) == pytest.approx(200_000, rel=0.15)


def test_distinct_of_several_columns_is_exact_where_there_is_an_index():
    store = store_of(*((number % 2, number % 3) for number in range(2)), (1, 1), (2, 2))
    assert store.distinct("edge", (0, 1)) == 3
    store.index("edge", (0, 1))
    assert store.distinct("edge", (0, 1)) == 3


def test_removed_rows_are_neither_read_nor_counted():
    store = store_of((1, 2), (2, 3), (3, 4))
    before = store.read("edge", Version.FULL).tolist()
    remove(store, (2, 3))
    assert store.read("edge", Version.FULL).tolist() == [before[0], before[2]]
    assert store.rows("edge", Version.FULL) == 2


def test_an_ordered_index_is_made_anew_when_rows_have_gone():
    store = store_of((1, 20), (1, 10))
    store.ordered_index("edge", (0,), 1, Version.FULL)
    remove(store, (1, 10))
    assert store.ordered_index("edge", (0,), 1, Version.FULL).values.tolist() == [20]


def test_an_ordered_index_notices_a_row_that_went_and_came_again_elsewhere():
    store = store_of((1, 20), (1, 10))
    store.ordered_index("edge", (0,), 1, Version.FULL)
    remove(store, (1, 10))
    insert(store, (1, 30))
    assert store.ordered_index("edge", (0,), 1, Version.FULL).values.tolist() == [20, 30]


def test_marked_rows_are_read_whether_they_are_stored_or_not():
    store = store_of((1, 2))
    store.marked["edge"] = FactSet(np.array([(5, 5), (6, 6)], np.int32))
    assert store.read("edge", Version.MARKED).tolist() == [[5, 5], [6, 6]]
    assert store.rows("edge", Version.MARKED) == 2


def test_an_era_ends_where_the_next_one_begins():
    store = store_of((1, 2), (2, 3))
    store.begin_era()
    insert(store, (3, 4))
    first, second, third = ages(store, "edge")
    assert store.end_of_era(first) == store.end_of_era(second) == third
    assert store.end_of_era(third) == store.clock.now


def test_ages_without_gaps_keep_their_order(monkeypatch):
    monkeypatch.setattr(store_file, "_MANY_AGES", 20)
    store = Store({"edge": EDGE, "other": replace(EDGE, relation="other")}, Values())
    one, two = store.relations["edge"], store.relations["other"]
    two.insert(np.array([(number, 0) for number in range(9)], np.int32))
    two.clear()
    for number in range(30):
        (one if number % 3 else two).insert(np.array([(number, number)], np.int32))
        if number > 2:
            relation = one if (number - 2) % 3 else two
            relation.remove(FactSet(np.array([(number - 2, number - 2)], np.int32)))
            relation.insert(np.array([(number - 2, number - 2)], np.int32))
    before = {name: ages(store, name) for name in ("edge", "other")}
    store.begin_era()
    after = {name: ages(store, name) for name in ("edge", "other")}

    def order(ages):
        return [key for _, key in sorted((age, (name, row)) for name in ages for row, age in enumerate(ages[name]))]

    assert order(after) == order(before)
    assert max(after["edge"] + after["other"]) < max(before["edge"] + before["other"])
    assert max(after["edge"] + after["other"]) < store.clock.now
    insert(store, (100, 100))
    assert max(ages(store, "edge")) > max(after["edge"] + after["other"])


WIDE = Schema("wide", tuple(Attribute(name, "number", Kind.NUMBER) for name in "abc"))
wide_rows = st.lists(st.tuples(*3 * [st.integers(0, 2)]), unique=True, max_size=12)
moves = st.one_of(
    st.tuples(st.just("come"), wide_rows),
    st.tuples(st.just("go"), wide_rows),
    st.tuples(st.just("look"), st.sampled_from([(0,), (1, 0), (0, 1, 2)])),
)


def facts(rows):
    made = FactSet(np.array(rows, np.int32).reshape(-1, 3))
    assert made.membership  # as facts have that were gathered
    return made


@settings(max_examples=150)
@given(st.lists(moves, max_size=12), st.sampled_from([1, 2, 64]))
def test_rows_that_come_and_go_are_known_whatever_finds_them(script, short_block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_file, "_SHORT_BLOCK", short_block)
        store, known = Store({"wide": WIDE}, Values()), set()
        stored = store.relations["wide"]
        for move, given in script:
            if move == "look":
                store.index("wide", given).catch_up()
            elif move == "come":
                new = store.unknown("wide", facts(given))
                assert {tuple(row) for row in new.rows.tolist()} == {*given} - known
                if len(new):
                    stored.insert_new(new.rows)
                known |= {*given}
            else:
                gone = store.stored("wide", facts(given))
                assert {tuple(row) for row in gone.rows.tolist()} == {*given} & known
                stored.remove(gone)
                stored.compact()
                known -= {*given}
            assert {tuple(row) for row in store.read("wide", Version.FULL).tolist()} == known
            assert stored.size == len(known)


def test_an_index_that_is_at_hand_finds_rows_without_a_set():
    store = Store({"wide": WIDE}, Values())
    stored = store.relations["wide"]
    stored.insert_new(facts([(1, 1, 1), (1, 2, 2), (2, 1, 1), (2, 2, 2)]).rows)
    store.index("wide", (0,)).catch_up()
    assert store.unknown("wide", facts([(1, 2, 2), (1, 2, 3)])).rows.tolist() == [[1, 2, 3]]
    assert not stored.has_membership
    stored.insert_new(facts([(1, 2, 3)]).rows)
    assert store.unknown("wide", facts([(1, 2, 3)])).rows.tolist() == []  # the index is behind
    assert stored.has_membership


def test_as_many_facts_as_there_are_rows_are_looked_for_without_a_set():
    store = Store({"wide": WIDE}, Values())
    store.relations["wide"].insert_new(facts([(1, 1, 1), (1, 2, 2)]).rows)
    assert store.unknown("wide", facts([(1, 1, 1), (3, 3, 3)])).rows.tolist() == [[3, 3, 3]]
    assert not store.relations["wide"].has_membership


def test_columns_of_many_rows_are_counted_by_the_rows_that_are_there_then():
    store = store_of(*((number, number % 7) for number in range(20_000)))
    assert store.distinct("edge", (1,)) == 7
    assert store.distinct("edge", (0,)) == pytest.approx(20_000, rel=0.15)
    store.clear("edge")
    insert(store, *((number % 3, number) for number in range(20_000)))
    assert store.distinct("edge", (0,)) == 3
    assert store.distinct("edge", (1,)) == pytest.approx(20_000, rel=0.15)
