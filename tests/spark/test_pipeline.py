"""`tidelog pipeline run|apply|status|show|clean`: files in, answers and their deltas out, exactly once."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pipeline_folder import change, pipeline, rows_in, version
from pyspark.sql import SparkSession

PROGRAM = """\
.decl edge(a: symbol, b: number)
.input edge
.decl next(b: number, c: number)
.decl path(a: symbol, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), next(y, z).
.output path
"""

PIPELINE = """\
program = "rules.dl"
[state]
path = "state"
[inputs.edge]
path = "edges.csv"
[inputs.next]
path = "next.parquet"
columns = { b = "from", c = "to" }
[changes.edge]
path = "changes"
[outputs.path]
path = "out/path"
deltas = "out/changes"
"""

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a pipeline and its inputs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.dl").write_text(PROGRAM)
    (tmp_path / "pipeline.toml").write_text(PIPELINE)
    (tmp_path / "edges.csv").write_text('b,a\n1,x\n2,"y, z"\n')
    (tmp_path / "changes").mkdir()
    pq.write_table(pa.table({"to": pa.array([2], pa.int32()), "from": pa.array([1], pa.int16())}), "next.parquet")
    return tmp_path


def deltas(spark: SparkSession) -> set[tuple[object, ...]]:
    rows = (
        spark.read.parquet(str(Path("out/changes").resolve()))
        .select("version", "change", "a", "b")
        .toArrow()
        .to_pylist()
    )
    return {tuple(row.values()) for row in rows}


def test_inputs_become_answers_and_changes_their_deltas(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pipeline("run") == 0
    assert rows_in("out/path") == {("x", 1), ("x", 2), ("y, z", 2)}
    change("1.csv", "op,b,a\n+,1,new\n-,1,x\n")
    assert pipeline("apply") == 0
    assert rows_in("out/path") == {("new", 1), ("new", 2), ("y, z", 2)}
    assert "path\t+2\t-2" in capsys.readouterr().out
    first = {(1, "appeared", "x", 1), (1, "appeared", "x", 2), (1, "appeared", "y, z", 2)}
    second = {(2, "appeared", "new", 1), (2, "appeared", "new", 2), (2, "vanished", "x", 1), (2, "vanished", "x", 2)}
    assert deltas(spark) == first | second
    assert pipeline("apply") == 0
    assert version() == 2

    assert pipeline("status") == 0
    assert "batch 0" in capsys.readouterr().out
    assert pipeline("show", "path", "--as-of", "1") == 0
    assert capsys.readouterr().out == "x\t1\nx\t2\ny, z\t2\n"
    assert pipeline("clean") == 0
    assert pipeline("show", "path", "--as-of", "1") == 2
    assert "version 1 is not kept" in capsys.readouterr().err


def test_a_second_run_compares_inputs_that_have_no_changes() -> None:
    assert pipeline("run") == 0
    pq.write_table(pa.table({"to": [3], "from": [1]}), "next.parquet")
    assert pipeline("run") == 0
    assert rows_in("out/path") == {("x", 1), ("x", 3), ("y, z", 2)}


def test_two_snapshots_are_compared() -> None:
    Path("pipeline.toml").write_text(PIPELINE.replace('path = "changes"', 'path = "new.csv"\nkind = "snapshot"'))
    assert pipeline("run") == 0
    Path("new.csv").write_text("a,b\nx,1\nw,1\n")
    assert pipeline("apply") == 0
    assert rows_in("out/path") == {("x", 1), ("x", 2), ("w", 1), ("w", 2)}


def test_a_bad_batch_changes_nothing_and_can_be_repaired(capsys: pytest.CaptureFixture[str]) -> None:
    assert pipeline("run") == 0
    change("1.csv", "op,b,a\n+,5,good\n+,five,bad\n*,6,worse\n")
    assert pipeline("apply") == 3
    error = capsys.readouterr().err
    assert "expected a number for attribute 'b' of edge(a: symbol, b: number), found 'five'" in error
    assert "expected an operation (+, insert, i, -, retract, delete, d) in 'op', found '*'" in error
    assert "nothing of the batch was taken" in error
    assert version() == 1
    change("1.csv", "op,b,a\n+,5,good\n")
    assert pipeline("apply") == 0
    assert ("good", 5) in rows_in("out/path")


def test_bad_rows_can_be_put_aside() -> None:
    Path("pipeline.toml").write_text(PIPELINE + '[follow]\nbad_rows = "bad"\n')
    assert pipeline("run") == 0
    change("1.csv", "op,b,a\n+,5,good\n+,five,bad\n")
    assert pipeline("apply") == 0
    assert ("good", 5) in rows_in("out/path")
    (file,) = Path("bad").iterdir()
    (line,) = map(json.loads, file.read_text().splitlines())
    assert line["relation"] == "edge"
    assert "found 'five'" in line["problem"]
    assert json.loads(line["row"]) == {"a": "bad", "b": "five", "op": "+"}


def test_a_batch_that_comes_again_is_known(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert pipeline("run") == 0
    change("1.csv", "op,b,a\n-,1,x\n")
    assert pipeline("apply") == 0
    change("2.csv", "op,b,a\n+,1,x\n")
    assert pipeline("apply") == 0
    for file in (Path("state.checkpoint/commits/1"), Path("state.checkpoint/commits/.1.crc")):
        file.unlink()  # as if the driver had died between the state's commit and that of the stream
    Path("out/changes/_tidelog_version").write_text("2")  # and before the outputs
    assert pipeline("apply") == 0
    assert "batch 1 was taken before" in capsys.readouterr().err
    assert version() == 3
    assert rows_in("out/path") == {("x", 1), ("x", 2), ("y, z", 2)}
    assert {row for row in deltas(spark) if row[0] == 3} == {(3, "appeared", "x", 1), (3, "appeared", "x", 2)}


def test_what_cannot_be_done_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pipeline("apply") == 2
    assert "tidelog pipeline run pipeline.toml makes it" in capsys.readouterr().err
    Path("edges.csv").write_text("a,c,d\nx,1,2\n")
    assert pipeline("run") == 3
    assert "needs the column 'b', found a, c, d" in capsys.readouterr().err
    Path("edges.csv").unlink()
    assert pipeline("run") == 3
    assert f"{folder}/edges.csv: there is no such file or folder" in capsys.readouterr().err
    Path("edges.csv").write_text("a,b\nx,\n")
    assert pipeline("run") == 3
    assert "found NULL" in capsys.readouterr().err
    Path("edges.csv").write_text("a,b\nx,1\n")
    Path("out/path").mkdir(parents=True)
    Path("out/path/mine.txt").touch()
    assert pipeline("run") == 3
    assert "holds files that Tidelog did not write" in capsys.readouterr().err


def test_a_changed_program_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert pipeline("run") == 0
    Path("rules.dl").write_text(PROGRAM + "path(x, y) :- edge(x, y), y > 1.\n")
    assert pipeline("apply") == 6
    assert "written by another program" in capsys.readouterr().err
    assert pipeline("status") == 0
    assert "has changed" in capsys.readouterr().out


def test_a_changed_program_can_begin_anew_in_the_same_state(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    change("1.csv", 'op,b,a\n+,1,new\n-,2,"y, z"\n')
    assert pipeline("run") == 0
    assert version() == 2
    Path("rules.dl").write_text(PROGRAM.replace("path(x, y) :- edge(x, y).", "path(x, y) :- edge(x, y), y < 2."))
    assert pipeline("run") == 6
    assert "tidelog pipeline run --anew" in capsys.readouterr().err
    assert pipeline("run", "--anew") == 0
    assert rows_in("out/path") == {("x", 1), ("x", 2), ("new", 1), ("new", 2)}
    # The inputs without the changes, then the changes, as at the first time.
    assert {row for row in deltas(spark) if row[0] == 3} == {(3, "vanished", "new", 1), (3, "vanished", "new", 2)}
    assert {row for row in deltas(spark) if row[0] == 4} == {(4, "appeared", "new", 1), (4, "appeared", "new", 2)}
    change("2.csv", "op,b,a\n-,1,x\n")
    assert pipeline("run") == 0
    assert rows_in("out/path") == {("new", 1), ("new", 2)}
    capsys.readouterr()
    assert pipeline("show", "path", "--as-of", "1") == 0
    assert capsys.readouterr().out == "x\t1\nx\t2\ny, z\t2\n"


def test_a_relation_of_other_columns_begins_anew_and_keeps_its_past(capsys: pytest.CaptureFixture[str]) -> None:
    assert pipeline("run") == 0
    program = PROGRAM.replace("path(a: symbol, b: number)", "path(b: number)").replace("path(x, ", "path(")
    Path("rules.dl").write_text(program)
    assert pipeline("run", "--anew") == 0
    assert rows_in("out/path") == {(1,), (2,)}
    assert rows_in("out/changes/version=2") == {(1, "appeared"), (2, "appeared")}
    capsys.readouterr()
    assert pipeline("show", "path", "--as-of", "1") == 0
    assert capsys.readouterr().out == "x\t1\nx\t2\ny, z\t2\n"


def test_beginning_anew_with_bad_inputs_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    change("1.csv", "op,b,a\n+,1,new\n")
    assert pipeline("run") == 0
    Path("edges.csv").write_text("a,b\nx,one\n")
    assert pipeline("run", "--anew") == 3
    assert version() == 2
    assert pipeline("apply") == 0
    assert "was taken before" not in capsys.readouterr().err
    assert ("new", 1) in rows_in("out/path")


def test_ctrl_c_ends_following_with_whole_outputs(capfd: pytest.CaptureFixture[str]) -> None:
    change("1.csv", "op,a,b\n+,z,1\n")

    def press_when_told() -> None:
        end = time.monotonic() + 120
        while not Path("out/changes/version=2").exists() and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    Thread(target=press_when_told).start()
    assert pipeline("follow") == 130
    said = capfd.readouterr().err
    assert said.endswith("interrupted\n")
    assert "Traceback" not in said
    assert {("z", 1), ("z", 2)} <= rows_in("out/path")
