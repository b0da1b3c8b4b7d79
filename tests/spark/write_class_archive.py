"""Has Java write the archive of Spark's classes where there is none: the tests start Spark dozens of times."""

from __future__ import annotations

import subprocess
import sys

from tidelog.backends.spark.class_archive import archive_name, writing_options
from tidelog.backends.spark.java import java_home

SOME_WORK = """
import tempfile
from tidelog.backends.spark.session import SessionSettings, start_session

spark = start_session(SessionSettings(master="local[2]", options={"spark.driver.memory": "1g"}))
rows = spark.range(100).mapInArrow(lambda batches: batches, "id long")
rows = rows.join(spark.range(50), "id").groupBy((rows.id % 7).alias("key")).count()
with tempfile.TemporaryDirectory() as folder:
    rows.write.parquet(folder + "/rows")
    spark.read.parquet(folder + "/rows").distinct().toArrow()
spark.stop()
"""


def main() -> None:
    home = java_home()
    if not (home / archive_name()).exists():
        # Whoever waits for all that is said waits for Java, which writes when it ends, after Python.
        subprocess.run([sys.executable, "-c", SOME_WORK], capture_output=True, check=True)
        writing_options(home, "")


if __name__ == "__main__":
    main()
