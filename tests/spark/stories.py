"""Programs on the Spark backend: takes text and facts, returns rows, after each change too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from answers import Rows, stored_relations
from replay import Chapter, History
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.spark.backend import SparkBackend
from tidelog.backends.spark.jobs import SparkSettings
from tidelog.backends.spark.layout import public_table
from tidelog.connectors.python_rows import table_of_rows
from tidelog.errors import EvaluationError
from tidelog.facts.change import Change
from tidelog.maintain.materialization import Materialization
from tidelog.maintain.protocol import SILENT, Limits, Maintenance
from tidelog.schema import Row, Schema, Value

EVERYTHING_FAR = SparkSettings(near_rows=0, most_parts=2)
"""All rows in the cluster, and parts brought together often: what large relations see."""


class Keeper:
    """A program with facts on Spark, and what follows from them."""

    def __init__(
        self,
        spark: SparkSession,
        checked: CheckedProgram,
        settings: SparkSettings = SparkSettings(),  # noqa: B008  frozen
        maintenance: Maintenance = Maintenance(),  # noqa: B008  frozen
    ) -> None:
        self.checked = checked
        backend = SparkBackend(spark, checked.schemas, settings)
        self.materialization = Materialization(checked, backend, Limits(), SILENT, maintenance)

    @property
    def backend(self) -> SparkBackend:
        """Where the rows are now: they move to another one when a module is left out."""
        backend = self.materialization._backend
        assert isinstance(backend, SparkBackend)
        return backend

    def load(self, facts: Mapping[str, Iterable[Row]]) -> None:
        for relation, rows in facts.items():
            self.materialization.load(relation, table(rows, self.checked.schemas[relation]))

    def rows(self, relation: str) -> list[Row]:
        """The rows of `relation`, sorted."""
        self.materialization.materialize()
        held = self.backend.facts(relation)
        if held.rows is not None:  # in the driver: no job
            near = public_table(held.rows, self.checked.schemas[relation])
            return sorted(zip(*near.to_pydict().values(), strict=True)) if near.num_columns else [()] * near.num_rows
        return frame_rows(self.materialization.table(relation))

    def all_rows(self) -> Rows:
        """The rows of every relation that has rows of its own; none of them comes twice."""
        found = {name: self.rows(name) for name in stored_relations(self.checked.program)}
        for name, rows in found.items():
            assert len(rows) == len(set(rows)), f"{name} has a row twice"
        return {name: set(rows) for name, rows in found.items()}

    def replay(self, history: History) -> None:
        """Applies every change of `history`; AssertionError where Spark and the oracle differ."""
        before = history.start
        assert self.all_rows() == before
        for chapter in history.chapters:
            self.apply(chapter, before)
            before = chapter.rows

    def apply(self, chapter: Chapter, before: Rows) -> None:
        schemas = self.checked.schemas
        change = Change(
            {name: table(rows, schemas[name]) for name, rows in chapter.step.insert.items()},
            {name: table(rows, schemas[name]) for name, rows in chapter.step.retract.items()},
        )
        if chapter.fails:
            try:
                self.materialization.apply(change)
            except EvaluationError:
                pass
            else:
                raise AssertionError("the oracle finds an expression without a value, Spark does not")
        else:
            deltas = self.materialization.apply(change).deltas
            for name, rows in chapter.rows.items():
                appeared, vanished = rows - before[name], before[name] - rows
                delta = deltas.get(name)
                found = (0, 0) if delta is None else (delta.appeared_count, delta.vanished_count)
                assert found == (len(appeared), len(vanished)), f"the delta of {name}"
                if delta is not None and appeared:
                    assert set(frame_rows(delta.appeared())) == appeared
                if delta is not None and vanished:
                    assert set(frame_rows(delta.vanished())) == vanished
        assert self.all_rows() == chapter.rows


def table(rows: Iterable[Row], schema: Schema) -> pa.Table:
    return table_of_rows(list(rows), schema)


def frame_rows(frame: DataFrame) -> list[Row]:
    """The rows of a table of the backend, sorted; unsigned numbers are decimals there."""
    if not frame.columns:
        return [()] * frame.count()
    columns = frame.toArrow().to_pydict().values()
    return sorted(zip(*([_plain(value) for value in column] for column in columns), strict=True))


def _plain(value: Value | Decimal) -> Value:
    return int(value) if isinstance(value, Decimal) else value
