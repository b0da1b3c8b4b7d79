"""Numbers for nodes (group, id) where groups and ids are small: a table that has a place for each pair.

numbers[group * stride + id] is the number of the node plus one, or zero; `nodes` has (group, id) by number.
"""

from __future__ import annotations

from tidelog.kernels.jit import kernel


@kernel
def number_ends(rows, numbers, stride, count, nodes, sources, targets):
    """Writes the numbers of both ends of each row (group, source, target); new nodes get new ones.

    Returns how many nodes there are then.
    """
    for i in range(rows.shape[0]):
        for end in range(2):
            place = rows[i, 0] * stride + rows[i, 1 + end]
            if numbers[place] == 0:
                nodes[count, 0] = rows[i, 0]
                nodes[count, 1] = rows[i, 1 + end]
                count += 1
                numbers[place] = count
            if end == 0:
                sources[i] = numbers[place] - 1
            else:
                targets[i] = numbers[place] - 1
    return count


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
