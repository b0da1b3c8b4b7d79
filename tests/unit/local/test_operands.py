"""Indexes that several threads bring up to date are those that one makes."""

from __future__ import annotations

import numpy as np
import pytest

from tidelog.backends.local import operands as operands_file
from tidelog.backends.local.indexes import Index
from tidelog.backends.local.operands import catch_up, indexes_of
from tidelog.backends.local.store import Store
from tidelog.backends.local.team import Team
from tidelog.codegen.operands import Blocks
from tidelog.facts.values import Values
from tidelog.schema import Attribute, Kind, Schema
from unit.kernels.forms import TIERS, tier

LONG, SHORT = (
    Schema(name, (Attribute("a", "number", Kind.NUMBER), Attribute("b", "number", Kind.NUMBER)))
    for name in ("long", "short")
)


def store_of_pairs(long: int, short: int) -> Store:
    """A store with so many rows in either relation, the last tenth of the first its delta."""
    store = Store({"long": LONG, "short": SHORT}, Values())
    for name, size in (("long", long), ("short", short)):
        rows = np.array([(number % 7, number) for number in range(size)], np.int32)
        store.relations[name].insert(rows[: size - size // 10])
        store.relations[name].stage(rows[size - size // 10 :])
        store.relations[name].advance()
    return store


def blocks_of(index: Index) -> list[tuple[list[int], list[int]]]:
    """The old and the new rows of each group."""
    starts, olds, counts, payload = index.arrays
    return [
        (payload[start : start + old, 0].tolist(), payload[start + old : start + count, 0].tolist())
        for start, old, count in zip(starts, olds, counts, strict=True)
    ]


@pytest.mark.parametrize("form", TIERS)
@pytest.mark.parametrize(("short", "is_divided"), [(20, True), (180, False)])
def test_a_long_index_is_divided_where_others_would_wait_for_it(form, short, is_divided, monkeypatch):
    monkeypatch.setattr(operands_file, "_SOME", 10)
    monkeypatch.setattr(operands_file, "_MANY", 100)
    divided = []
    shares = Index.shares
    monkeypatch.setattr(Index, "shares", lambda index, parts: divided.append(parts) or shares(index, parts))
    read = [Blocks("long", (0,)), Blocks("short", (0,))]
    with tier(form):
        alone, together = store_of_pairs(200, short), store_of_pairs(200, short)
        catch_up(indexes_of(read, alone))
        assert set(divided) == {1}
        if not is_divided:
            read.append(Blocks("short", (1,)))
        catch_up(indexes_of(read, together), Team(2))
        assert (2 in divided) is is_divided
        for name in ("long", "short"):
            assert blocks_of(together.index(name, (0,))) == blocks_of(alone.index(name, (0,)))
