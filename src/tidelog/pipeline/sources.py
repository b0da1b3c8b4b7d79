"""Rows from where a pipeline file says they are, in the columns of their relation."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import DataType, StringType, StructField, StructType

from tidelog.backends.spark.layout import spark_schema
from tidelog.backends.spark.reasons import SPARK_ERRORS, cause_of, spark_reason
from tidelog.backends.spark.types import Conversion, parsing
from tidelog.errors import InputError
from tidelog.pipeline.config import Format, Source
from tidelog.pipeline.judge import CORRUPT, judged, strict
from tidelog.schema import Kind, Schema

CSV_OPTIONS = {"header": "true", "escape": '"', "enforceSchema": "false", "mode": "PERMISSIVE"}
JSON_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}

JDBC_HINT = (
    "look at url and table; options need driver, the class of the driver, where its jar comes by "
    '"spark.jars.packages" in [spark.options], see docs/how-to/set-up-spark.md'
)

AGES = "36500d"
"""How much older than others a file that arrives may be: Spark would leave it out without a word after a week."""


def read_source(spark: SparkSession, source: Source, schema: Schema) -> DataFrame:
    """All rows of `source` as rows of the relation; InputError where there is nothing or it does not fit.

    A row that does not fit is an error when it is read, in the words of `judge`.
    """
    return strict(judged_source(load(spark, source, schema), source, schema), str(source))


def judged_source(frame: DataFrame, source: Source, schema: Schema, extra: Sequence[str] = ()) -> DataFrame:
    """The rows of `frame`, which is `source` as it is there, and the `extra` columns, each row judged."""
    is_csv = source.format is Format.CSV and "nullValue" not in source.options
    return judged(
        frame,
        schema,
        columns=source.columns,
        extra=extra,
        nulls=source.nulls,
        read=_parsing_csv if is_csv else parsing,
        source=str(source),
    )


def load(spark: SparkSession, source: Source, schema: Schema) -> DataFrame:
    """The rows as they are there. Columns of CSV are text, those of JSON what the relation wants."""
    try:
        reader = spark.read.format(source.format.value).options(**options_of(source))
        match source.format:
            case Format.JSON:
                reader = reader.schema(json_schema(source, schema, ()))
            case Format.CSV:
                reader = reader.schema(csv_schema(spark, source, schema, ()))
            case _:
                pass
        return reader.load(source.path) if source.path else reader.load()
    except SPARK_ERRORS as reason:
        raise unreadable(source, reason) from reason


def load_stream(spark: SparkSession, source: Source, schema: Schema, files: int, extra: Sequence[str]) -> DataFrame:
    """The rows that arrive in a folder, as they are there."""
    try:
        reader: DataStreamReader = spark.readStream.format(source.format.value).options(**options_of(source))
        reader = reader.option("maxFilesPerTrigger", files).option("maxFileAge", source.options.get("maxFileAge", AGES))
        match source.format:
            case Format.JSON:
                reader = reader.schema(json_schema(source, schema, extra))
            case Format.CSV:
                reader = reader.schema(csv_schema(spark, source, schema, extra))
            case Format.PARQUET:
                reader = reader.schema(_parquet_schema(spark, source, schema, extra))
            case _:
                pass
        return reader.load(source.path)
    except SPARK_ERRORS as reason:
        raise unreadable(source, reason) from reason


def options_of(source: Source) -> dict[str, str]:
    """Spark's options for reading: ours, unless the file says otherwise."""
    defaults = {Format.CSV: CSV_OPTIONS, Format.JSON: JSON_OPTIONS}.get(source.format, {})
    return {**defaults, **source.options}


def csv_schema(spark: SparkSession, source: Source, schema: Schema, extra: Sequence[str]) -> StructType:
    """Columns of text, in the order of the header where files are there already."""
    names = [*extra, *(source.columns.get(name, name) for name in schema.names)]
    if options_of(source)["header"] == "true":
        names = _names_there(spark, source) or names
    return StructType([StructField(name, StringType()) for name in names])


def json_schema(source: Source, schema: Schema, extra: Sequence[str]) -> StructType:
    """What Spark is to look for in an object, and a place for lines that are none."""
    return _wanted_schema(source, schema, (*extra, CORRUPT))


def _parquet_schema(spark: SparkSession, source: Source, schema: Schema, extra: Sequence[str]) -> StructType:
    """The columns of the files that are there; those of the relation while there are none."""
    try:
        return spark.read.format(source.format.value).options(**options_of(source)).load(source.path).schema
    except PySparkException as reason:
        if reason.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        return _wanted_schema(source, schema, extra)


def _wanted_schema(source: Source, schema: Schema, extra: Sequence[str]) -> StructType:
    """The columns of the relation under their names in `source`, and `extra` ones of text."""
    names = [source.columns.get(name, name) for name in schema.names]
    types = [field.dataType for field in spark_schema(schema).fields]
    return StructType(
        [
            *(StructField(name, each) for name, each in zip(names, types, strict=True)),
            *(StructField(name, StringType()) for name in extra),
        ]
    )


def _names_there(spark: SparkSession, source: Source) -> list[str]:
    """The header of the first file; none where there is no file yet."""
    reader: DataFrameReader = spark.read.format("csv").options(**options_of(source)).option("enforceSchema", "true")
    try:
        return reader.load(source.path).columns
    except PySparkException as reason:
        if reason.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        return []


def unreadable(source: Source, reason: BaseException) -> InputError:
    """The error that says why Spark does not read `source`."""
    match reason.getCondition() if isinstance(reason, PySparkException) else None:
        case "PATH_NOT_FOUND":
            return InputError("there is no such file or folder", str(source))
        case "DELTA_ONLY_OPERATION" | "DELTA_TABLE_ONLY_OPERATION" | "DELTA_TABLE_NOT_FOUND":
            return InputError("there is no Delta table", str(source))
        case "UNABLE_TO_INFER_SCHEMA":
            return InputError("there are no files to read", str(source))
        case "DATA_SOURCE_NOT_FOUND":
            hint = "it has no Delta Lake; docs/how-to/set-up-spark.md says what to put into [spark.options]"
            return InputError(f"Spark cannot read '{source.format.value}' here\n  hint: {hint}", str(source))
        case _ if source.format is Format.JDBC:
            return InputError(f"the database cannot be read: {cause_of(reason)}\n  hint: {JDBC_HINT}", str(source))
        case _:
            return InputError(f"Spark cannot read it: {spark_reason(str(reason))}", str(source))


def _parsing_csv(column: Column, found: DataType, kind: Kind) -> Conversion | None:
    """As `parsing`; an empty field, which is NULL to Spark, is an empty symbol."""
    if kind is Kind.SYMBOL:
        return Conversion(f.coalesce(column, f.lit("")))
    return parsing(column, found, kind)
