"""What Spark says when it fails, in one line, and the errors that it becomes."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from tidelog.errors import TidelogError

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""What PySpark raises: an error that it knows, or whatever Java has thrown."""

_PY4J = "An error occurred while calling "
"""How py4j begins: with the name of a method, which nobody has called; what Java says is on the next line."""

_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"


class JobError(TidelogError):
    """Spark could not run a job: its own words, shortened, with the whole of them as the cause."""


class RowsLostError(JobError):
    """Rows that only executors had are gone with them, and cannot be computed again."""


def job_error(reason: BaseException) -> JobError:
    """The error that a failure of Spark becomes."""
    return JobError(f"Spark could not run a job: {spark_reason(str(reason))}")


def is_loss(error: BaseException | None) -> bool:
    """Whether an error, or one that it comes from, says that rows kept in executors are gone."""
    while error is not None:
        if isinstance(error, SPARK_ERRORS) and _LOST in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def spark_reason(text: str) -> str:
    """The first thing that Spark says under one of its names for errors, as in `[FAILED_READ_FILE] …`; else the first
    line. What a task raised comes wrapped in other errors, which say nothing."""
    found = re.search(r"\[[A-Z_]+(?:\.[A-Z_]+)*\] (.*)", text)
    return found.group(1).partition(" SQLSTATE")[0] if found else first_line(text)


def cause_of(reason: BaseException) -> str:
    """What lies at the bottom of an error, in one line: what a driver of a database says, for one."""
    while (cause := getattr(reason, "_cause", None)) is not None:  # PySpark keeps Java's causes there
        reason = cause
    return spark_reason(str(reason))


def first_line(text: str) -> str:
    """The first line that says something, without the plan and the trace below it."""
    lines = (line.strip().removeprefix(": ") for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith(_PY4J)), "no reason given")
