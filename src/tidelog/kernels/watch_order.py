"""Orders: the values of a column from the lowest to the highest, in B+ trees whose nodes are rows of one table.

A node has up to `FAN` keys in order. In a leaf a key is a value, with its entry and the number of tuples that have it
in this column. Elsewhere a key is a bound of a child, with the child and the number of tuples below it: no value of the
child is lower, except that the first child takes every value that is lower than the bound of the second. So a value
below all others has a place. Leaves are linked to their neighbours.

A node that is full is divided on the way down, one that is empty leaves its parent: a node never waits to be filled.
A *place* is a number for a key of a leaf.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import lean
from tidelog.kernels.watch_finder import NONE
from tidelog.kernels.watch_totals import ENTRIES_READ, FREE_NODE, MADE_NODES, SEARCHES

FAN = 32
SIZE, LEVEL, PARENT, FOLLOWING, PREVIOUS = range(5)
KEYS, UNDER, COUNTS = 8, 8 + FAN, 8 + 2 * FAN
NODE_COLUMNS = 8 + 3 * FAN
DEEPEST = 16
"""The most nodes that one value can need: a level more takes sixteen times as many values as the level before."""


@lean
def make_order(trees, totals):
    """The root of an order without values."""
    return _make_node(trees, totals, np.int64(0))


@lean
def add_to_order(trees, totals, known, relation, at, key, entry):
    """Adds a tuple with the value `key`, whose entry is `entry`, to the order whose root is known[relation, at].

    Returns whether the value is new.
    """
    node = known[relation, at]
    if trees[node, SIZE] == FAN:
        node = _raise_root(trees, totals, node)
        known[relation, at] = node
    totals[SEARCHES] += 1
    while trees[node, LEVEL] > 0:
        i, read = _child(trees, node, key)
        totals[ENTRIES_READ] += read
        if trees[trees[node, UNDER + i], SIZE] == FAN:
            _divide(trees, totals, node, i)
            if key >= trees[node, KEYS + i + 1]:
                i += 1
        trees[node, COUNTS + i] += 1
        node = trees[node, UNDER + i]
    i, read = _position(trees, node, key)
    totals[ENTRIES_READ] += read
    is_new = i == trees[node, SIZE] or trees[node, KEYS + i] != key
    if is_new:
        _insert(trees, node, i, key, entry, np.int64(0))
    trees[node, COUNTS + i] += 1
    return is_new


@lean
def take_from_order(trees, totals, known, relation, at, key):
    """Takes a tuple with the value `key` out of an order; the value goes with its last tuple."""
    node = known[relation, at]
    totals[SEARCHES] += 1
    while trees[node, LEVEL] > 0:
        i, read = _child(trees, node, key)
        totals[ENTRIES_READ] += read
        trees[node, COUNTS + i] -= 1
        node = trees[node, UNDER + i]
    i, read = _position(trees, node, key)
    totals[ENTRIES_READ] += read
    trees[node, COUNTS + i] -= 1
    if trees[node, COUNTS + i] == 0:
        _remove(trees, node, i)
        _drop_empty(trees, totals, node)
        known[relation, at] = _lowered_root(trees, totals, known[relation, at])


@lean
def find_place(trees, root, key):
    """The place of the lowest value that is not below `key`, NONE if all are; how many tuples have a value below `key`;
    how many keys were read."""
    node = root
    below = total = 0
    while True:
        is_leaf = trees[node, LEVEL] == 0
        i, read = _position(trees, node, key) if is_leaf else _child(trees, node, key)
        total += read
        for before in range(i):
            below += trees[node, COUNTS + before]
        if is_leaf:
            break
        node = trees[node, UNDER + i]
    if i < trees[node, SIZE]:
        return node * FAN + i, below, total
    following = trees[node, FOLLOWING]
    return (following * FAN if following != NONE else np.int64(NONE)), below, total


@lean
def next_place(trees, place):
    """The place of the next higher value, NONE behind the last."""
    node = place // FAN
    if place % FAN + 1 < trees[node, SIZE]:
        return place + 1
    following = trees[node, FOLLOWING]
    return following * FAN if following != NONE else np.int64(NONE)


@lean
def tuples_in(trees, node):
    """How many tuples are in the order of a root, or below a node."""
    found = 0
    for i in range(trees[node, SIZE]):
        found += trees[node, COUNTS + i]
    return found


@lean
def values_in(trees, root):
    """How many values there are in an order."""
    node = root
    while trees[node, LEVEL] > 0:
        node = trees[node, UNDER]
    found = 0
    while node != NONE:
        found += trees[node, SIZE]
        node = trees[node, FOLLOWING]
    return found


@lean
def _position(trees, node, key):
    """How many keys of a leaf are below `key`, and how many were read."""
    low, high, read = 0, trees[node, SIZE], 0
    while low < high:
        middle = (low + high) // 2
        read += 1
        if trees[node, KEYS + middle] < key:
            low = middle + 1
        else:
            high = middle
    return low, read


@lean
def _child(trees, node, key):
    """Which child has the place of `key`, and how many keys were read."""
    low, high, read = 1, trees[node, SIZE], 0
    while low < high:
        middle = (low + high) // 2
        read += 1
        if trees[node, KEYS + middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low - 1, read


@lean
def _make_node(trees, totals, level):
    node = totals[FREE_NODE]
    if node == NONE:
        node = totals[MADE_NODES]
        totals[MADE_NODES] += 1
    else:
        totals[FREE_NODE] = trees[node, FOLLOWING]
    trees[node, SIZE] = 0
    trees[node, LEVEL] = level
    for link in (PARENT, FOLLOWING, PREVIOUS):
        trees[node, link] = NONE
    return node


@lean
def _free_node(trees, totals, node):
    trees[node, FOLLOWING] = totals[FREE_NODE]
    totals[FREE_NODE] = node


@lean
def _insert(trees, node, i, key, under, count):
    """Puts a key before the i-th one of a node, which is not full."""
    for at in range(trees[node, SIZE], i, -1):
        for part in (KEYS, UNDER, COUNTS):
            trees[node, part + at] = trees[node, part + at - 1]
    trees[node, KEYS + i] = key
    trees[node, UNDER + i] = under
    trees[node, COUNTS + i] = count
    trees[node, SIZE] += 1


@lean
def _remove(trees, node, i):
    for at in range(i, trees[node, SIZE] - 1):
        for part in (KEYS, UNDER, COUNTS):
            trees[node, part + at] = trees[node, part + at + 1]
    trees[node, SIZE] -= 1


@lean
def _raise_root(trees, totals, root):
    """A root above a full one, which becomes two."""
    top = _make_node(trees, totals, trees[root, LEVEL] + 1)
    _insert(trees, top, np.int64(0), trees[root, KEYS], root, tuples_in(trees, root))
    trees[root, PARENT] = top
    _divide(trees, totals, top, np.int64(0))
    return top


@lean
def _divide(trees, totals, node, i):
    """Moves the upper half of the i-th child of a node, which is full, to a new child behind it."""
    child = trees[node, UNDER + i]
    half = FAN // 2
    made = _make_node(trees, totals, trees[child, LEVEL])
    for at in range(half):
        for part in (KEYS, UNDER, COUNTS):
            trees[made, part + at] = trees[child, part + half + at]
        if trees[child, LEVEL] > 0:
            trees[trees[made, UNDER + at], PARENT] = made
    trees[child, SIZE] = trees[made, SIZE] = half
    trees[made, PARENT] = node
    moved = tuples_in(trees, made)
    trees[node, COUNTS + i] -= moved
    _insert(trees, node, i + 1, trees[made, KEYS], made, moved)
    if trees[child, LEVEL] == 0:
        following = trees[child, FOLLOWING]
        trees[made, FOLLOWING] = following
        trees[made, PREVIOUS] = child
        trees[child, FOLLOWING] = made
        if following != NONE:
            trees[following, PREVIOUS] = made


@lean
def _drop_empty(trees, totals, node):
    """Takes a node without keys out of its parent, and that one out of its own if it was the last."""
    while trees[node, SIZE] == 0:
        parent = trees[node, PARENT]
        if parent == NONE:
            trees[node, LEVEL] = 0
            return
        if trees[node, LEVEL] == 0:
            following, previous = trees[node, FOLLOWING], trees[node, PREVIOUS]
            if following != NONE:
                trees[following, PREVIOUS] = previous
            if previous != NONE:
                trees[previous, FOLLOWING] = following
        i = 0
        while trees[parent, UNDER + i] != node:
            i += 1
        _remove(trees, parent, i)
        _free_node(trees, totals, node)
        node = parent


@lean
def _lowered_root(trees, totals, root):
    """The root of an order whose root may have a single child by now."""
    while trees[root, LEVEL] > 0 and trees[root, SIZE] == 1:
        child = trees[root, UNDER]
        _free_node(trees, totals, root)
        trees[child, PARENT] = NONE
        root = child
    return root
