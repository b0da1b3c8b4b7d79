"""DuckDB's side of a workload: loads the facts, runs the workload's SQL, keeps every derived relation as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from benchmarks.measurement import Clock, Timed
from benchmarks.sql_forms import Form, Query, Rounds, Step
from benchmarks.workloads import Workload


def run(workload: Workload, folder: Path, threads: int) -> Timed:
    """What loading the facts of `folder` and evaluating took, and the size of each answer."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {threads}")
        connection.execute("SET preserve_insertion_order = false")
        clock = Clock()
        load(connection, workload.inputs, folder)
        load_seconds = clock.lap()
        evaluate(connection, workload.duckdb)
        counts = {relation: size(connection, relation) for relation in workload.counts}
        return Timed(load_seconds, clock.lap(), counts)


def load(connection: DuckDBPyConnection, inputs: Mapping[str, int], folder: Path) -> None:
    """Makes a table of each input relation's facts file."""
    for relation, arity in inputs.items():
        columns = dict.fromkeys("abc"[:arity], "BIGINT")
        connection.execute(
            f'CREATE TABLE "{relation}" AS FROM read_csv(?, delim = ?, header = false, columns = {columns})',
            [str(folder / f"{relation}.facts"), "\t"],
        )


def evaluate(connection: DuckDBPyConnection, form: Form) -> None:
    """Makes a table (or view) of each relation that `form` defines."""
    for part in form:
        match part:
            case Query(relation, sql):
                connection.execute(f"CREATE TABLE {relation} AS {sql}")
            case Rounds(starts, steps):
                run_rounds(connection, starts, steps)


def run_rounds(connection: DuckDBPyConnection, starts: Sequence[Query], steps: Sequence[Step]) -> None:
    """Makes each relation a view over the tables `<relation>_old` and `<relation>_delta` that its rounds fill."""
    for relation, sql in ((start.relation, start.sql) for start in starts):
        connection.execute(f"CREATE TABLE {relation}_delta AS SELECT DISTINCT * FROM ({sql}) AS rows(a, b)")
        connection.execute(f"CREATE TABLE {relation}_old AS FROM {relation}_delta LIMIT 0")
        connection.execute(f"CREATE VIEW {relation} AS FROM {relation}_old UNION ALL FROM {relation}_delta")
    relations = [start.relation for start in starts]
    new = {relation: size(connection, f"{relation}_delta") for relation in relations}
    while any(new.values()):
        for relation in relations:
            derive(connection, relation, [step.sql for step in steps if step.head == relation and new[step.reads]])
        new = {relation: advance(connection, relation) for relation in relations}


def derive(connection: DuckDBPyConnection, relation: str, queries: Sequence[str]) -> None:
    """Puts the rows that `queries` give and `relation` does not have yet into `<relation>_new`."""
    connection.execute(f"CREATE TABLE {relation}_new AS FROM {relation}_delta LIMIT 0")
    if queries:
        candidates = f"(SELECT DISTINCT * FROM ({' UNION ALL '.join(queries)}) AS rows(a, b))"
        connection.execute(f"INSERT INTO {relation}_new FROM {candidates} ANTI JOIN {relation} USING (a, b)")


def advance(connection: DuckDBPyConnection, relation: str) -> int:
    """Makes the new rows the delta and the delta old; how many new rows there are."""
    connection.execute(f"INSERT INTO {relation}_old FROM {relation}_delta")
    connection.execute(f"DROP TABLE {relation}_delta")
    connection.execute(f"ALTER TABLE {relation}_new RENAME TO {relation}_delta")
    return size(connection, f"{relation}_delta")


def size(connection: DuckDBPyConnection, relation: str) -> int:
    found = connection.execute(f"SELECT count(*) FROM {relation}").fetchone()
    assert found is not None
    return int(found[0])
