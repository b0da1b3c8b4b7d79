"""The facts of a flow and what follows from them, wherever its tier keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Backend
from tidelog.errors import UsageError
from tidelog.facts.change import Change, Outcome, net_change
from tidelog.maintain.protocol import Limits, Maintenance, Observer
from tidelog.pipeline.arrow_rows import to_arrow
from tidelog.pipeline.config import Tier
from tidelog.plan.lower import given_to
from tidelog.schema import Schema
from tidelog.world.delta import Counts, counts_of
from tidelog.world.model import Model, Step

Rows = pa.Table | DataFrame
"""Rows as they arrive or leave: what a tier keeps is one of the two."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A change that an engine took: what came of it, and how to take it back."""

    outcome: Outcome
    counts: Counts
    step: Step


class Engine:
    """A program and its facts in one tier. `to_own` brings rows into the form that the tier keeps."""

    def __init__(
        self, checked: CheckedProgram, tier: Tier, model: Model, to_own: Callable[[Rows, Schema], pa.Table]
    ) -> None:
        self.checked = checked
        self.tier = tier
        self.derived = frozenset(rule.head.relation for one in checked.strata for rule in one.rules if rule.body)
        self._model = model
        self._to_own = to_own

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
        change = net_change(Change(self._all_own(inserted), self._all_own(retracted)))
        step = Step(self.checked, self.checked, change)
        outcome = self._model.take(step)
        return Taken(outcome, counts_of(change, outcome), step.done(outcome))

    def take_back(self, taken: Taken) -> None:
        """Undoes the last change."""
        self._model.take_back(taken.step)

    def rows(self, relation: str) -> pa.Table:
        """The facts of a relation, given and derived."""
        return self._model.table(relation)

    def given(self, relation: str) -> pa.Table:
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

    def _own(self, relation: str, rows: Rows) -> pa.Table:
        return self._to_own(rows, self.checked.schemas[relation])

    def _all_own(self, rows: Mapping[str, Rows]) -> dict[str, pa.Table]:
        return {relation: self._own(relation, each) for relation, each in rows.items()}


def start_engine(
    checked: CheckedProgram, tier: Tier, spark: SparkSession, jobs: int, limits: Limits, observer: Observer
) -> Engine:
    """An engine of that tier, without facts but those of the program's text."""

    def model_over(backend: Backend) -> Model:
        return Model(checked, backend, limits, observer, Maintenance())

    match tier:
        case Tier.COMPILED:
            return Engine(checked, tier, model_over(LocalBackend(checked.schemas, jobs=jobs)), _in_driver)
        case Tier.SPARK:
            _ = spark  # where a SparkBackend goes: model_over(SparkBackend(spark, checked.schemas))
            raise UsageError(
                "the inputs are more than the driver may hold, and facts in DataFrames cannot be kept true yet\n"
                "  hint: raise compiled_rows if the driver has the memory"
            )


def tier_for(rows: Iterable[int], most: int) -> Tier:
    """Where facts go of which there are so many, by relation."""
    return Tier.COMPILED if sum(rows) <= most else Tier.SPARK


def _in_driver(rows: Rows, schema: Schema) -> pa.Table:
    return rows if isinstance(rows, pa.Table) else to_arrow(rows, schema)
