"""Rows pushed into a relation are those of a set, however often the sink has to make room and change its form."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.backends.local import sinks
from tidelog.backends.local.sinks import IdSink, PairSink, sink_for
from tidelog.facts.relation import Relation
from tidelog.facts.word_rows import WordRun
from tidelog.kernels.gather import gather_block, push_gathered, take_gathered
from tidelog.kernels.push import push_id, push_pair, push_words
from unit.kernels.forms import TIERS, tier

CLOSE = st.tuples(st.integers(0, 30), st.integers(0, 200))
FAR = st.tuples(st.sampled_from([5, 40, 900]), st.sampled_from([3, 70, 5_000, 90_000]))
PAIRS = st.lists(st.lists(CLOSE, max_size=200) | st.lists(FAR, max_size=5), max_size=6)
Pair = tuple[int, int]


def push_each(sink: PairSink, pairs: Iterable[Pair]) -> None:
    for first, second in pairs:
        for _ in range(40):
            entries, cells, width, out, waiting, counters = sink.arrays()
            if push_pair(np.int32(first), np.int32(second), entries, cells, width, out, waiting, counters):
                break
            sink.make_room()
            sink.settle()
        else:
            pytest.fail(f"no room for {first}, {second}")


def push_rows(sink: PairSink, pairs: list[Pair]) -> None:
    run = WordRun(0)
    run.fill(np.array(sorted(set(pairs)), np.int32).reshape(-1, 2))
    for first in run.keys:
        for _ in range(40):
            entries, cells, width, out, _, counters = sink.arrays()
            begin, count = run.starts[first], run.counts[first]
            if push_words(first, run.words, run.bits, begin, count, entries, cells, width, out, counters):
                break
            sink.make_room()
            sink.settle()
        else:
            pytest.fail(f"no room for the row of {first}")


def push_together(sink: PairSink, pairs: list[Pair]) -> None:
    """Pushes what was gathered for each first id."""
    cells, words, bits = np.zeros(2_000, np.int64), np.empty(2_000, np.int32), np.empty(2_000, np.int64)
    for first in {first for first, _ in pairs}:
        ids = np.array([[each] for other, each in pairs if other == first], np.int32)
        size = gather_block(ids, 0, len(ids), cells, words, 0)
        count = take_gathered(cells, words, bits, size)
        for _ in range(40):
            entries, held, width, out, waiting, counters = sink.arrays()
            row = (np.int32(first), words, bits, size, count)
            if push_gathered(*row, entries, held, width, out, waiting, counters):
                break
            sink.make_room()
            sink.settle()
        else:
            pytest.fail(f"no room for what was gathered for {first}")


@pytest.mark.parametrize("form", TIERS)
@pytest.mark.parametrize("push", [push_each, push_rows, push_together])
@given(batches=PAIRS, known=st.lists(CLOSE, max_size=100))
def test_pushed_pairs_are_a_set(form, push, batches: list[list[Pair]], known: list[Pair]) -> None:
    relation = Relation(2)
    with tier(form):
        relation.insert(np.array(known, np.int32).reshape(-1, 2))
        before = relation.count
        for batch in batches:
            sink = sink_for(relation)
            assert isinstance(sink, PairSink)
            push(sink, batch)
            sink.settle()
        found = [tuple(row) for row in relation.rows[: relation.count].tolist()]
    assert len(found) == len(set(found))
    assert set(found) == set(known).union(*batches)
    assert set(found[:before]) == set(known)


@pytest.mark.parametrize("form", TIERS)
def test_pushed_ids_are_a_set(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "_ROOM", 1)
    relation = Relation(1)
    ids = [7, 3, 7, 5_000, 3, 0]
    with tier(form):
        sink = IdSink(relation)
        for identity in ids:
            while not push_id(np.int32(identity), *sink.arrays()):
                sink.make_room()
        assert sink.settle() == len(ids)
    assert relation.rows[: relation.count, 0].tolist() == [7, 3, 5_000, 0]
