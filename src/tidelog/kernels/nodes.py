"""Numbers for nodes (group, id) where groups and ids are small: a table that has a place for each pair.

numbers[group * stride + id] is the number of the node plus one, or zero; `nodes` has (group, id) by number.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel
from tidelog.kernels.rows import LANES, largest_in_lanes


@kernel
def number_ends(rows, numbers, stride, count, nodes, sources, targets):
    """Writes the numbers of both ends of each row (group, source, target); new nodes get new ones.

    Returns how many nodes there are then. `nodes` needs room for one more than that.
    """
    for i in range(rows.shape[0]):
        group = rows[i, 0]
        sources[i], count = _number_end(group, rows[i, 1], numbers, stride, count, nodes)
        targets[i], count = _number_end(group, rows[i, 2], numbers, stride, count, nodes)
    return count


@inlined
def _number_end(group, node, numbers, stride, count, nodes):
    """The number of a node, and how many there are. Whether one is new cannot be foreseen, so nothing hangs on it."""
    place = group * stride + node
    known = np.int64(numbers[place])
    nodes[count, 0] = group
    nodes[count, 1] = node
    count += known == 0
    number = known if known else count
    numbers[place] = number
    return number - 1, count


@kernel
def write_edges(rows, source, target, edges):
    """Writes rows of one group as (0, source, target); the ends are in the columns named."""
    first = np.uint64(source)
    second = np.uint64(target)
    for i in range(np.uint64(rows.shape[0])):
        edges[i, 0] = 0
        edges[i, 1] = rows[i, first]
        edges[i, 2] = rows[i, second]


@kernel
def measure_edges(rows):
    """The greatest group and the greatest end of rows (group, source, target), -1 without any, and whether none is
    negative."""
    lanes = np.full(3 * LANES, -1, np.int32)
    numbers = rows.reshape(-1)
    largest_in_lanes(numbers, lanes)
    signs = np.int32(0)
    for i in range(np.uint64(numbers.size)):
        signs |= numbers[i]
    group = end = np.int32(-1)
    for i in range(LANES):
        group = max(group, lanes[3 * i])
        end = max(end, lanes[3 * i + 1], lanes[3 * i + 2])
    return group, end, signs >= 0


@kernel
def find_nodes(rows, column, numbers, stride, found):
    """Writes the number of the node (group, id) of each row, id being in `column`; -1 for none."""
    groups = numbers.size // stride
    for i in range(rows.shape[0]):
        group = rows[i, 0]
        node = rows[i, column]
        found[i] = numbers[group * stride + node] - 1 if 0 <= group < groups and 0 <= node < stride else -1


@kernel
def place_nodes(nodes, numbers, stride):
    """Enters all nodes into an empty table."""
    for number in range(nodes.shape[0]):
        numbers[nodes[number, 0] * stride + nodes[number, 1]] = number + 1
