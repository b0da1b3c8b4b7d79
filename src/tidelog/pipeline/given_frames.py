"""DataFrames that a caller gives, as rows of their relations; what is none is said before Spark stumbles over it."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.spark.layout import SPARK_TYPES
from tidelog.errors import UsageError
from tidelog.pipeline.judge import judged, strict
from tidelog.query import schema_of
from tidelog.schema import Schema


def given_frames(frames: object, checked: CheckedProgram, argument: str) -> dict[str, DataFrame]:
    """Each frame with its relation's own columns. Runs no job; UsageError or InputError where one cannot be taken.

    A row that does not fit is an error when it is read.
    """
    if not isinstance(frames, Mapping):
        raise UsageError(f'{argument}: expected DataFrames by relation, such as {{"edge": df}}, found {_noun(frames)}')
    return {relation: _own_columns(frame, schema_of(relation, checked), argument) for relation, frame in frames.items()}


def _own_columns(frame: object, schema: Schema, argument: str) -> DataFrame:
    if not isinstance(frame, DataFrame):
        names = zip(schema.names, schema.kinds, strict=True)
        columns = ", ".join(f"{name} {SPARK_TYPES[kind].simpleString()}" for name, kind in names)
        raise UsageError(
            f"{argument}: expected a DataFrame of Spark for {schema}, found {_noun(frame)}\n"
            f'  hint: make one, as with spark.createDataFrame(rows, "{columns}")'
        )
    if frame.isStreaming:
        raise UsageError(
            f"{argument}: the frame for {schema} is a stream\n"
            "  hint: apply its batches, with foreachBatch; or let tidelog pipeline follow take them"
        )
    return strict(judged(frame, schema))


def _noun(value: object) -> str:
    return "None" if value is None else f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
