"""A script that tries a state in Delta Lake, and pipelines over a Delta table, its change data feed and a database.

It is called with a folder for what it writes.

It needs a session of its own, with packages that Spark fetches; without them the exit code is NO_JARS.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pipeline_folder import pipeline, rows_in, version
from pyspark.sql import SparkSession
from state_on_delta import versions_in_delta

from tidelog.backends.spark.session import SessionSettings, start_session
from tidelog.errors import UsageError

PACKAGES = "io.delta:delta-spark_4.2_2.13:4.4.0,com.h2database:h2:2.3.232"
SETTINGS = {
    "spark.jars.packages": PACKAGES,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""With Delta Lake. Its plans are large and the rows are few: to compile them would take longer than all the rest.

Where it stops at that level, the JVM reserves 48 MB for code, which were not enough once: it ended.
"""

NO_JARS = 77
"""The exit code where Spark cannot fetch its packages."""

PROGRAM = """\
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.output path
"""
PIPELINE = """\
program = "rules.dl"
[state]
path = "state"
format = "{state}"
[outputs.path]
path = "out/path"
deltas = "out/changes"
[inputs.edge]
"""
FEED = """\
[changes.edge]
kind = "feed"
path = "edges"
"""


def main(folder: Path) -> None:
    try:
        spark = session()
    except UsageError as reason:
        print(reason)
        sys.exit(NO_JARS)
    for story in (versions_in_delta, a_feed, a_feed_that_is_switched_on_later, a_state_in_delta, a_database):
        began = time.perf_counter()
        alone(folder / story.__name__, spark, story)
        print(f"{story.__name__}: {time.perf_counter() - began:.1f} s", flush=True)
    spark.stop()


def session() -> SparkSession:
    return start_session(SessionSettings(master="local[2]", application="tidelog sources", options=SETTINGS))


def alone(folder: Path, spark: SparkSession, story: Callable[[SparkSession], None]) -> None:
    folder.mkdir(parents=True)
    os.chdir(folder)
    Path("rules.dl").write_text(PROGRAM)
    story(spark)


def a_feed(spark: SparkSession) -> None:
    """A Delta table is read, then its feed, from the version on that was read: what goes in between is retracted."""
    table(spark, "edges", "delta.enableChangeDataFeed = true")
    spark.sql(f"INSERT INTO {named('edges')} VALUES (1, 2, 'x'), (2, 3, 'y')")
    inputs = PIPELINE.format(state="parquet") + 'path = "edges"\nformat = "delta"\n'
    Path("pipeline.toml").write_text(inputs)
    assert pipeline("run") == 0
    assert rows_in("out/path") == {(1, 2), (1, 3), (2, 3)}
    spark.sql(f"DELETE FROM {named('edges')} WHERE a = 1")
    Path("pipeline.toml").write_text(inputs + FEED)
    assert pipeline("apply") == 0
    assert rows_in("out/path") == {(2, 3)}
    spark.sql(f"INSERT INTO {named('edges')} VALUES (3, 4, 'z')")
    spark.sql(f"UPDATE {named('edges')} SET b = 5 WHERE a = 3")
    spark.sql(f"UPDATE {named('edges')} SET note = 'of no relation' WHERE a = 2")
    assert pipeline("apply") == 0
    assert rows_in("out/path") == {(2, 3), (2, 5), (3, 5)}
    assert rows_in("out/changes/version=3") == {(2, 5, "appeared"), (3, 5, "appeared")}
    assert pipeline("apply") == 0
    assert version() == 3


def a_feed_that_is_switched_on_later(spark: SparkSession) -> None:
    """What a table did not note cannot be followed, which is an error; to compare all rows goes on."""
    table(spark, "edges", "delta.enableChangeDataFeed = false")
    inputs = PIPELINE.format(state="parquet") + 'path = "edges"\nformat = "delta"\n'
    Path("pipeline.toml").write_text(inputs)
    assert pipeline("run") == 0
    spark.sql(f"INSERT INTO {named('edges')} VALUES (1, 2, '')")
    Path("pipeline.toml").write_text(inputs + FEED)
    assert pipeline("apply") == 3
    assert version() == 1
    Path("pipeline.toml").write_text(inputs)
    assert pipeline("run") == 0
    assert rows_in("out/path") == {(1, 2)}


def a_state_in_delta(spark: SparkSession) -> None:
    """A Delta table as input, compared by each run, and a state of Delta tables."""
    table(spark, "edges", "delta.enableChangeDataFeed = false")
    spark.sql(f"INSERT INTO {named('edges')} VALUES (1, 2, '')")
    Path("pipeline.toml").write_text(PIPELINE.format(state="delta") + 'path = "edges"\nformat = "delta"\n')
    assert pipeline("run") == 0
    spark.sql(f"INSERT INTO {named('edges')} VALUES (2, 3, '')")
    assert pipeline("run") == 0
    assert rows_in("out/path") == {(1, 2), (1, 3), (2, 3)}
    assert pipeline("show", "path", "--as-of", "1") == 0
    assert pipeline("clean") == 0
    assert pipeline("show", "path", "--as-of", "1") == 2
    assert list(Path("state/tables").glob("*/_delta_log"))


def a_database(spark: SparkSession) -> None:
    """A table of a database is read, and compared by later runs; what is wrong with it is said."""
    url = f"jdbc:h2:{Path.cwd()}/database"
    options = {"url": url, "dbtable": "edges", "driver": "org.h2.Driver"}
    written = "\n".join(f'options.{name} = "{value}"' for name, value in options.items())
    Path("pipeline.toml").write_text(PIPELINE.format(state="parquet") + f'format = "jdbc"\n{written}\n')

    def store(*edges: tuple[int, int]) -> None:
        rows = spark.createDataFrame(list(edges), "a long, b int")
        rows.write.format("jdbc").options(**options).mode("overwrite").save()

    assert pipeline("run") == 3  # there is no such table
    store((1, 2), (2, 3))
    assert pipeline("run") == 0
    assert rows_in("out/path") == {(1, 2), (1, 3), (2, 3)}
    store((1, 2), (2, 4))
    assert pipeline("run") == 0
    assert rows_in("out/path") == {(1, 2), (1, 4), (2, 4)}
    assert version() == 2


def table(spark: SparkSession, name: str, properties: str) -> None:
    spark.sql(f"CREATE TABLE {named(name)} (a BIGINT, b INT, note STRING) USING delta TBLPROPERTIES ({properties})")


def named(table: str) -> str:
    return f"delta.`{Path.cwd() / table}`"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
