"""Workloads of watched rules as an activation index takes them: rules to add, tuples to apply."""

from __future__ import annotations

import numpy as np

from benchmarks.generators import Rows
from benchmarks.yield_workloads import YieldWorkload
from tidelog.activation.protocol import Arrivals
from tidelog.activation.watch_rule import WatchRule
from tidelog.activation.watch_text import watchable
from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.language.parser import parse


def read(workload: YieldWorkload) -> tuple[CheckedProgram, tuple[WatchRule, ...]]:
    """The program of a workload and its rules."""
    checked = check(parse(workload.text))
    return checked, watchable([rule for part in checked.strata for rule in part.rules], checked.texts)


def arrivals(relation: int, rows: Rows) -> Arrivals:
    """Rows that come, two columns wide."""
    wide = np.zeros((len(rows), 2), np.int64)
    wide[:, : rows.shape[1]] = rows
    return Arrivals(np.full(len(rows), relation, np.int32), np.ones(len(rows), np.int8), wide)
