"""How a column of any Spark type becomes values of a kind, none of them lost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from tidelog.backends.spark.layout import SPARK_TYPES
from tidelog.language.functions import RANGES
from tidelog.schema import Kind

EXACT_IN_FLOATS = 2**53
"""Up to here every integer is a float of its own."""

WHOLE = r"^\s*[+]?[0-9]+\s*$"
"""What Spark is to take for an unsigned number: it would round others."""

MICROSECONDS_OF_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Conversion:
    """A column as another type. `misfit` is true where there is no such value; None when there always is.

    Both are NULL where the column is.
    """

    value: Column
    misfit: Column | None = None


def reading(column: Column, found: DataType, kind: Kind) -> Conversion | None:
    """A column of a Spark type as values of `kind`; None when values of that type are none of that kind."""
    if isinstance(found, NullType):
        return Conversion(column.cast(SPARK_TYPES[kind]))
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _reading_integer(column, found, kind)
        case Kind.FLOAT:
            return _reading_float(column, found)
        case Kind.SYMBOL:
            return _reading_symbol(column, found)


def parsing(column: Column, found: DataType, kind: Kind) -> Conversion | None:
    """As `reading`; numbers are also read out of text."""
    if not isinstance(found, StringType) or kind is Kind.SYMBOL:
        return reading(column, found, kind)
    match kind:
        case Kind.UNSIGNED:
            value = sf.when(column.rlike(WHOLE), column.try_cast(SPARK_TYPES[kind]))
            value = sf.when(value <= sf.lit(Decimal(RANGES[kind][1])), value)
        case Kind.FLOAT:
            value = column.try_cast(SPARK_TYPES[kind]) + sf.lit(0.0)
            value = sf.when(~sf.isnan(value), value)
        case _:
            value = column.try_cast(SPARK_TYPES[kind])
    return Conversion(value, column.isNotNull() & value.isNull())


def advice(found: DataType, kind: Kind) -> str:
    """What to do about a column that `reading` has no way for."""
    name = found.simpleString()
    match found, kind:
        case StringType(), _:
            return f"nothing is parsed from text: cast the column to {SPARK_TYPES[kind].simpleString()} first"
        case _, Kind.SYMBOL if re.match(r"(tinyint|smallint|int|bigint|float|double|decimal)", name):
            return "nothing is printed to text: cast the column to string first, or declare a number"
        case ((DateType() | TimestampType() | TimestampNTZType()), _):
            return "declare a symbol, which holds it in ISO form, or a number, which counts days or microseconds"
        case BooleanType(), _:
            return "declare a number (0 or 1) or a symbol (true or false)"
        case _:
            return "take it apart into columns of numbers and text first"


def _reading_integer(column: Column, found: DataType, kind: Kind) -> Conversion | None:
    target = SPARK_TYPES[kind]
    match found:
        case ByteType() | ShortType() | IntegerType() | LongType():
            return Conversion(column.cast(target), column < sf.lit(0) if kind is Kind.UNSIGNED else None)
        case BooleanType():
            return Conversion(column.cast("int").cast(target))
        case FloatType() | DoubleType():
            return _whole_float(column.cast("double"), kind)
        case DecimalType():
            return _whole_decimal(column, found, kind)
        case DateType() if kind is Kind.NUMBER:
            return Conversion(sf.unix_date(column).cast(target))
        case TimestampType() | TimestampNTZType() if kind is Kind.NUMBER:
            return Conversion(_microseconds(column, found))
        case _:
            return None


def _whole_float(column: Column, kind: Kind) -> Conversion:
    """Floats that are integers. Spark's way from double to decimal prints and parses, so it goes through long."""
    low, high = RANGES[kind]
    inside = (column >= sf.lit(float(low))) & (column < sf.lit(float(high + 1)))
    misfit = ~inside | (sf.rint(column) != column)
    if kind is Kind.NUMBER:
        return Conversion(column.try_cast("bigint"), misfit)
    half = sf.lit(2.0**63)
    upper = (column - half).try_cast("bigint").cast("decimal(20,0)") + sf.lit(Decimal(2**63))
    whole = sf.when(column < half, column.try_cast("bigint").cast("decimal(20,0)")).otherwise(upper)
    return Conversion(whole.try_cast(SPARK_TYPES[kind]), misfit)


