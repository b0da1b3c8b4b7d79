"""Rows that several threads push to one relation at the same time are those of a set."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog import Maintenance, Tier
from tidelog.backends.local import together
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.shares import RowRoom, Share, close_gaps, gather
from tidelog.backends.local.together import _divide, own_ids
from tidelog.facts.membership import PairSet
from tidelog.facts.relation import Relation
from tidelog.facts.word_rows import WordRun
from tidelog.kernels.gather import gather_words, share_gathered, take_gathered
from tidelog.kernels.jit import kernel
from tidelog.kernels.shared_push import is_mine, share_id, share_pair, share_words
from tidelog.plan.nodes import RulePlan
from tidelog.plan.planned import planned
from unit.kernels.forms import CAN_COMPILE, tier

THREADS = 2


@kernel
def push_pairs(first, second, mine, entries, cells, width, out, waiting, counters, begin):
    for i in range(begin, first.size):
        pair = (first[i], second[i])
        if is_mine(first[i], mine) and not share_pair(*pair, entries, cells, width, out, waiting, counters, mine):
            return i
    return first.size


@kernel
def push_rows(keys, starts, counts, words, bits, mine, entries, cells, width, out, counters, begin):
    for i in range(begin, keys.size):
        key = keys[i]
        row = (key, words, bits, starts[key], counts[key])
        if is_mine(key, mine) and not share_words(*row, entries, cells, width, out, counters, mine):
            return i
    return keys.size


@kernel
def push_gathered_rows(
    keys, starts, counts, words, bits, room, mine, entries, cells, width, out, waiting, counters, begin
):
    gathered_cells, gathered_words, gathered_bits = room[0], room[1].view(np.int32), room[2]
    for i in range(begin, keys.size):
        key = keys[i]
        size = gather_words(words, bits, starts[key], counts[key], gathered_cells, gathered_words, 0)
        ids = take_gathered(gathered_cells, gathered_words, gathered_bits, size)
        row = (key, gathered_words, gathered_bits, size, ids)
        if is_mine(key, mine) and not share_gathered(*row, entries, cells, width, out, waiting, counters, mine):
            return i
    return keys.size


@kernel
def push_ids(ids, seen, out, counters, begin):
    for i in range(begin, ids.size):
        if not share_id(ids[i], seen, out, counters):
            return i
    return ids.size


def pair_by_pair(rows: np.ndarray, mine: np.ndarray) -> Callable[[Share, int], int]:
    first, second = (np.ascontiguousarray(rows[:, column]) for column in (0, 1))
    return lambda share, begin: push_pairs(first, second, mine, *share.arrays(), begin)


def key_by_key(rows: np.ndarray, mine: np.ndarray) -> Callable[[Share, int], int]:
    run = WordRun(0)
    run.fill(np.unique(rows, axis=0))
    keys = np.random.default_rng(int(rows[0, 0])).permutation(run.keys)

    def push(share: Share, begin: int) -> int:
        entries, cells, width, out, _, counters = share.arrays()
        words = (run.starts, run.counts, run.words, run.bits)
        return push_rows(keys, *words, mine, entries, cells, width, out, counters, begin)

    return push


def gathered_by_key(rows: np.ndarray, mine: np.ndarray) -> Callable[[Share, int], int]:
    run = WordRun(0)
    run.fill(np.unique(rows, axis=0))
    keys = np.random.default_rng(int(rows[0, 0])).permutation(run.keys)
    room = np.zeros((3, int(rows.max()) // 64 + 1), np.int64)
    words = (run.starts, run.counts, run.words, run.bits)
    return lambda share, begin: push_gathered_rows(keys, *words, room, mine, *share.arrays(), begin)


def id_by_id(rows: np.ndarray, _mine: np.ndarray) -> Callable[[Share, int], int]:
    ids = np.ascontiguousarray(rows[:, 0])
    return lambda share, begin: push_ids(ids, *share.arrays(), begin)


def push_at_once(relation: Relation, pushes: list[Callable[[Share, int], int]], ends: list[int]) -> None:
    """Pushes with a thread each, as a `Crew` does."""
    room = RowRoom(relation)
    shares = [Share(room) for _ in pushes]
    reached = [0] * len(pushes)

    def work(number: int) -> None:
        share, push = shares[number], pushes[number]
        while reached[number] < ends[number]:
            reached[number] = int(push(share, reached[number]))
            share.lacks_room = reached[number] < ends[number]
            if share.lacks_room and not share.make_row_room():
                return
        share.settle()

    with ThreadPoolExecutor(len(pushes)) as threads:
        while reached != ends:
            room.open(len(pushes))
            for share in shares:
                share.open(len(pushes))
            list(threads.map(work, range(len(pushes))))
            gather(room, shares)


@pytest.mark.skipif(not CAN_COMPILE, reason="what is not compiled is no single step for other threads")
@pytest.mark.parametrize("ids", [300, 40_000], ids=["bits", "words"])
@pytest.mark.parametrize("parts", [1, THREADS], ids=["together", "divided"])
@pytest.mark.parametrize("how", [pair_by_pair, key_by_key, gathered_by_key, id_by_id])
def test_what_threads_push_at_once_is_a_set(how: Any, parts: int, ids: int) -> None:
    random = np.random.default_rng(ids)
    known, *given_rows = [random.integers(0, ids, (60_000, 2)).astype(np.int32) for _ in range(1 + THREADS)]
    others = [given_rows[0][:30_000]] if parts == 1 else list(reversed(given_rows))
    given_rows = [np.concatenate([rows, *others]) for rows in given_rows]
    width = 1 if how is id_by_id else 2
    relation = Relation(width)
    with tier("compiled"):
        relation.insert(known[:, :width])
        before = relation.count
        ends = [
            len(np.unique(rows[:, 0])) if how in (key_by_key, gathered_by_key) else len(rows) for rows in given_rows
        ]
        pushes = [how(rows, own_ids(number % parts, parts)) for number, rows in enumerate(given_rows)]
        push_at_once(relation, pushes, ends)
    found = [tuple(row) for row in relation.rows[: relation.count].tolist()]
    assert len(found) == len(set(found))
    assert set(found) == {tuple(row) for row in np.concatenate([known, *given_rows])[:, :width].tolist()}
    assert {tuple(row) for row in relation.rows[:before].tolist()} == {tuple(row) for row in known[:, :width].tolist()}


@pytest.mark.skipif(not CAN_COMPILE, reason="what is not compiled is no single step for other threads")
def test_the_set_has_room_for_as_many_entries_as_threads_took_the_last_time() -> None:
    far_apart = np.array([(number, 100_000 * (number % 300)) for number in range(20_000)], np.int32)
    relation = Relation(2)
    room = RowRoom(relation)
    shares = [Share(room) for _ in range(THREADS)]
    with tier("compiled"):
        for rows in np.split(far_apart, 4):
            room.open(THREADS)
            held = relation.membership
            assert isinstance(held, PairSet)
            assert held.free >= room.entries_taken
            for share, half in zip(shares, np.split(rows, THREADS), strict=True):
                share.open(THREADS)
                assert pair_by_pair(half, own_ids(0, 1))(share, 0) == len(half)
                share.settle()
            gather(room, shares)
            assert room.entries_taken == len(rows)
    assert relation.count == len(far_apart)


@pytest.mark.parametrize(
    ("rule", "worth", "is_divided"),
    [
        ("p(x, z) :- p(x, y), e(y, z).", 1_000, True),
        ("p(x, z) :- e(x, y), p(y, z).", 0, True),
        ("p(x, z) :- e(x, y), p(y, z).", 1_000, False),
    ],
)
def test_threads_own_first_ids_where_rows_have_them_or_much_is_derived(rule: str, worth: int, is_divided: bool) -> None:
    text = f".decl e(x: number, y: number)\n.decl p(x: number, y: number)\np(x, y) :- e(x, y).\n{rule}"
    edges = [(number, (number * 7 + step) % 300) for number in range(300) for step in (1, 2, 5)]
    divided = []

    def divide(rules: Any, rooms: Any, jobs: int) -> None:
        _divide(rules, rooms, jobs)
        divided.extend(rule.parts for rule in rules)

    shared = patch.multiple(together, _WORTH_SHARING=0, _WORTH_DIVIDING=worth, _divide=divide)
    with shared, tidelog.open(text, jobs=3, tier=Tier.PUSH, maintenance=Maintenance(modules=False)) as session:
        session.insert("e", edges)
        found = sorted(session["p"].rows())
    with tidelog.open(text) as session:
        session.insert("e", edges)
        assert found == sorted(session["p"].rows())
    assert (3 in divided) is is_divided


def test_what_threads_pushed_before_an_error_is_stored() -> None:
    text = """.decl e(x: number, y: number)
        .decl p(x: number, y: number)
        p(x, y) :- e(x, y).
        p(x, z) :- p(x, y), e(y, z)."""
    plan = planned(tidelog.check(tidelog.parse(text)), frozenset(), frozenset(), modules=False).plan
    (stratum,) = (each for each in plan.strata if each.rounds)
    backend = LocalBackend({**plan.schemas, **plan.hidden}, 3, Tier.PUSH)
    edges = [(number, (number * 7 + step) % 300) for number in range(300) for step in (1, 2, 5)]
    backend.insert("e", pa.table(dict(zip("xy", zip(*edges, strict=True), strict=True))))
    backend.derive(stratum.once)
    backend.advance(stratum.relations)

    def stop(_rule: RulePlan, _rows: int) -> None:
        raise KeyboardInterrupt

    with patch.multiple(together, _WORTH_SHARING=0), pytest.raises(KeyboardInterrupt):
        backend.derive(stratum.rounds, stop)
    new = backend.advance(stratum.relations)["p"]
    assert new
    held = backend._store.relations["p"].membership
    assert isinstance(held, PairSet)
    everything = np.array([(x, y) for x in range(300) for y in range(300)], np.int32)
    assert held.count == held.contains(everything).sum() == new + len(edges)


def test_each_id_belongs_to_one_part() -> None:
    for parts in (1, 2, 3, 8):
        with np.errstate(over="ignore"):
            owners = [
                [part for part in range(parts) if is_mine.python(id_, own_ids(part, parts))] for id_ in range(2_000)
            ]
        assert all(len(owner) == 1 for owner in owners)
        sizes = [owners.count([part]) for part in range(parts)]
        assert min(sizes) > 2_000 / parts / 2


@given(sizes=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8), begin=st.integers(0, 3))
def test_closing_gaps_keeps_every_row_once(sizes: list[tuple[int, int]], begin: int) -> None:
    rows = np.full((begin + sum(gap + size for gap, size in sizes), 1), -1, np.int32)
    written, at, number = [], begin, 0
    for gap, size in sizes:
        at += gap
        rows[at : at + size, 0] = range(number, number + size)
        if size:
            written.append((at, at + size))
        at, number = at + size, number + size
    end = close_gaps(rows, begin, written)
    assert end == begin + number
    assert sorted(rows[begin:end, 0].tolist()) == list(range(number))
