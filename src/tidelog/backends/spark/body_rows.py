"""What passes through the parts of a body on Spark, and what happens to rows for which an expression has no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from tidelog.backends.spark.expressions import Computed
from tidelog.backends.spark.layout import variable_column
from tidelog.backends.spark.store import Store
from tidelog.plan.nodes import AGE, RulePlan
from tidelog.schema import Kind
from tidelog.span import Span

WHY = "~why"
"""The name of the column that says why a row has no value: only rows set aside have it."""

VALUE = "t_value"
REASON = "t_reason"


@dataclass(frozen=True, slots=True)
class BodyRows:
    """Rows on their way through a body: a column for each of the `names`. No `frame` stands for one row without any."""

    frame: DataFrame | None
    names: tuple[str, ...]

    @property
    def is_set_aside(self) -> bool:
        """Whether an expression had no value for these rows."""
        return WHY in self.names

    def rows(self, run: Run) -> DataFrame:
        """The rows as a DataFrame."""
        return run.unit() if self.frame is None else self.frame

    def narrowed(self, names: tuple[str, ...]) -> BodyRows:
        """The same rows with these columns only, where all its columns have names."""
        return self if set(names) == set(self.names) else self.select(names)

    def select(self, names: tuple[str, ...]) -> BodyRows:
        """The same rows with these columns only."""
        assert self.frame is not None
        return BodyRows(self.frame.select(*map(variable_column, names)), names)


@dataclass(frozen=True, slots=True)
class Failure:
    """Rows for which an expression has no value and everything else that can be decided holds; `spans` are the places
    that the reasons count."""

    rows: BodyRows
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One translation of a rule. `keys` are names that rows set aside gain from the rest of their body.

    Where everything that is read `is_near`, all is one partition, and no join needs to send rows anywhere.
    """

    store: Store
    rule: RulePlan
    is_near: bool = False
    keys: tuple[str, ...] = ()
    failures: list[Failure] = field(default_factory=list)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return self.rule.kinds

    def kind(self, name: str) -> Kind:
        """The kind of the column of `name`."""
        return Kind.SYMBOL if name == WHY else Kind.NUMBER if name == AGE else self.rule.kinds[name]

    def collecting(self, keys: tuple[str, ...]) -> Run:
        """The same for the body of an aggregate, with failures of its own."""
        return replace(self, keys=keys, failures=[])

    def beside(self, frame: DataFrame) -> DataFrame:
        """`frame`, to be the right side of a join by names."""
        return frame.hint("shuffle_hash") if self.is_near else frame

    def unit(self) -> DataFrame:
        """One row without columns."""
        return self.store.unit.select()


def split(so_far: BodyRows, computed: Computed, run: Run) -> tuple[DataFrame, BodyRows | None]:
    """The rows for which there is a value, with a column for it, and those for which there is none.

    Rows that were set aside before keep the reason that they have.
    """
    frame = so_far.rows(run)
    if computed.reason is None:
        return frame.withColumn(VALUE, computed.value), None
    both = frame.withColumns({VALUE: computed.value, REASON: computed.reason})
    good = both.where(sql.col(REASON).isNull())
    bad = both.where(sql.col(REASON).isNotNull())
    if so_far.is_set_aside:
        return good, BodyRows(bad, so_far.names).select(so_far.names)
    why = variable_column(WHY)
    return good, BodyRows(bad.withColumn(why, sql.col(REASON)), so_far.names).select((*so_far.names, WHY))
