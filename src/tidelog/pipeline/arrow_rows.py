"""Rows taken from Spark into the driver; what Spark cannot read is said in the words of a user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.backends.spark.arrow_frames import table_of_frame
from tidelog.backends.spark.reasons import SPARK_ERRORS, spark_reason
from tidelog.errors import InputError
from tidelog.schema import Schema

RAISED = "USER_RAISED_EXCEPTION"
TOO_LARGE = "spark.driver.maxResultSize"


def to_arrow(frame: DataFrame, schema: Schema) -> pa.Table:
    """All rows of a frame that has the relation's own columns."""
    with errors_told(schema.relation):
        return table_of_frame(frame, schema)


@contextmanager
def errors_told(what: str) -> Iterator[None]:
    """A block that reads; an error of Spark becomes an InputError that says what is wrong with `what`."""
    try:
        yield
    except SPARK_ERRORS as reason:
        raise input_error(reason, what) from reason


def input_error(reason: BaseException, what: str) -> InputError:
    """What Spark could not read, in one line; a problem found by ourselves in our own words."""
    text = str(reason)
    if TOO_LARGE in text:
        return InputError(
            f"it has more rows than Spark hands to the driver at once ({TOO_LARGE})\n"
            '  hint: raise that limit, give less at a time, or leave the facts in Spark with tier "spark"',
            what,
        )
    if RAISED not in text:
        return InputError(f"Spark cannot read it: {spark_reason(text)}", what)
    message = text.partition(RAISED)[2].partition("]")[2].partition("SQLSTATE")[0].partition("\n\tat ")[0]
    return InputError(message.strip())  # it names the relation, and the file where there is one
