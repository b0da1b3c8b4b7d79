"""What one set of pairs has and another has not, found a word of 64 neighbours at a time."""

from __future__ import annotations

import numpy as np

from tidelog.facts.membership import PairSet, Rows
from tidelog.kernels.bit_set import bits_without
from tidelog.kernels.word_set import words_without

_SEVERAL = 2
"""Pairs in a word, on average, from which on a look at all words takes less time than to look for each pair."""


def pairs_without(pairs: PairSet, others: PairSet) -> Rows | None:
    """Those of `pairs` that are not among `others`, in any order; None where it is quicker to look for each.

    That is so where the sets are of different forms, or most words hold a single pair.
    """
    if pairs.is_bits is not others.is_bits or pairs.count < _SEVERAL * pairs.used:
        return None
    out = np.empty(pairs.count, np.int64)
    (entries, cells, width), (other_entries, other_cells, other_width) = pairs.arrays, others.arrays
    if pairs.is_bits:
        found = bits_without(cells, width, other_cells, other_width, out)
    else:
        found = words_without(entries, other_entries, out)
    return out[:found].copy().view(np.int32).reshape(-1, 2)
