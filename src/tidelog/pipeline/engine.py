"""The facts of a flow and what follows from them, wherever its tier keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.spark.arrow_frames import frame_of_table
from tidelog.backends.spark.kept_rows import keep_now
from tidelog.facts.change import Change, Outcome, net_change
from tidelog.pipeline.arrow_rows import errors_told, to_arrow
from tidelog.pipeline.config import Tier
from tidelog.pipeline.production.strategy import ProductionReduction
from tidelog.plan.lower import given_to
from tidelog.plan.reduction import Reduction
from tidelog.schema import Schema
from tidelog.world.delta import Counts, counts_of
from tidelog.world.model import Model, Step

Rows = pa.Table | DataFrame
"""Rows as they arrive or leave: what a tier keeps is one of the two."""

ToOwn = Callable[[Rows, Schema], Any]
"""Brings rows into the form that a tier keeps."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A change that an engine took: what came of it, and how to take it back."""

    outcome: Outcome
    counts: Counts
    step: Step


class Engine:
    """A program and its facts in one tier. `to_own` brings rows into the form that the tier keeps."""

    def __init__(
        self,
        checked: CheckedProgram,
        tier: Tier,
        model: Model,
        to_own: ToOwn,
        choices: Sequence[Reduction] = (),
    ) -> None:
        self.choices = choices
        self.checked = checked
        self.tier = tier
        self.derived = frozenset(rule.head.relation for one in checked.strata for rule in one.rules if rule.body)
        self._model = model
        self._to_own = to_own

    @property
    def production(self) -> ProductionReduction | None:
        """How production rules were run the last time; None where there are none."""
        return None

    def load(self, relation: str, rows: Rows) -> int:
        """Adds facts before anything is derived; how many were new."""
        return self._model.load(relation, self._own(relation, rows))

    def forget_facts_of_text(self) -> None:
        """Takes the facts of the program's text away: a state knows which of them are still there."""
        for relation in self.checked.schemas:
            self._model.unload(relation, self._model.materialization.explicit(relation))

    def materialize(self) -> None:
        """Derives everything that follows."""
        self._model.materialize()

    def take(self, inserted: Mapping[str, Rows], retracted: Mapping[str, Rows]) -> Taken:
        """Brings a change about, all of it or, when it raises, nothing."""
        change = self._net(Change(self._all_own(inserted), self._all_own(retracted)))
        step = Step(self.checked, self.checked, change)
        done, outcome = self._model.take(step)
        return Taken(outcome, self._counts(change, outcome), done)

    def take_back(self, taken: Taken) -> None:
        """Undoes the last change."""
        self._model.take_back(taken.step)

    def rows(self, relation: str) -> Any:
        """The facts of a relation, given and derived."""
        return self._model.table(relation)

    def given(self, relation: str) -> Any:
        """The facts given to a relation."""
        return self._model.materialization.explicit(relation)

    def count(self, relation: str) -> int:
        """How many facts a relation has."""
        return self._model.count(relation)

    def given_table(self, relation: str) -> str:
        """The name of the table that has the facts given to a relation: its own unless rules derive it."""
        return given_to(relation) if relation in self.derived else relation

    def close(self) -> None:
        """Forgets every fact."""
        self._model.close("the flow is closed: open it again with tidelog.spark.open")

    def _own(self, relation: str, rows: Rows) -> Any:
        return self._to_own(rows, self.checked.schemas[relation])

    def _net(self, change: Change) -> Change:
        """`change` without the retractions that an insertion of the same fact outweighs."""
        return net_change(change) if self.tier is Tier.COMPILED else _net_of_frames(change)

    def _counts(self, change: Change, outcome: Outcome) -> Counts:
        return counts_of(change, outcome) if self.tier is Tier.COMPILED else _counts_of_frames(change, outcome)

    def _all_own(self, rows: Mapping[str, Rows]) -> dict[str, Any]:
        return {relation: self._own(relation, each) for relation, each in rows.items()}


def tier_for(rows: Iterable[int], most: int) -> Tier:
    """Where facts go of which there are so many, by relation."""
    return Tier.COMPILED if sum(rows) <= most else Tier.SPARK


def in_cluster(spark: SparkSession, rows: Rows, schema: Schema) -> DataFrame:
    """The different rows of a frame, computed once and kept where Spark has them."""
    if isinstance(rows, pa.Table):
        return frame_of_table(spark, rows, schema).distinct()
    with errors_told(schema.relation):
        return keep_now(rows.distinct())


def _net_of_frames(change: Change) -> Change:
    inserted, retracted = _frames(change.inserted), _frames(change.retracted)
    left = {
        relation: keep_now(frame.subtract(inserted[relation])) if relation in inserted else frame
        for relation, frame in retracted.items()
    }
    return Change(change.inserted, left)  # type: ignore[arg-type]


def _counts_of_frames(asked: Change, outcome: Outcome) -> Counts:
    def rows(tables: Mapping[str, Any]) -> int:
        return sum(frame.count() for frame in tables.values())

    inserted, retracted = rows(outcome.inserted), rows(outcome.retracted)
    return Counts(inserted, rows(asked.inserted) - inserted, retracted, rows(asked.retracted) - retracted)


def _frames(tables: Mapping[str, Any]) -> Mapping[str, DataFrame]:
    return tables


def in_driver(rows: Rows, schema: Schema) -> pa.Table:
    return rows if isinstance(rows, pa.Table) else to_arrow(rows, schema)
