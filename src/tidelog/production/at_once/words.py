"""Values as the words of 64 bits that a kernel compares: numbers as they are, text by its ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidelog.facts.columns import DTYPES
from tidelog.facts.membership import Rows
from tidelog.facts.values import Values
from tidelog.schema import Kind

Words = npt.NDArray[np.int64]


def words_of_ids(rows: Rows, kinds: Sequence[Kind], values: Values) -> Words:
    """Rows of ids as rows of words; without columns, rows without words."""
    words = np.empty((rows.shape[0], len(kinds)), np.int64)
    for column, kind in enumerate(kinds):
        ids = rows[:, column]
        words[:, column] = ids if kind is Kind.SYMBOL else values.table(kind).values.take(ids).view(np.int64)
    return words


def ids_of_words(rows: Words, kinds: Sequence[Kind], values: Values) -> Rows:
    """Rows of words as rows of ids."""
    count = rows.shape[0]
    if not count:
        return np.empty((0, max(1, len(kinds))), np.int32)
    ids = np.zeros((count, max(1, len(kinds))), np.int32)
    for kind in dict.fromkeys(kinds):
        columns = [column for column, other in enumerate(kinds) if other is kind]
        words = rows if len(columns) == len(kinds) else rows[:, columns]
        # Looked up together: a call for each column would take longer than the words of a small run.
        found = words if kind is Kind.SYMBOL else values.identify(kind, words.reshape(-1).view(DTYPES[kind]))
        ids[:, columns] = found.reshape(count, len(columns))
    return ids
