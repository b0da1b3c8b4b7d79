"""Rows taken from Spark into the driver; what Spark cannot read is said in the words of a user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tidelog.backends.spark.arrow_frames import table_of_frame
from tidelog.errors import InputError
from tidelog.schema import Schema

RAISED = "USER_RAISED_EXCEPTION"


def to_arrow(frame: DataFrame, schema: Schema) -> pa.Table:
    """All rows of a frame that has the relation's own columns."""
    with errors_told(schema.relation):
        return table_of_frame(frame, schema)


@contextmanager
def errors_told(what: str) -> Iterator[None]:
    """A block that reads; an error of Spark becomes an InputError that says what is wrong with `what`."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as reason:
        raise input_error(reason, what) from reason


def input_error(reason: PySparkException | Py4JJavaError, what: str) -> InputError:
    """What Spark could not read, in one line; a problem found by ourselves in our own words."""
    text = str(reason)
    if RAISED not in text:
        return InputError(f"Spark cannot read it: {spark_reason(text)}", what)
    message = text.partition(RAISED)[2].partition("]")[2].partition("SQLSTATE")[0].partition("\n\tat ")[0]
    return InputError(message.strip(), what)


def spark_reason(text: str) -> str:
    """The first thing that Spark says under one of its names for errors, as in `[FAILED_READ_FILE] …`; else the first
    line. What a task raised comes wrapped in other errors, which say nothing."""
    found = re.search(r"\[[A-Z_]+(?:\.[A-Z_]+)*\] (.*)", text)
    return found.group(1).partition(" SQLSTATE")[0] if found else first_line(text)


def first_line(text: str) -> str:
    """The first line of what Spark says, without the plan and the trace below it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
