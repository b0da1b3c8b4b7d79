"""Rows from outside as rows of a relation, each judged: a text that is no number, a value missing or out of range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType, DataType, StringType, StructField

from tidelog.backends.spark.expressions import literal
from tidelog.backends.spark.types import Conversion, advice, reading
from tidelog.connectors.problems import NOUNS
from tidelog.connectors.protocol import Nulls
from tidelog.errors import InputError
from tidelog.language.words import nearest
from tidelog.pipeline.config import NOTHING, NullPolicy
from tidelog.schema import Attribute, Kind, Schema

PROBLEM = "~problem"
"""The column that says what is wrong with a row; NULL where nothing is. No attribute has such a name."""

RAW = "~raw"
"""The column that has what was taken of a row, as it came, in JSON."""

CORRUPT = "~corrupt"
"""The column in which Spark leaves a line of JSON that it could not read."""

SHOWN = 60

Reading: TypeAlias = Callable[[Column, DataType, Kind], Conversion | None]
"""`types.reading`, or one that takes more."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One attribute of each row: what there was, its value, where that is missing, and what is wrong with it."""

    raw: Column
    value: Column
    missing: Column
    problem: Column


def judged(
    frame: DataFrame,
    schema: Schema,
    *,
    columns: Mapping[str, str] = NOTHING,
    extra: Sequence[str] = (),
    nulls: NullPolicy = Nulls.REFUSE,
    read: Reading = reading,
    source: str = "",
) -> DataFrame:
    """The columns of the relation, then the `extra` ones, then what is wrong with each row and the row as it came.

    `columns` has what an attribute is called in the frame, where that differs. Runs no job; columns that are not
    there, or of a type that cannot be read at all, are an InputError.
    """
    fields = frame.schema.fields
    names = [field.name for field in fields]
    positions = _positions(names, schema, columns, extra, source)
    numbered = frame.toDF(*map(_name, range(len(names))))  # names may hold dots, or differ in case only
    parts = [
        _judge(attribute, position, fields[position], schema, nulls, read, source)
        for attribute, position in zip(schema.attributes, positions, strict=True)
    ]
    if nulls is Nulls.SKIP and parts:
        numbered = numbered.where(~reduce(Column.__or__, [part.missing for part in parts]))
    others = [f.col(_name(names.index(name))).alias(name) for name in extra]
    raw = [*(part.raw.alias(name) for part, name in zip(parts, schema.names, strict=True)), *others]
    problems = [part.problem for part in parts]
    if CORRUPT in names:
        problems.insert(0, _corrupt(f.col(_name(names.index(CORRUPT)))))
    return numbered.select(
        *(part.value.alias(name) for part, name in zip(parts, schema.names, strict=True)),
        *others,
        f.coalesce(*problems, _no_text()).alias(PROBLEM),
        (f.to_json(f.struct(*raw)) if raw else f.lit("{}")).alias(RAW),
    )


def strict(rows: DataFrame, source: str = "") -> DataFrame:
    """Judged rows without the judgement: reading one that does not fit is an error that says why, and in which file."""
    problem = f.col(quoted(PROBLEM))
    if source:
        file = f.regexp_replace(f.input_file_name(), "^file:(//)?(?=/)", "")
        place = f.when(file == "", f.lit(source)).otherwise(file)
        told = f.concat(place, f.lit(": "), problem)
    else:
        told = problem
    fits = f.when(problem.isNull(), f.lit(True)).otherwise(f.raise_error(told).cast("boolean"))
    return rows.where(fits).drop(PROBLEM, RAW)


def find_columns(wanted: Sequence[str], found: Sequence[str]) -> Sequence[int]:
    """Where each wanted column is: by name, letter case aside if need be; by position where no name is known.

    Taking `(dst, source)` by position for `(src, dst)` would swap the columns in silence. None are found then.
    """
    for spelt in (str, str.lower):
        names = [spelt(name) for name in found]
        if all(names.count(spelt(name)) == 1 for name in wanted):
            return [names.index(spelt(name)) for name in wanted]
    known = {name.lower() for name in found} & {name.lower() for name in wanted}
    return range(len(wanted)) if len(found) == len(wanted) and not known else []


