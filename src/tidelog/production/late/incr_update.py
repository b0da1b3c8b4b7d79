"""INCR_UPDATE: takes a run that has ended and late news, revises only what depends on it.

Wolfson, Dewan, Stolfo and Yemini 1991, section 3, with what the paper leaves out: news of the input is presence, not an
operation; what is different in an iteration stays different in the next ones until an operation settles it; the run
ends when nothing changes, later than before or sooner. The old run counts as going on for ever in its last state, so
that what comes behind its end is found in the same way.
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.protocol import Facts
from tidelog.facts.change import Change
from tidelog.facts.columns import empty_table
from tidelog.production.ids import ids_of
from tidelog.production.late.chain_columns import Records, Steps
from tidelog.production.late.late_run import LateRun
from tidelog.production.late.nets import Nets
from tidelog.production.late.revision import Revision


def revise(run: LateRun, change: Change, at: int) -> Nets:
    """Makes `run` what it would be with this news from the start; how its last state differs from what it was.

    With `at` 0 the news is about the input. Otherwise it is one more operation for each fact in that cycle. On an error
    the run stays what it was.
    """
    revision = Revision(run, max(0, at - 1))
    for relation in dict.fromkeys((*change.inserted, *change.retracted)):
        inserted, retracted = map(ids_of, _facts(run, relation, change))
        if at == 0:
            revision.start_with(relation, inserted, retracted)
        else:
            revision.ask(
                relation, np.concatenate([inserted, retracted]), _once(inserted.shape[0], retracted.shape[0], at)
            )
    run.course, nets = revision.follow()
    return nets


def _once(added: int, deleted: int, cycle: int) -> Records:
    """Records of as many facts that are added, and then of others that are deleted, once in a cycle."""
    facts = np.arange(added + deleted)
    adds = (facts < added).astype(np.int64)
    first = np.full(facts.size, cycle - 1, np.int64)
    begin, end = Steps(facts, first, adds, 1 - adds), Steps(facts, first + 1, -adds, adds - 1)
    return Records.of(Steps.of([begin, end]))


def _facts(run: LateRun, relation: str, change: Change) -> tuple[Facts, Facts]:
    """What is inserted and what is retracted of `relation`; a fact of both is inserted."""
    tables = change.inserted.get(relation), change.retracted.get(relation)
    inserted, retracted = (
        run.backend.facts(relation, empty_table(run.schemas[relation]) if rows is None else rows) for rows in tables
    )
    return inserted, retracted.minus(inserted)
