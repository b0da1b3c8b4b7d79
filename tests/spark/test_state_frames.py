"""State tables on Spark: DataFrames go in and come out, the same whoever wrote the parts."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import StateError
from tidelog.pipeline.state import Changed, Commit, Replaced, open_state

SCHEMA = "x long, y string"
ONE, TWO, THREE, FOUR = (1, "a"), (2, "b"), (3, "c"), (4, "d")


def frame(spark: SparkSession, *rows: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(rows), SCHEMA)


def arrow(*rows: tuple[int, str]) -> pa.Table:
    return pa.table(
        {"x": pa.array([x for x, _ in rows], pa.int64()), "y": pa.array([y for _, y in rows], pa.large_string())}
    )


def rows_of(found: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in found.collect())


def test_frames_and_arrow_tables_make_up_one_table(spark: SparkSession, tmp_path: Path) -> None:
    state = open_state(str(tmp_path), spark, format="parquet")
    state.commit(Commit({"edge": Replaced(frame(spark, ONE, TWO))}, "program"), None)
    state.commit(Commit({"edge": Changed(arrow(THREE), frame(spark, ONE))}, "program"), 1)
    state.commit(Commit({"edge": Changed(frame(spark, ONE, FOUR), arrow(TWO))}, "program"), 2)
    contents = [[ONE, TWO], [TWO, THREE], [ONE, THREE, FOUR]]
    for version, content in enumerate(contents, 1):
        assert rows_of(state.read("edge", version)) == content
        assert sorted(map(tuple, (row.values() for row in state.read_arrow("edge", version).to_pylist()))) == content
    assert [info.tables["edge"] for info in state.versions()] == [2, 2, 3]
    assert [rows_of(rows) for rows in state.deltas("edge", 3)] == [[ONE, FOUR], [TWO]]


def test_the_delta_of_a_replaced_table_is_how_it_differs(spark: SparkSession, tmp_path: Path) -> None:
    state = open_state(str(tmp_path), spark, format="parquet")
    state.commit(Commit({"edge": Replaced(arrow(ONE, TWO))}, "program"), None)
    state.commit(Commit({"edge": Replaced(arrow(TWO, THREE)), "path": Replaced(arrow(ONE))}, "program"), 1)
    state.commit(Commit({"path": Changed(arrow(TWO))}, "program"), 2)
    assert [rows_of(rows) for rows in state.deltas("edge", 1)] == [[ONE, TWO], []]
    assert [rows_of(rows) for rows in state.deltas("edge", 2)] == [[THREE], [ONE]]
    assert [rows_of(rows) for rows in state.deltas("edge", 3)] == [[], []]


def test_every_kind_comes_back_from_arrow_and_from_spark(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table(
        {
            "n": pa.array([-(2**63), 5], pa.int64()),
            "u": pa.array([2**64 - 1, 0], pa.uint64()),
            "f": pa.array([float("inf"), 0.1], pa.float64()),
            "s": pa.array(["", "ä\n"], pa.large_string()),
        }
    )
    state = open_state(str(tmp_path), spark, format="parquet")
    state.commit(Commit({"p": Replaced(rows)}, "program"), None)
    state.commit(Commit({"p": Replaced(state.read("p"))}, "program"), 1)
    state.commit(Commit({"p": Changed(removed=rows.slice(0, 1))}, "program"), 2)
    assert state.read_arrow("p", 2).sort_by("n").equals(state.read_arrow("p", 1).sort_by("n"))
    assert state.read("p").dtypes == [("n", "bigint"), ("u", "decimal(20,0)"), ("f", "double"), ("s", "string")]
    assert state.read("p").toArrow().to_pylist()[0]["s"] == "ä\n"
    assert state.read_arrow("p").to_pylist() == rows.slice(1).to_pylist()


def test_relations_without_columns_and_names_that_differ_in_case(spark: SparkSession, tmp_path: Path) -> None:
    state = open_state(str(tmp_path), spark, format="parquet")
    there = spark.range(1).select()
    twins = spark.createDataFrame([(1, 2)], "a long, b long").toDF("x", "X")
    state.commit(Commit({"go": Replaced(there), "p": Replaced(twins)}, "program"), None)
    assert state.read("go").count() == 1
    assert state.read("p").columns == ["x", "X"]
    state.commit(Commit({"go": Changed(removed=there)}, "program"), 1)
    assert state.read("go").count() == 0


def test_big_deltas_are_merged_by_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.pipeline.state.attempt.DRIVER_ROWS", 3)
    for name, value in {"MOST_LAYERS": 2, "FEWEST_MERGED": 2, "FEW_ROWS": 10, "SHARE": 1.0}.items():
        monkeypatch.setattr(f"tidelog.pipeline.state.layers.{name}", value)
    chance, state, content = random.Random(3), open_state(str(tmp_path), spark, format="parquet"), {ONE, TWO, THREE}
    state.commit(Commit({"edge": Replaced(arrow(*content))}, "program"), None)
    contents = [set(content)]
    for version in range(1, 5):
        after = {row for row in (ONE, TWO, THREE, FOUR, (5, "e"), (6, "f")) if chance.random() < 0.5}
        delta = Changed(frame(spark, *(after - content)), arrow(*(content - after)))
        state.commit(Commit({"edge": delta}, "program"), version)
        content = after
        contents.append(after)
    for version, expected in enumerate(contents, 1):
        assert rows_of(state.read("edge", version)) == sorted(expected)
    merged = [path.name for path in (tmp_path / "parts").glob("*/*") if "merged" in path.name]
    assert merged


def test_a_table_without_removed_rows_is_read_without_a_shuffle(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = open_state(str(tmp_path), spark, format="parquet")
    state.commit(Commit({"edge": Replaced(arrow(ONE))}, "program"), None)
    state.commit(Commit({"edge": Changed(arrow(TWO))}, "program"), 1)
    state.read("edge").explain()
    plan = capsys.readouterr().out
    assert "parquet" in plan
    assert "Exchange" not in plan


def test_a_folder_with_the_letters_of_a_pattern(spark: SparkSession, tmp_path: Path) -> None:
    state = open_state(str(tmp_path / "state [1] {a,b}*"), spark, format="parquet")
    state.commit(Commit({"edge": Replaced(frame(spark, ONE)), "path": Replaced(arrow(TWO))}, "program"), None)
    assert rows_of(state.read("edge")) == [ONE]
    assert rows_of(state.read("path")) == [TWO]


def test_a_missing_part_is_named(spark: SparkSession, tmp_path: Path) -> None:
    state = open_state(str(tmp_path), spark, format="parquet")
    state.commit(Commit({"edge": Replaced(arrow(ONE))}, "program"), None)
    next((tmp_path / "parts").rglob("*.parquet")).unlink()
    with pytest.raises(StateError, match=r"cannot be read.*001-edge\.base\.parquet"):
        state.read("edge")


def test_a_frame_that_fails_while_it_is_written_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    state = open_state(str(tmp_path), spark, format="parquet")
    state.commit(Commit({"edge": Replaced(arrow(ONE))}, "program"), None)
    failing = spark.range(1).selectExpr("id AS x", "raise_error('no') AS y").selectExpr("x", "string(y) AS y")
    with pytest.raises(Exception, match="no"):
        state.commit(Commit({"edge": Changed(failing)}, "program"), 1)
    assert len(list((tmp_path / "parts").iterdir())) == 1
    assert state.commit(Commit({"edge": Changed(arrow(TWO))}, "program"), 1).tables == {"edge": 2}


def test_a_state_through_spark_connect(connected: SparkSession, tmp_path: Path) -> None:
    state = open_state(str(tmp_path), connected, format="parquet")
    state.commit(Commit({"edge": Replaced(frame(connected, ONE, TWO))}, "program"), None)
    state.commit(Commit({"edge": Changed(arrow(THREE), arrow(ONE))}, "program"), 1)
    assert rows_of(state.read("edge")) == [TWO, THREE]
    assert [rows_of(rows) for rows in state.deltas("edge", 2)] == [[THREE], [ONE]]
