"""DataFrames from outside, brought to the schema of a relation, and the tables of relations made ready to leave."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, DataType, StructField

from tidelog.backends.spark.types import RANGES, SPARK_TYPES, advice, reading, writing
from tidelog.errors import InputError, OutputError, UsageError
from tidelog.schema import Attribute, Kind, Schema, Value


class Nulls(Enum):
    """What to do with a row in which a value is NULL."""

    REFUSE = "refuse"
    SKIP = "skip"


NullPolicy: TypeAlias = Nulls | Mapping[str, Value]
"""Refuse rows with NULL, skip them, or put a value in its place: by attribute, the others refuse."""

PROBLEM = "problem"
"""The column of `split_frame` that says why a row does not fit."""

NOUNS: dict[Kind, str] = {
    Kind.NUMBER: "a number",
    Kind.UNSIGNED: "an unsigned number",
    Kind.FLOAT: "a float",
    Kind.SYMBOL: "a symbol",
}


@dataclass(frozen=True, slots=True)
class Place:
    """One attribute on its way in or out.

    `missing` is where it is NULL, `misfit` where there is no such value; None where the types rule it out. `shown` is
    what an error shows of the column, and `expected` what it says should be there.
    """

    name: str
    expected: str
    value: Column
    missing: Column | None
    misfit: Column | None
    shown: Column


def read_frame(
    frame: DataFrame,
    schema: Schema,
    *,
    columns: Sequence[str] = (),
    nulls: NullPolicy = Nulls.REFUSE,
    source: str = "",
) -> DataFrame:
    """The rows of `frame` as a table of the relation, with the types of `spark_schema`; duplicates are kept.

    `columns` names the columns in the order of the attributes, where they are called otherwise. Types are checked at
    once; values by one job over the frame, which is left out where the types say that all fit. InputError tells what
    does not fit, in how many rows, and one of the values; `source` is where, in its words.
    """
    taken, places = _places_in(frame, schema, columns, nulls, source)
    problems = _problems(taken, places)
    if problems:
        raise InputError("\n".join(problems), source)
    return taken.select(*(place.value.alias(place.name) for place in places))


def guarded_frame(
    frame: DataFrame,
    schema: Schema,
    *,
    columns: Sequence[str] = (),
    nulls: NullPolicy = Nulls.REFUSE,
    source: str = "",
) -> DataFrame:
    """As `read_frame`, without a job: whoever reads a row that does not fit gets an error of Spark's that says why."""
    taken, places = _places_in(frame, schema, columns, nulls, source)
    problems = [text for place in places for text in _row_problems(place)]
    if problems:
        problem = sf.coalesce(sf.lit(None).cast("string"), *problems)
        fits = sf.when(problem.isNull(), sf.lit(True)).otherwise(sf.raise_error(problem).cast("boolean"))
        taken = taken.where(fits)
    return taken.select(*(place.value.alias(place.name) for place in places))


def split_frame(
    frame: DataFrame,
    schema: Schema,
    *,
    columns: Sequence[str] = (),
    nulls: NullPolicy = Nulls.REFUSE,
    source: str = "",
) -> tuple[DataFrame, DataFrame]:
    """The rows that fit, as `read_frame` gives them, and the others as they came with one more column, `problem`.

    Runs no job. A column whose type does not fit is an InputError, as in `read_frame`.
    """
    taken, places = _places_in(frame, schema, columns, nulls, source)
    problem = sf.coalesce(sf.lit(None).cast("string"), *(text for place in places for text in _row_problems(place)))
    fitting = taken.where(problem.isNull()).select(*(place.value.alias(place.name) for place in places))
    others = taken.withColumn(PROBLEM, problem).where(sf.col(PROBLEM).isNotNull())
    return fitting, others.toDF(*frame.columns, PROBLEM)


