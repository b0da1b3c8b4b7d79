"""A state in Delta Lake, tried in a session that has it: AssertionError where it is not what was committed."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import ConflictError
from tidelog.pipeline.state import Changed, Commit, Replaced, StateStore, has_delta, open_state
from tidelog.pipeline.state.delta import DeltaState

ONE, TWO, THREE = (1, "a"), (2, "b"), (3, "c")
SCHEMA = "x long, y string"
CONTENTS = [[ONE, TWO], [TWO, THREE], [TWO, THREE], [ONE, THREE]]


def versions_in_delta(spark: SparkSession) -> None:
    """Versions are read as they were committed, whatever crashes, conflicts or is cleaned in between."""
    folder = Path.cwd() / "state"
    assert has_delta(spark)
    state = open_state(str(folder), spark)
    assert isinstance(state, DeltaState)
    timed("replace", state, Commit({"edge": Replaced(arrow(ONE, TWO)), "go": Replaced(nothing(1))}, "program"), None)
    timed("delta", state, Commit({"edge": Changed(arrow(THREE), arrow(ONE)), "go": Changed()}, "program"), 1)
    crash_before_the_manifest(state, Commit({"edge": Changed(arrow(ONE), arrow(THREE))}, "program"))
    state = open_state(str(folder), spark)
    assert rows_of(state.read("edge")) == CONTENTS[1]
    timed("other table", state, Commit({"path": Changed(spark.createDataFrame([ONE], SCHEMA))}, "program"), 2)
    timed("after a crash", state, Commit({"edge": Changed(arrow(ONE), arrow(TWO))}, "program"), 3)
    check(open_state(str(folder), spark, format="delta"), CONTENTS)
    check_delta(state, 2)
    check_delta(state, 4)
    assert state.read_arrow("edge").schema.types == [pa.int64(), pa.large_string()]
    assert state.read_arrow("go").num_rows == 1
    conflict(state)
    appending_is_one_job(spark, state)
    assert state.clean(keep=3) == [1, 2]
    assert rows_of(state.read("edge", 3)) == CONTENTS[2]
    assert rows_of(state.read("edge", 4)) == CONTENTS[3]
    timed("replace", state, Commit({"edge": Replaced(arrow(ONE))}, "program"), 5)
    assert [rows_of(rows) for rows in state.deltas("edge", 6)] == [[], [THREE]]
    begin_anew(state)


def crash_before_the_manifest(state: DeltaState, commit: Commit) -> None:
    class Crash(BaseException):
        pass

    def publish(_manifest: object) -> None:
        raise Crash

    state._history.publish = publish  # type: ignore[method-assign,assignment]
    try:
        state.commit(commit, 2)
    except Crash:
        return
    raise AssertionError("the commit went through")


def check(state: StateStore, contents: list[list[tuple[int, str]]]) -> None:
    for version, content in enumerate(contents, 1):
        assert rows_of(state.read("edge", version)) == content, version
        assert state.versions()[version - 1].tables["edge"] == len(content)


def check_delta(state: StateStore, version: int) -> None:
    now, before = set(CONTENTS[version - 1]), set(CONTENTS[version - 2])
    assert [rows_of(rows) for rows in state.deltas("edge", version)] == [sorted(now - before), sorted(before - now)]


def conflict(state: StateStore) -> None:
    try:
        state.commit(Commit({"edge": Changed(arrow(TWO))}, "program"), 2)
    except ConflictError:
        return
    raise AssertionError("a commit on an old version went through")


def appending_is_one_job(spark: SparkSession, state: StateStore) -> None:
    """Rows are counted by the log of the table, not by reading it again."""
    spark.addTag("one append")
    timed("append", state, Commit({"path": Changed(arrow(TWO))}, "program"), 4)
    spark.removeTag("one append")
    assert state.versions()[4].tables["path"] == 2
    assert jobs_tagged(spark, "one append") == 1


def jobs_tagged(spark: SparkSession, tag: str) -> int:
    """How many jobs Spark has run under a tag of the session; only its own classes know."""
    store = spark._jsparkSession.sparkContext().statusStore()  # type: ignore[attr-defined]
    jobs = store.jobsList(None)
    return sum(tag in jobs.apply(at).jobTags().mkString(" ") for at in range(jobs.size()))


def begin_anew(state: StateStore) -> None:
    """Another program in the same state: the tables that it does not name are gone, old versions are not."""
    info = state.commit(Commit({"edge": Replaced(arrow(ONE, TWO))}, "other", begins=True), 6)
    assert dict(info.tables) == {"edge": 2}
    assert [rows_of(rows) for rows in state.deltas("edge", 7)] == [[TWO], []]
    assert rows_of(state.read("edge", 4)) == CONTENTS[3]


def timed(what: str, state: StateStore, commit: Commit, after: int | None) -> None:
    began = time.perf_counter()
    info = state.commit(commit, after)
    print(f"version {info.number}, {what}: {time.perf_counter() - began:.1f} s", flush=True)


def arrow(*rows: tuple[int, str]) -> pa.Table:
    return pa.table(
        {"x": pa.array([x for x, _ in rows], pa.int64()), "y": pa.array([y for _, y in rows], pa.large_string())}
    )


def nothing(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)}).select([])


def rows_of(found: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in found.collect())
