"""What one set of pairs has and another has not, found a word of 64 neighbours at a time."""

from __future__ import annotations

import numpy as np

from tidelog.facts.membership import PairSet, Rows
from tidelog.kernels.bit_set import bits_without
from tidelog.kernels.word_set import words_without


def pairs_without(pairs: PairSet, others: PairSet) -> Rows | None:
    """Those of `pairs` that are not among `others`, in any order; None where the sets are of different forms."""
    if pairs.is_bits is not others.is_bits:
        return None
    out = np.empty(pairs.count, np.int64)
    (entries, cells, width), (other_entries, other_cells, other_width) = pairs.arrays, others.arrays
    if pairs.is_bits:
        found = bits_without(cells, width, other_cells, other_width, out)
    else:
        found = words_without(entries, other_entries, out)
    return out[:found].copy().view(np.int32).reshape(-1, 2)
