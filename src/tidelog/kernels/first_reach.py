"""What each component reaches, where nothing was known before: slot k is component k in Tarjan's order."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.closure import ONE, weigh_row
from tidelog.kernels.jit import lean
from tidelog.kernels.reach import unite_rows


@lean
def first_reach_in_bits(
    order, begins, slot_of, sizes, wide, starts, counts, payload, covers, places, tops, weights, words
):
    """Computes the rows of all components as bits, in `words` one behind the other.

    Returns how many are not empty, and how many pairs of nodes they stand for. For `covers` see `unite_rows`; `wide`
    gets the bits of components with several nodes. What says that a row is empty is there before: no place, zeros, no
    bits.
    """
    found = 0
    pairs = np.int64(0)
    for k in range(begins.size - 1):
        if begins[k + 1] - begins[k] == 1:
            if counts[order[begins[k]]] == 0:
                continue
        else:
            wide[k >> 6] |= ONE << np.uint64(k & 63)
        row = words[found]
        nodes = order[begins[k] : begins[k + 1]]
        top = unite_rows(nodes, k, starts, counts, payload, covers, slot_of, places, tops, words, row)
        places[k] = found
        tops[k] = top
        weights[k] = weigh_row(row, top, wide, sizes)
        pairs += sizes[k] * weights[k]
        found += 1
    return found, pairs
