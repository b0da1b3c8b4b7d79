"""What changes from one state of a run to another, by relation: takes such changes, returns others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tidelog.backends.protocol import Backend
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Rows
from tidelog.maintain.journal import Net
from tidelog.production.ids import ids_of
from tidelog.production.late.chain_columns import Flags

Nets: TypeAlias = Mapping[str, Net]


def then(first: Nets, second: Nets) -> Nets:
    """Both changes, one after the other."""
    both = dict(first)
    for relation, net in second.items():
        both[relation] = both[relation].then(net.came, net.went) if relation in both else net
    return {relation: net for relation, net in both.items() if net}


def together(nets: Sequence[Nets]) -> Nets:
    """All of `nets`, one after the other; halves first, so that each fact is looked at a few times only."""
    if not nets:
        return {}
    if len(nets) == 1:
        return nets[0]
    middle = len(nets) // 2
    return then(together(nets[:middle]), together(nets[middle:]))


def opposite(nets: Nets) -> Nets:
    """The way back."""
    return {relation: Net(net.went, net.came) for relation, net in nets.items()}


def net_of(rows: Rows, comes: Flags) -> Net:
    """Different facts of which some come and the others go."""
    return Net(FactSet(rows[comes]), FactSet(rows[~comes]))


def are_stored(backend: Backend, relation: str, rows: Rows) -> Flags:
    """Which of these facts are stored under a name."""
    stored = backend.stored(relation, FactSet(rows))
    if not len(stored):
        return np.zeros(rows.shape[0], np.bool_)
    flags: Flags = FactSet(ids_of(stored)).membership.contains(np.ascontiguousarray(rows))
    return flags
