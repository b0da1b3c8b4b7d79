"""Rules that lead from ids to others, `R(y) :- R(x), E(x, y)`: while few rows are new, many rounds are one kernel.

Reachability is of that form, and so is what most questions with constants ask for in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tidelog.backends.local.body import Body
from tidelog.backends.local.indexes import Index
from tidelog.backends.local.sources import ScanSource
from tidelog.backends.local.steps import Lookup
from tidelog.backends.local.store import Store
from tidelog.facts.membership import IdSet
from tidelog.facts.relation import Relation
from tidelog.kernels import jit
from tidelog.kernels.path import follow_path
from tidelog.plan.nodes import RulePlan, Version

FEW_ROWS = 1 << 10
"""New rows in a round from which on they cost as much as the round: then batches derive more from them."""

_ROOM = 4 * FEW_ROWS
"""Rows for which there is room at first. What finds none is derived in batches, which make more."""

Window: TypeAlias = tuple[int, int]
"""Rows from a number to another."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What came of following a path: the rows to go on from, in how many rounds, and how many rows were derived."""

    window: Window
    rounds: int
    derived: int


@dataclass(frozen=True, slots=True)
class Path:
    """The ids of a relation, and the index that says to which others each of them leads."""

    ids: Relation
    index: Index
    store: Store

    def follow(self, window: Window, most: int, rounds: int) -> Followed:
        """Stages what follows from the rows of `window` in so many rounds, or fewer: it stops at `most` new rows.

        It may stop at once for want of room.
        """
        relation, (begin, end) = self.ids, window
        if relation.dead(begin, end) is not None:
            return Followed(window, 0, 0)
        jit.work(end - begin)
        rows, held = relation.pushing(_ROOM), relation.membership
        assert isinstance(held, IdSet)
        starts, _, counts, payload = self.index.arrays
        ends = np.empty(rounds, np.int64)
        made, found, derived = follow_path(
            rows.reshape(-1), begin, end, relation.count, held.seen, starts, counts, payload.reshape(-1), most, ends
        )
        reached = [begin, end, *ends[:made].tolist()]
        for count in reached[2:]:
            relation.pushed(count)
            self.store.begin_era()
        relation.pushed(int(found))
        return Followed((reached[-2], reached[-1]), int(made), int(derived))


def path_of(rule: RulePlan, body: Body, store: Store) -> Path | None:
    """The path that a rule follows, None where it does more than that."""
    head = store.relations[rule.head]
    if head.width != 1 or len(body.steps) != 1 or body.head is None or not body.starts_from_delta_of(rule.head):
        return None
    source, step = body.source, body.steps[0]
    assert isinstance(source, ScanSource)
    if source.constants or not isinstance(step, Lookup) or step.equal or step.version is not Version.FULL:
        return None
    names = tuple(name for name, _ in step.new)
    if len(step.key) != 1 or step.arguments != tuple(name for name, _ in source.names) or body.head.names != names:
        return None
    index = store.index(step.relation, step.key)
    if not isinstance(index, Index) or len(names) != 1 or len(index.payload_columns) != 1:
        return None
    index.catch_up()
    return Path(head, index, store)
