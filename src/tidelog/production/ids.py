"""Facts as rows of ids: production rules run in a backend that has its facts in this process."""

from __future__ import annotations

import numpy as np

from tidelog.backends.protocol import Facts
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Rows


def ids_of(facts: Facts) -> Rows:
    """The rows of ids of facts."""
    assert isinstance(facts, FactSet)
    return np.ascontiguousarray(facts.rows)
