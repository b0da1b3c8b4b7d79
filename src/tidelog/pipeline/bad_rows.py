"""Rows of a batch that cannot be taken: put aside where the pipeline names a place for them, else an error."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from tidelog.backends.spark.reasons import SPARK_ERRORS, first_line
from tidelog.connectors.atomic import Publication
from tidelog.connectors.problems import Problem, input_error
from tidelog.errors import InputError, OutputError
from tidelog.pipeline.changes import BadRow
from tidelog.pipeline.config_file import IS_FILE_SYSTEM


def put_aside(spark: SparkSession, bad: list[BadRow], place: str, name: str) -> None:
    """Writes rows to a file or folder of that name in `place`; the same name puts them in the same place."""
    lines = [json.dumps({"relation": one.relation, "problem": one.problem, "row": one.row}) for one in bad]
    try:
        if IS_FILE_SYSTEM.match(place):
            text = StructType([StructField("value", StringType())])
            frame = spark.createDataFrame([(line,) for line in lines], text)
            frame.write.mode("overwrite").text(f"{place.rstrip('/')}/batch={name}")
        else:
            with Publication() as publication:
                publication.stage(Path(place) / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    except (OSError, *SPARK_ERRORS) as reason:
        raise OutputError(f"{place}: bad rows cannot be written: {first_line(str(reason))}") from reason


def bad_batch(bad: list[BadRow], number: int) -> InputError:
    """An error that names the rows of a batch."""
    problems = [Problem(f"{one.problem} (in {one.row})") for one in bad]
    error = input_error(problems, f"batch {number} of changes")
    error.add_note(
        "  nothing of the batch was taken\n"
        '  hint: repair the files and start again, or put bad rows aside with bad_rows = "FOLDER" in [follow]'
    )
    return error
