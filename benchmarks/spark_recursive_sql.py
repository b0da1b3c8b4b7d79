"""What Spark's `WITH RECURSIVE` can say of the workloads.

It has `UNION ALL` only and never sees what it found before, so a row comes again for each length of a path to it, and
in a graph with a cycle for ever. `DISTINCT` inside a step is allowed and keeps a step from growing with the number of
paths. Programs that read what they derive twice, or take the least value of it, it cannot say.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

STATEMENTS: Mapping[str, str] = {
    "tc_dag10k_lin": """
        WITH RECURSIVE path(a, b) AS (
            SELECT c0, c1 FROM edge
            UNION ALL
            SELECT DISTINCT path.a, edge.c1 FROM path JOIN edge ON path.b = edge.c0)
        SELECT DISTINCT a, b FROM path""",
    "sg_graph": """
        WITH RECURSIVE sg(a, b) AS (
            SELECT one.c1, other.c1 FROM edge one JOIN edge other ON one.c0 = other.c0 AND one.c1 <> other.c1
            UNION ALL
            SELECT DISTINCT one.c1, other.c1
            FROM sg JOIN edge one ON sg.a = one.c0 JOIN edge other ON sg.b = other.c0)
        SELECT DISTINCT a, b FROM sg""",
    "reach": """
        WITH RECURSIVE reach(a) AS (
            SELECT c0 FROM source
            UNION ALL
            SELECT DISTINCT edge.c1 FROM reach JOIN edge ON reach.a = edge.c0)
        SELECT DISTINCT a FROM reach""",
}


def run_statement(spark: SparkSession, workload: str, tables: Mapping[str, DataFrame]) -> DataFrame:
    """The answer of a workload. The bound on rows is lifted, that on steps (100) stays: it ends what would not end."""
    spark.conf.set("spark.sql.cteRecursionRowLimit", "-1")
    for name, table in tables.items():
        table.createOrReplaceTempView(name)
    return spark.sql(STATEMENTS[workload])
