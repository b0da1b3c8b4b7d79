"""The facts of a flow and what follows from them, wherever its tier keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Backend
from tidelog.backends.spark.ahead import reducing
from tidelog.backends.spark.arrow_frames import frame_of_table
from tidelog.backends.spark.backend import SparkBackend
from tidelog.backends.spark.kept_rows import keep_now
from tidelog.errors import UsageError
from tidelog.facts.change import Change, Outcome, net_change
from tidelog.maintain.protocol import Limits, Maintenance, Observer
from tidelog.pipeline.arrow_rows import errors_told, to_arrow
from tidelog.pipeline.config import Tier
from tidelog.plan.lower import given_to
from tidelog.plan.reduction import Reduction, Strategy
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
        self,
        checked: CheckedProgram,
        tier: Tier,
        model: Model,
        to_own: Callable[[Rows, Schema], Any],
        choices: Sequence[Reduction] = (),
    ) -> None:
        self.choices = choices
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
        change = self._net(Change(self._all_own(inserted), self._all_own(retracted)))
        step = Step(self.checked, self.checked, change)
        outcome = self._model.take(step)
        counts = counts_of(change, outcome) if self.tier is Tier.COMPILED else _counts_of_frames(change, outcome)
        return Taken(outcome, counts, step.done(outcome))

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

    def _all_own(self, rows: Mapping[str, Rows]) -> dict[str, Any]:
        return {relation: self._own(relation, each) for relation, each in rows.items()}


def start_engine(
    checked: CheckedProgram,
    tier: Tier,
    spark: SparkSession,
    *,
    jobs: int,
    limits: Limits,
    observer: Observer,
    reduction: Strategy | None,
) -> Engine:
    """An engine of that tier, without facts but those of the program's text."""
    if checked.productions:
        raise UsageError(
            "production rules do not run in a pipeline yet, and this program has some\n"
            "  hint: run them with tidelog run, or with db.run() in Python, and give the pipeline what they leave"
        )
    choices: list[Reduction] = []

    def model_over(backend: Backend) -> Model:
        return Model(checked, backend, limits, observer, Maintenance())

    match tier:
        case Tier.COMPILED:
            return Engine(checked, tier, model_over(LocalBackend(checked.schemas, jobs=jobs)), _in_driver)
        case Tier.SPARK:
            partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
            backend = SparkBackend(spark, checked.schemas, ahead=reducing(spark, partitions, reduction, choices.append))
            return Engine(checked, tier, model_over(backend), partial(_in_cluster, spark), choices)


def tier_for(rows: Iterable[int], most: int) -> Tier:
    """Where facts go of which there are so many, by relation."""
    return Tier.COMPILED if sum(rows) <= most else Tier.SPARK


def _in_cluster(spark: SparkSession, rows: Rows, schema: Schema) -> DataFrame:
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


def _in_driver(rows: Rows, schema: Schema) -> pa.Table:
    return rows if isinstance(rows, pa.Table) else to_arrow(rows, schema)
