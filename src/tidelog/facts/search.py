"""Looking for facts among all rows of a relation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Rows
from tidelog.kernels.sieve import make_sieve, sift

_BITS = 16
"""Bits of a sieve for each fact that passes it: one in so many other rows passes too."""

_FEW = 1 / 2
"""Facts for each row, up to which a sieve keeps enough back to be worth its while."""


def numbers_among(rows: Rows, facts: FactSet) -> npt.NDArray[np.int32]:
    """The numbers of those of `rows` that are among `facts`, in order."""
    if rows.shape[1] != 2 or len(facts) > _FEW * rows.shape[0]:
        return np.flatnonzero(facts.membership.contains(rows)).astype(np.int32)
    bits = np.zeros(1 << max(0, (_BITS * len(facts) // 64).bit_length()), np.int64)
    make_sieve(_packed(facts.rows), bits)
    passed = np.empty(rows.shape[0] + 1, np.int64)
    numbers = np.empty(rows.shape[0] + 1, np.int32)
    found = sift(_packed(rows), bits, passed, numbers)
    return numbers[:found][facts.membership.contains(passed[:found].view(np.int32).reshape(-1, 2))]


def _packed(rows: Rows) -> npt.NDArray[np.int64]:
    """Pairs as one number each."""
    return np.ascontiguousarray(rows).view(np.int64).reshape(-1)
