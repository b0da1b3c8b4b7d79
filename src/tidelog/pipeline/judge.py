"""Row by row, what does not fit a relation: a text that is no number, a value that is missing or out of range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import DataType, DecimalType, DoubleType, LongType, StringType

from tidelog.backends.spark.types import SPARK_TYPES, Conversion, advice, reading
from tidelog.connectors.problems import NOUNS
from tidelog.connectors.protocol import Nulls
from tidelog.errors import InputError
from tidelog.pipeline.config import NullPolicy
from tidelog.schema import Attribute, Kind, Schema

PROBLEM = "_problem"
"""The column that says what is wrong with a row; NULL where nothing is."""

CORRUPT = "_corrupt"
"""The column in which Spark leaves a line of JSON that it could not read."""

WHOLE = r"^\s*[+]?[0-9]+\s*$"
SHOWN = 60


@dataclass(frozen=True, slots=True)
class Judged:
    """One attribute of each row: its value, where that is missing, and what is wrong with it."""

    name: str
    value: Column
    missing: Column
    problem: Column


def judged(frame: DataFrame, schema: Schema, nulls: NullPolicy, *others: Column, source: str = "") -> DataFrame:
    """The columns of the relation, read from text where they are text, then `others`, then what is wrong with each row.

    Runs no job; columns of a type that cannot be read at all are an InputError.
    """
    columns = [_judge(frame, attribute, schema, nulls, source) for attribute in schema.attributes]
    problem = f.coalesce(_corrupt(frame), *(one.problem for one in columns), _none())
    rows = frame.where(~_any([one.missing for one in columns])) if nulls is Nulls.SKIP and columns else frame
    return rows.select(*(one.value.alias(one.name) for one in columns), *others, problem.alias(PROBLEM))


def strict(rows: DataFrame) -> DataFrame:
    """Judged rows without the judgement: reading one that does not fit is an error that says why."""
    fits = f.when(f.col(PROBLEM).isNull(), f.lit(True)).otherwise(f.raise_error(f.col(PROBLEM)).cast("boolean"))
    return rows.where(fits).drop(PROBLEM)


def quoted(name: str) -> str:
    """A column name as Spark reads it, dots and all."""
    return "`" + name.replace("`", "``") + "`"


def _judge(frame: DataFrame, attribute: Attribute, schema: Schema, nulls: NullPolicy, source: str) -> Judged:
    column, found = f.col(quoted(attribute.name)), frame.schema[attribute.name].dataType
    converted = _parsed(column, attribute.kind) if _is_text_of(found, attribute.kind) else None
    converted = converted or reading(column, found, attribute.kind)
    expected = f"expected {NOUNS[attribute.kind]} for attribute '{attribute.name}' of {schema}, found "
    if converted is None:
        hint = advice(found, attribute.kind)
        raise InputError(f"{expected}a column of {found.simpleString()}\n  hint: {hint}", source)
    shown = f.concat(f.lit(expected + "'"), f.substring(column.cast(StringType()), 1, SHOWN), f.lit("'"))
    problem = _none() if converted.misfit is None else f.when(converted.misfit, shown)
    value = converted.value
    if isinstance(nulls, Mapping) and attribute.name in nulls:
        value = f.coalesce(value, f.lit(nulls[attribute.name]).cast(SPARK_TYPES[attribute.kind]))
    elif nulls is not Nulls.SKIP:
        problem = f.coalesce(problem, f.when(column.isNull(), f.lit(expected + "NULL")))
    return Judged(attribute.name, value, column.isNull(), problem)


def _is_text_of(found: DataType, kind: Kind) -> bool:
    return isinstance(found, StringType) and kind is not Kind.SYMBOL


def _parsed(column: Column, kind: Kind) -> Conversion:
    """A number out of text."""
    match kind:
        case Kind.UNSIGNED:
            value = f.when(column.rlike(WHOLE), column.try_cast(DecimalType(20, 0)))
            most = f.lit(str(2**64 - 1)).cast(DecimalType(20, 0))
            return Conversion(value, f.coalesce(value > most, column.isNotNull()))
        case Kind.FLOAT:
            value = column.try_cast(DoubleType()) + f.lit(0.0)
            return Conversion(value, column.isNotNull() & (value.isNull() | f.isnan(value)))
        case _:
            value = column.try_cast(LongType())
            return Conversion(value, column.isNotNull() & value.isNull())


def _corrupt(frame: DataFrame) -> Column:
    """What is wrong with a line of JSON."""
    if CORRUPT not in frame.columns:
        return _none()
    shown = f.substring(f.col(CORRUPT), 1, SHOWN)
    return f.when(f.col(CORRUPT).isNotNull(), f.concat(f.lit("not an object with the columns asked for: "), shown))


def _none() -> Column:
    return f.lit(None).cast(StringType())


def _any(conditions: list[Column]) -> Column:
    return reduce(lambda one, other: one | other, conditions)
