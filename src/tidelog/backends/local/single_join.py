"""Plans that join marked rows with one relation, or with none, as arrays that a kernel elsewhere can go through."""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.body import Body
from tidelog.backends.local.indexes import Index
from tidelog.backends.local.matches import in_payload
from tidelog.backends.local.sources import ScanSource
from tidelog.backends.local.steps import Lookup
from tidelog.backends.protocol import SingleJoin
from tidelog.plan.nodes import Version

_ONE_MATCH = (np.zeros(1, np.int32), np.ones(1, np.int32), np.zeros((1, 0), np.int32))
"""Starts, counts and payload of an index in which every row has one match, without columns."""


def single_join(body: Body) -> SingleJoin | None:
    """The join of a body whose indexes are up to date; None where it is more than that, or computes something."""
    source, head = body.source, body.head
    if head is None or not head.names or len(body.steps) > 1 or not isinstance(source, ScanSource):
        return None
    if source.scan.version is not Version.MARKED or source.constants or source.equal or source.asks_for_ages:
        return None
    columns, new = dict(source.names), {}
    key, arrays = -1, _ONE_MATCH
    for step in body.steps:
        if not isinstance(step, Lookup) or not _matches_one_column(step):
            return None
        assert isinstance(step.index, Index)
        starts, _, counts, payload = step.index.arrays
        key, arrays = columns[str(step.arguments[0])], (starts, counts, payload)
        new = dict(in_payload(step.new, step.index.payload_columns))
    keep = np.array([-1 if name in new else columns[name] for name in head.names], np.int64)
    take = np.array([new.get(name, -1) for name in head.names], np.int64)
    return SingleJoin(source.scan.relation, key, *arrays, keep, take)


def _matches_one_column(step: Lookup) -> bool:
    """Whether each match by a column of the marked row gives a row."""
    is_by_index = isinstance(step.index, Index) and step.near is None and step.whole_rows is None
    is_by_column = len(step.arguments) == 1 and isinstance(step.arguments[0], str)
    return is_by_index and is_by_column and bool(step.new) and not step.equal and step.version is Version.FULL