def write_frame(
    frame: DataFrame,
    schema: Schema,
    *,
    columns: Sequence[str] = (),
    types: Mapping[str, DataType | str] | None = None,
) -> DataFrame:
    """A relation's table under other column names and, for the attributes in `types`, with other Spark types.

    A value that such a type has not is an OutputError; one job looks for it, where there can be one.
    """
    names = _column_names(schema, columns)
    wanted = {name: _spark_type(name, asked) for name, asked in (types or {}).items()}
    _check_attributes(schema, wanted, "types")
    taken = _numbered(frame)
    places = [
        _place_out(schema, position, wanted.get(attribute.name)) for position, attribute in enumerate(schema.attributes)
    ]
    problems = _problems(taken, places)
    if problems:
        raise OutputError("\n".join(problems))
    return taken.select(*(place.value.alias(name) for place, name in zip(places, names, strict=True)))


def find_columns(wanted: Sequence[str], found: Sequence[str], schema: Schema, source: str = "") -> Sequence[int]:
    """Where each wanted column is: by name, letter case aside if need be; by position where no name is known.

    Taking `(dst, source)` by position for `(src, dst)` would swap the columns in silence, so it is refused.
    """
    for spelt in (str, str.lower):
        names = [spelt(name) for name in found]
        if all(names.count(spelt(name)) == 1 for name in wanted):
            return [names.index(spelt(name)) for name in wanted]
    twice = [name for name in wanted if found.count(name) > 1]
    if twice:
        raise InputError(f"there are {found.count(twice[0])} columns named '{twice[0]}' for {schema}", source)
    known = {name.lower() for name in found} & {name.lower() for name in wanted}
    if len(found) == len(wanted) and not known:
        return range(len(wanted))
    missing = ", ".join(f"'{name}'" for name in wanted if name.lower() not in known)
    there = ", ".join(found) or "none"
    raise InputError(
        f"{schema} needs {_count(len(wanted), 'column')}, found {len(found)} ({there}); missing: {missing or 'none'}. "
        "Rename them, or say which ones to take with columns=[…]",
        source,
    )


def _places_in(
    frame: DataFrame, schema: Schema, columns: Sequence[str], nulls: NullPolicy, source: str
) -> tuple[DataFrame, list[Place]]:
    """`frame` with numbered columns and the rows that the policy on NULL leaves, and how each attribute is read."""
    if isinstance(nulls, Mapping):
        _check_replacements(schema, nulls)
    fields = frame.schema.fields
    positions = find_columns(_column_names(schema, columns), [field.name for field in fields], schema, source)
    taken = _numbered(frame)
    if nulls is Nulls.SKIP:
        for position in positions:
            taken = taken.where(_column(position).isNotNull())
    pairs = zip(schema.attributes, positions, strict=True)
    return taken, [_place_in(schema, attribute, position, fields, nulls, source) for attribute, position in pairs]


def _place_in(
    schema: Schema, attribute: Attribute, position: int, fields: list[StructField], nulls: NullPolicy, source: str
) -> Place:
    field, column = fields[position], _column(position)
    conversion = reading(column, field.dataType, attribute.kind)
    expected = f"expected {NOUNS[attribute.kind]} for attribute '{attribute.name}' of {schema}"
    if conversion is None:
        found = f"column '{field.name}' of {field.dataType.simpleString()}"
        raise InputError(f"{expected}, found {found}; {advice(field.dataType, attribute.kind)}", source)
    value = conversion.value
    missing = column.isNull() if field.nullable and nulls is not Nulls.SKIP else None
    if isinstance(nulls, Mapping) and attribute.name in nulls:
        value = sf.coalesce(value, _literal(nulls[attribute.name], attribute.kind))
        missing = None
    return Place(attribute.name, expected, value, missing, conversion.misfit, _shown(column, field.dataType))


def _place_out(schema: Schema, position: int, wanted: DataType | None) -> Place:
    attribute, column = schema.attributes[position], _column(position)
    target = SPARK_TYPES[attribute.kind] if wanted is None else wanted
    conversion = writing(column, attribute.kind, target)
    expected = f"{target.simpleString()} cannot hold attribute '{attribute.name}' of {schema}"
    if conversion is None:
        raise UsageError(f"{expected}; leave it out of types and convert the column afterwards")
    return Place(attribute.name, expected, conversion.value, None, conversion.misfit, column.cast("string"))


