"""One measurement on Spark: a workload by rules, by a hand-written loop or by SQL, in a process of its own.

`python -m benchmarks.spark_measure SIDE WORKLOAD INPUTS MASTER` prints seconds as JSON. Inputs are Parquet; the time
counts from a session that is ready until the answer stands in Parquet. The side `rules` also takes 1,000 changes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import tidelog
from benchmarks.measurement import Clock
from benchmarks.spark_loops import LOOPS
from benchmarks.spark_recursive_sql import run_statement
from benchmarks.workloads import PROGRAMS
from tidelog.backends.spark.session import SessionSettings, start_session

RULES, LOOP, RECURSIVE = "rules", "loop", "recursive"
CHANGED = 1000


@dataclass(frozen=True, slots=True)
class SparkFigures:
    """Seconds to the answer in Parquet, its rows, and seconds to delete and to insert rows again, where asked."""

    seconds: float
    rows: int
    delete: float | None = None
    insert: float | None = None
    tier: str = ""


def main(arguments: list[str]) -> None:
    side, workload, folder, master = arguments
    spark = start_session(SessionSettings(master=master))
    with tempfile.TemporaryDirectory(prefix="tidelog-spark-") as scratch:
        tables = {path.name: spark.read.parquet(str(path)) for path in sorted(Path(folder).iterdir())}
        warm_up(spark, Path(scratch))
        measure = {RULES: by_rules, LOOP: by_loop, RECURSIVE: by_statement}[side]
        try:
            figures = measure(spark, workload, tables, Path(scratch))
        except PySparkException as problem:
            sys.exit(problem.getCondition() or str(problem))
    spark.stop()
    print(json.dumps(asdict(figures)))


def warm_up(spark: SparkSession, scratch: Path) -> None:
    """The first job of a session loads classes for seconds, which is not what is measured."""
    numbers = spark.range(1000).select((sf.col("id") % 10).alias("a"), "id")
    numbers.join(numbers.groupBy("a").count(), "a").write.parquet(str(scratch / "warm"))
    numbers.mapInArrow(lambda batches: batches, "a long, id long").count()


def by_loop(spark: SparkSession, workload: str, tables: Mapping[str, DataFrame], scratch: Path) -> SparkFigures:
    clock = Clock()
    LOOPS[workload](tables).write.parquet(str(scratch / "answer"))
    return SparkFigures(clock.lap(), spark.read.parquet(str(scratch / "answer")).count())


def by_statement(spark: SparkSession, workload: str, tables: Mapping[str, DataFrame], scratch: Path) -> SparkFigures:
    clock = Clock()
    run_statement(spark, workload, tables).write.parquet(str(scratch / "answer"))
    return SparkFigures(clock.lap(), spark.read.parquet(str(scratch / "answer")).count())


def by_rules(spark: SparkSession, workload: str, tables: Mapping[str, DataFrame], scratch: Path) -> SparkFigures:
    program = (PROGRAMS / f"{workload}.dl").read_text(encoding="utf-8")
    answer = answer_of(program)
    clock = Clock()
    flow = tidelog.spark.open(program, spark, inputs=tables, state=scratch / "state", keep=[answer])
    seconds = clock.lap()
    rows = flow.count(answer)
    name = next(iter(tables))
    picked = tables[name].orderBy(sf.xxhash64(*tables[name].columns)).limit(CHANGED).cache()
    picked.count()
    clock.lap()
    flow.apply(retract={name: picked})
    delete = clock.lap()
    flow.apply(insert={name: picked})
    return SparkFigures(seconds, rows, delete, clock.lap(), flow.tier.value)


def answer_of(program: str) -> str:
    """The relation that a program is about: the first that it puts out."""
    checked = tidelog.check(tidelog.parse(program))
    return checked.outputs[0].relations[0]


if __name__ == "__main__":
    main(sys.argv[1:])
