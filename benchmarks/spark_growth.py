"""How time grows with the data and with the partitions, for each tier and each way to share out a recursive stratum.

Data is made larger by more graphs beside the first, so that twice the facts have twice the answers.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import default_rng
from pyspark.sql import SparkSession

import tidelog
from benchmarks.generators import Facts, Rows, pairs, upward_pairs
from benchmarks.measurement import Clock
from benchmarks.spark_measure import answer_of, warm_up
from benchmarks.table import markdown
from benchmarks.workloads import PROGRAMS
from tidelog.backends.spark.session import SessionSettings, start_session
from tidelog.spark import ReductionStrategy, Tier

SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Way:
    """A tier, and on Spark a strategy and the number of partitions."""

    tier: Tier
    strategy: ReductionStrategy | None = None
    partitions: int = 2

    def __str__(self) -> str:
        return self.tier.value if self.strategy is None else f"{self.tier.value}, {self.strategy.value}"


def closure_facts() -> Facts:
    return {"edge": beside(upward_pairs(default_rng(102), nodes=1_000, count=5_000), 4)}


def generation_facts() -> Facts:
    return {"edge": pairs(default_rng(104), nodes=600, count=2_400)}


def reach_facts() -> Facts:
    edges = pairs(default_rng(109), nodes=60_000, count=120_000)
    return {"edge": edges, "source": edges[:1, :1]}


FACTS = {"tc_dag1k_lin": closure_facts, "sg_graph": generation_facts, "reach": reach_facts}


COMPILED = Way(Tier.COMPILED)
PRESERVED, ASYNCHRONOUS, SYNCHRONOUS = (
    [Way(Tier.SPARK, strategy, partitions) for partitions in (1, 2)]
    for strategy in (ReductionStrategy.PRESERVED, ReductionStrategy.ASYNCHRONOUS, ReductionStrategy.SYNCHRONOUS)
)
WAYS: Mapping[str, Sequence[Way]] = {
    "tc_dag1k_lin": (COMPILED, *PRESERVED),
    "sg_graph": (COMPILED, *ASYNCHRONOUS, *SYNCHRONOUS),
    "reach": (COMPILED, *ASYNCHRONOUS),
}


def growth_table(master: str) -> str:
    """Seconds to the answer in Parquet for each program, way and size."""
    header = ["program", "rows read", "rows derived", "way", "partitions"]
    header += [*(f"{size} × s" for size in SIZES), f"{SIZES[-1]} × / {SIZES[0]} ×"]
    spark = start_session(SessionSettings(master=master))
    with tempfile.TemporaryDirectory(prefix="tidelog-spark-growth-") as scratch:
        warm_up(spark, Path(scratch))
        lines = [line for program in WAYS for line in lines_of(spark, program, Path(scratch))]
    spark.stop()
    return markdown(header, lines)


def lines_of(spark: SparkSession, program: str, scratch: Path) -> Iterator[list[str]]:
    facts = FACTS[program]()
    for size in SIZES:
        for relation, rows in facts.items():
            write(beside(rows, size, int(facts["edge"].max()) + 1), scratch / f"{program}-{size}" / relation)
    for way in WAYS[program]:
        for size in (SIZES[0], SIZES[-1]):
            run(spark, program, way, size, scratch)  # loads kernels, also those that only large data needs
        found = [run(spark, program, way, size, scratch) for size in SIZES]
        seconds = [each for each, _ in found]
        read, derived = sum(rows.shape[0] for rows in facts.values()), found[0][1]
        if [rows for _, rows in found] != [derived * size for size in SIZES]:
            raise AssertionError(f"{program}, {way}: WRONG ANSWER: {[rows for _, rows in found]} rows")
        partitions = "" if way.strategy is None else str(way.partitions)
        shown = [f"{each:.2f}" for each in seconds]
        line = [program, f"{read:,}", f"{derived:,}", str(way), partitions, *shown, f"{seconds[-1] / seconds[0]:.1f}"]
        print("  ".join(line), file=sys.stderr)
        yield line


def run(spark: SparkSession, program: str, way: Way, size: int, scratch: Path) -> tuple[float, int]:
    """Seconds until the answer is in Parquet, and its rows."""
    text = (PROGRAMS / f"{program}.dl").read_text(encoding="utf-8")
    inputs = {path.name: spark.read.parquet(str(path)) for path in (scratch / f"{program}-{size}").iterdir()}
    spark.conf.set("spark.sql.shuffle.partitions", str(way.partitions))
    with tempfile.TemporaryDirectory(dir=scratch) as state:
        clock = Clock()
        answer = answer_of(text)
        with tidelog.spark.open(
            text, spark, inputs=inputs, state=f"{state}/state", keep=[answer], tier=way.tier, reduction=way.strategy
        ) as flow:
            return clock.lap(), flow.count(answer)


def beside(rows: Rows, times: int, apart: int | None = None) -> Rows:
    """As many copies of `rows`, whose values are `apart` from each other."""
    step = int(rows.max()) + 1 if apart is None else apart
    return np.vstack([rows + number * step for number in range(times)])


def write(rows: Rows, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({f"c{number}": rows[:, number] for number in range(rows.shape[1])}), path)
