"""A rule ready to run: a source of batches, the steps they pass, and the head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tidelog.backends.local.batch import Batch, select_columns, select_some
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.expressions import compute_ids
from tidelog.backends.local.sources import ScanSource, Source
from tidelog.backends.local.steps import Step
from tidelog.facts.membership import Rows
from tidelog.language.syntax_tree import Term, Variable
from tidelog.plan.nodes import Scan, Version

_WORTH_A_LOOK = 1 << 10
"""Rows of a batch that may take so long that limits are looked at."""


@dataclass(frozen=True, slots=True)
class Body:
    """A source of batches, the steps they pass, and the head made of what comes out, if there is one.

    `names` are the columns of the rows without a head.
    """

    source: Source
    steps: tuple[Step, ...]
    names: tuple[str, ...]
    head: Head | None

    def catch_up(self, evaluation: Evaluation) -> None:
        """Brings the indexes up to date that it reads."""
        self.source.catch_up(evaluation)
        for step in self.steps:
            step.catch_up(evaluation)

    def starts_from_delta_of(self, relation: str) -> bool:
        """Whether it starts from the rows of a delta, as they came."""
        scan = self.source.scan if isinstance(self.source, ScanSource) else None
        return scan is not None and scan.relation == relation and scan.version is Version.DELTA

    @property
    def starts_from_marked(self) -> bool:
        """Whether it starts from marked rows: those of a change that is followed."""
        return isinstance(self.source, ScanSource) and self.source.scan.version is Version.MARKED

    def copied(self) -> tuple[Scan, tuple[int, ...]] | None:
        """The scan of which every row gives a row of its own, and which columns make it; None where that is not so."""
        source, head = self.source, self.head
        if self.steps or head is None or not isinstance(source, ScanSource) or source.constants or source.equal:
            return None
        places = dict(source.names)
        columns = tuple(places[term.name] for term in head.columns if isinstance(term, Variable))
        is_whole = len(columns) == len(head.columns) and set(columns) == set(range(len(source.scan.columns)))
        return (source.scan, columns) if is_whole and columns else None

    def prepare(self, evaluation: Evaluation) -> None:
        """Computes what must be whole before `run`. Its indexes are up to date."""
        self.source.prepare(evaluation)
        for step in self.steps:
            step.prepare(evaluation)

    def run(self, morsels: Iterator[Batch], evaluation: Evaluation) -> Iterator[Rows]:
        """The rows that follow from `morsels`, which `source.morsels` gives; good until the next are asked for."""
        reached = [morsels]
        while reached:
            batch = next(reached[-1], None)
            if batch is None:
                reached.pop()
            elif batch.size:
                if batch.size > _WORTH_A_LOOK:
                    evaluation.watch(evaluation.rule, 0)
                if len(reached) <= len(self.steps):
                    reached.append(self.steps[len(reached) - 1].run(batch, evaluation))
                elif self.head is not None:
                    yield self.head.rows(batch, evaluation)
                else:
                    yield select_columns(batch, self.names)

    def collect(self, evaluation: Evaluation) -> Rows:
        """All rows, in one array."""
        evaluation = evaluation.complete()
        self.prepare(evaluation)
        found = [rows.copy() for rows in self.run(self.source.morsels(evaluation), evaluation)]
        return np.concatenate(found) if found else np.empty((0, max(1, len(self.names))), np.int32)


@dataclass(frozen=True, slots=True)
class Head:
    """The terms of a rule's head; `names` are theirs where all of them are variables."""

    columns: tuple[Term, ...]
    names: tuple[str, ...] | None

    def rows(self, batch: Batch, evaluation: Evaluation) -> Rows:
        """One row of the head for each row of `batch`."""
        if self.names is not None:
            return select_columns(batch, self.names)
        rows = select_some(batch, tuple(term.name if isinstance(term, Variable) else "" for term in self.columns), "")
        for number, term in enumerate(self.columns):
            if isinstance(term, Variable):
                continue
            rows[:, number], missing = compute_ids(term, batch, evaluation.kinds, evaluation.store.values)
            if missing is not None:
                evaluation.set_aside(batch, missing, ())
        return rows
