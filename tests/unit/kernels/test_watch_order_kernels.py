"""Orders of values: what is in a B+ tree after tuples came and went is what a sorted list has."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tidelog.activation.table_room import empty_tables, with_room_for_nodes
from tidelog.kernels.watch_order import (
    COUNTS,
    DEEPEST,
    FAN,
    KEYS,
    UNDER,
    add_to_order,
    find_place,
    make_order,
    next_place,
    take_from_order,
    tuples_in,
    values_in,
)
from tidelog.kernels.watch_totals import FREE_NODE, MADE_NODES
from unit.kernels.forms import TIERS, tier

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Order:
    """One order in tables of its own; a value's entry is ten more than the value."""

    def __init__(self):
        self.tables = empty_tables(1)
        self.known = np.zeros((1, 1), np.int64)
        self.known[0, 0] = make_order(self.tables.trees, self.tables.totals)

    def add(self, key):
        self.tables = with_room_for_nodes(self.tables, DEEPEST)
        entry = np.int64(key % 1000)
        add_to_order(self.tables.trees, self.tables.totals, self.known, np.int64(0), np.int64(0), np.int64(key), entry)

    def take(self, key):
        take_from_order(self.tables.trees, self.tables.totals, self.known, np.int64(0), np.int64(0), np.int64(key))

    def find(self, key):
        return find_place(self.tables.trees, self.known[0, 0], np.int64(key))[:2]

    def listed(self):
        """Each value with its entry and the number of its tuples, from the lowest on."""
        found, trees = [], self.tables.trees
        place = self.find(LOWEST)[0]
        while place != -1:
            node, i = divmod(int(place), FAN)
            found.append(tuple(int(trees[node, part + i]) for part in (KEYS, UNDER, COUNTS)))
            place = next_place(trees, np.int64(place))
        return found

    def nodes_in_use(self):
        free, node = 0, int(self.tables.totals[FREE_NODE])
        while node != -1:
            free, node = free + 1, int(self.tables.trees[node, 3])
        return int(self.tables.totals[MADE_NODES]) - free


def expected(counts):
    return [(key, key % 1000, count) for key, count in sorted(counts.items())]


@pytest.mark.parametrize("form", TIERS)
def test_an_order_is_the_sorted_list_of_what_came_and_did_not_go(form):
    draw = random.Random(4)
    with tier(form):
        order, counts = Order(), {}
        for step in range(6000):
            key = draw.choice([LOWEST, HIGHEST, *([draw.randrange(-900, 900)] * 30)])
            if draw.random() < (0.7 if step < 3000 else 0.2):
                order.add(key)
                counts[key] = counts.get(key, 0) + 1
            elif key in counts:
                order.take(key)
                counts[key] -= 1
                counts = {known: count for known, count in counts.items() if count}
            if step % 250 == 0:
                assert order.listed() == expected(counts)
                below = sum(count for known, count in counts.items() if known < key)
                assert order.find(key)[1] == below
        assert values_in(order.tables.trees, order.known[0, 0]) == len(counts)
        assert tuples_in(order.tables.trees, order.known[0, 0]) == sum(counts.values())
        for key in [key for key, count in counts.items() for _ in range(count)]:
            order.take(key)
        assert order.listed() == []
        assert order.nodes_in_use() == 1


def test_values_that_only_grow_while_old_ones_go_need_few_nodes():
    order = Order()
    for key in range(3000):
        order.add(key)
        if key >= 100:
            order.take(key - 100)
    assert order.listed() == expected(dict.fromkeys(range(2900, 3000), 1))
    assert order.nodes_in_use() < 20


def test_a_value_below_all_others_has_a_place_at_once():
    order = Order()
    for key in range(100, 0, -1):
        order.add(key)
        assert order.find(LOWEST)[1] == 0
        assert order.listed()[0][0] == key
    assert [key for key, _, _ in order.listed()] == list(range(1, 101))