def quoted(name: str) -> str:
    """A column name as Spark reads it, dots and all."""
    return "`" + name.replace("`", "``") + "`"


def _positions(
    names: Sequence[str], schema: Schema, columns: Mapping[str, str], extra: Sequence[str], source: str
) -> Sequence[int]:
    """Where the columns of the attributes are in the frame."""
    wanted = [columns.get(name, name) for name in schema.names]
    places = [place for place, name in enumerate(names) if name not in (*extra, CORRUPT)]
    found = find_columns(wanted, [names[place] for place in places])
    missing = [name for name in extra if name not in names]
    if columns:
        missing += [name for name in wanted if name not in names]
    if len(found) < len(wanted) or missing:
        raise InputError(_no_columns([*missing, *wanted], [names[place] for place in places], schema), source)
    return [places[position] for position in found]


def _no_columns(wanted: Sequence[str], found: Sequence[str], schema: Schema) -> str:
    """Which column is not there, or there more than once, and what to do."""
    lower = [name.lower() for name in found]
    there = ", ".join(found) or "none"
    for name in wanted:
        if lower.count(name.lower()) > 1:
            return f"{schema} needs one column '{name}', found {there}\n  hint: rename the others"
    missing = next((name for name in wanted if name.lower() not in lower), wanted[0])
    near = nearest(missing, found)
    hint = f"did you mean '{near}'? " if near else ""
    return (
        f"{schema} needs the column '{missing}', found {there}\n"
        f"  hint: {hint}Rename it there; in a pipeline file, columns says what an attribute is called"
    )


def _judge(
    attribute: Attribute,
    position: int,
    field: StructField,
    schema: Schema,
    nulls: NullPolicy,
    read: Reading,
    source: str,
) -> Judged:
    column = f.col(_name(position))
    conversion = read(column, field.dataType, attribute.kind)
    expected = f"expected {NOUNS[attribute.kind]} for attribute '{attribute.name}' of {schema}, found "
    if conversion is None:
        found = f"the column '{field.name}' of {field.dataType.simpleString()}"
        raise InputError(f"{expected}{found}\n  hint: {advice(field.dataType, attribute.kind)}", source)
    misfit = f.lit(False) if conversion.misfit is None else f.coalesce(conversion.misfit, f.lit(False))
    missing = conversion.value.isNull() & ~misfit
    problem = f.when(misfit, f.concat(f.lit(expected), _shown(column, field.dataType)))
    value = conversion.value
    if isinstance(nulls, Mapping) and attribute.name in nulls:
        value = f.coalesce(value, literal(nulls[attribute.name], attribute.kind))
    elif nulls is not Nulls.SKIP:
        problem = problem.when(missing, f.lit(expected + "NULL"))
    return Judged(column, value, missing, problem)


def _shown(column: Column, found: DataType) -> Column:
    """What an error shows of a value."""
    if isinstance(found, BinaryType):
        return f.concat(f.lit("bytes that are no UTF-8, "), f.substring(f.hex(column), 1, SHOWN))
    text = f.substring(column.cast(StringType()), 1, SHOWN)
    return f.concat(f.lit("'"), text, f.lit("'")) if isinstance(found, StringType) else text


def _corrupt(line: Column) -> Column:
    """What is wrong with a line of JSON."""
    shown = f.concat(f.lit("not an object with the columns asked for: "), f.substring(line, 1, SHOWN))
    return f.when(line.isNotNull(), shown)


def _name(position: int) -> str:
    return f"column{position}"


def _no_text() -> Column:
    return f.lit(None).cast(StringType())