def _problems(frame: DataFrame, places: Sequence[Place]) -> list[str]:
    """What does not fit, a line for each attribute and sort of problem; one job finds all."""
    counts = [
        (sf.count_if(condition), sf.first(sf.when(condition, shown), ignorenulls=True), place, advised)
        for place in places
        for condition, shown, advised in _conditions(place)
    ]
    if not counts:
        return []
    (row,) = frame.agg(*(column for count, example, _, _ in counts for column in (count, example))).collect()
    return [
        f"{place.expected}, found {row[2 * index + 1]} in {_count(row[2 * index], 'row')}{advised}"
        for index, (_, _, place, advised) in enumerate(counts)
        if row[2 * index]
    ]


def _row_problems(place: Place) -> Iterator[Column]:
    """Texts that are NULL where the row has no such problem."""
    for condition, shown, _ in _conditions(place):
        yield sf.when(condition, sf.concat(sf.lit(f"{place.expected}, found "), shown))


def _conditions(place: Place) -> Iterator[tuple[Column, Column, str]]:
    """Each problem there can be: where it is, what to show of it, and what to do."""
    if place.missing is not None:
        yield (
            place.missing,
            sf.lit("NULL"),
            f"; skip such rows or say what stands for NULL: nulls={{'{place.name}': …}}",
        )
    if place.misfit is not None:
        yield place.misfit, place.shown, ""


def _shown(column: Column, found: DataType) -> Column:
    if isinstance(found, BinaryType):
        return sf.concat(sf.lit("bytes that are no UTF-8, "), sf.hex(column))
    return column.cast("string")


def _numbered(frame: DataFrame) -> DataFrame:
    """`frame` with columns that can be named: theirs may hold dots or occur twice."""
    return frame.toDF(*(f"column{position}" for position in range(len(frame.columns))))


def _column(position: int) -> Column:
    return sf.col(f"column{position}")


def _column_names(schema: Schema, columns: Sequence[str]) -> Sequence[str]:
    if columns and len(columns) != schema.arity:
        raise UsageError(f"columns has {_count(len(columns), 'name')}, {schema} has {schema.arity}")
    return columns or schema.names


def _spark_type(name: str, asked: DataType | str) -> DataType:
    if isinstance(asked, DataType):
        return asked
    try:
        return DataType.fromDDL(asked)
    except ParseException:
        raise UsageError(f"types: '{asked}' for '{name}' is no Spark type; such are int, date, decimal(10,2)") from None


def _check_attributes(schema: Schema, given: Mapping[str, object], argument: str) -> None:
    for name in given:
        if name not in schema.names:
            raise UsageError(f"{argument}: {schema} has no attribute '{name}'")


def _check_replacements(schema: Schema, given: Mapping[str, Value]) -> None:
    _check_attributes(schema, given, "nulls")
    for attribute in schema.attributes:
        if attribute.name in given and not _is_value(given[attribute.name], attribute.kind):
            found = repr(given[attribute.name])
            raise UsageError(f"nulls: {found} is not {NOUNS[attribute.kind]}, which '{attribute.name}' of {schema} is")


def _is_value(value: object, kind: Kind) -> bool:
    match value:
        case bool():
            return False
        case int() if kind in RANGES:
            return RANGES[kind][0] <= value <= RANGES[kind][1]
        case int() | float():
            return kind is Kind.FLOAT and not math.isnan(value)
        case str():
            return kind is Kind.SYMBOL
        case _:
            return False


def _literal(value: Value, kind: Kind) -> Column:
    match kind, value:
        case Kind.UNSIGNED, int():
            return sf.lit(Decimal(value)).cast(SPARK_TYPES[kind])
        case Kind.FLOAT, (int() | float()):
            return sf.lit(float(value) + 0.0)
        case _:
            return sf.lit(value).cast(SPARK_TYPES[kind])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