def _whole_decimal(column: Column, found: DecimalType, kind: Kind) -> Conversion:
    """Decimals that are integers."""
    low, high = RANGES[kind]
    most = 10 ** (found.precision - found.scale) - 1
    outside = _beyond(column, low if low > -most else None, high if high < most else None)
    fraction = column % sf.lit(1) != sf.lit(0) if found.scale else None
    return Conversion(column.try_cast(SPARK_TYPES[kind]), _either(outside, fraction))


def _reading_float(column: Column, found: DataType) -> Conversion | None:
    match found:
        case FloatType() | DoubleType():
            # Adding 0.0 makes zeros of negative zeros.
            return Conversion(column.cast("double") + sf.lit(0.0), sf.isnan(column))
        case ByteType() | ShortType() | IntegerType():
            return Conversion(column.cast("double"))
        case LongType():
            return Conversion(column.cast("double"), _beyond(column, -EXACT_IN_FLOATS, EXACT_IN_FLOATS))
        case DecimalType():
            return Conversion(column.cast("double"))
        case _:
            return None


def _reading_symbol(column: Column, found: DataType) -> Conversion | None:
    match found:
        case StringType() | CharType() | VarcharType() | BooleanType() | DateType():
            # The cast also takes away a collation, under which different symbols could be equal.
            return Conversion(column.cast(StringType()))
        case BinaryType():
            return Conversion(column.cast(StringType()), ~sf.is_valid_utf8(column.cast(StringType())))
        case TimestampType():
            return Conversion(sf.concat(_time_text(_microseconds(column, found)), sf.lit("Z")))
        case TimestampNTZType():
            return Conversion(_time_text(_microseconds(column, found)))
        case _:
            return None


def _microseconds(column: Column, found: DataType) -> Column:
    """Microseconds since 1970, whatever time zone the session is in."""
    if isinstance(found, TimestampType):
        return sf.unix_micros(column)
    seconds = sf.hour(column) * sf.lit(3600) + sf.minute(column) * sf.lit(60)
    fraction = (sf.date_part(sf.lit("SECONDS"), column) * sf.lit(1_000_000)).cast("bigint")
    days = sf.unix_date(column.cast("date")).cast("bigint")
    return days * sf.lit(MICROSECONDS_OF_DAY) + seconds.cast("bigint") * sf.lit(1_000_000) + fraction


def _time_text(microseconds: Column) -> Column:
    """`2024-02-29T06:30:00.000000`: always as long, so that the order of the texts is that of the times."""
    of_day = sf.pmod(microseconds, sf.lit(MICROSECONDS_OF_DAY))
    days = _quotient(microseconds - of_day, MICROSECONDS_OF_DAY)
    day = sf.date_from_unix_date(days.cast("int")).cast("string")
    seconds = _quotient(of_day, 1_000_000)
    hours, minutes = _quotient(seconds, 3600), _quotient(sf.pmod(seconds, sf.lit(3600)), 60)
    parts = [
        *(day, sf.lit("T"), _digits(hours, 2), sf.lit(":"), _digits(minutes, 2), sf.lit(":")),
        *(_digits(sf.pmod(seconds, sf.lit(60)), 2), sf.lit("."), _digits(sf.pmod(of_day, sf.lit(1_000_000)), 6)),
    ]
    return sf.concat(*parts)


def _quotient(column: Column, divisor: int) -> Column:
    return sf.call_function("div", column, sf.lit(divisor))


def _digits(column: Column, width: int) -> Column:
    return sf.lpad(column.cast("string"), width, "0")


def _beyond(column: Column, low: int | None, high: int | None) -> Column | None:
    """Where `column` is below `low` or above `high`. A bound that it cannot pass is None, for it may have no literal
    of the column's type."""
    below = None if low is None else column < sf.lit(Decimal(low))
    above = None if high is None else column > sf.lit(Decimal(high))
    return _either(below, above)


def _either(first: Column | None, second: Column | None) -> Column | None:
    if first is None or second is None:
        return second if first is None else first
    return first | second
