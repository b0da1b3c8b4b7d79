"""Changes, paths and states that cannot be taken: an error that says what is wrong, and nothing is changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pipeline_folder import change, pipeline, rows_in, version
from pyspark.sql import SparkSession

import tidelog.spark
from tidelog.errors import InputError

PROGRAM = """\
.decl edge(a: symbol, b: number)
.input edge
.decl far(a: symbol, b: number)
far(x, y + 1) :- edge(x, y).
.output far
"""

PIPELINE = """\
program = "rules.dl"
[state]
path = "state"
[inputs.edge]
path = "edges.csv"
[changes.edge]
path = "changes"
format = "csv"
[outputs.far]
path = "out"
deltas = "deltas"
[follow]
files_per_batch = 1
"""

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a pipeline and its inputs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.dl").write_text(PROGRAM)
    (tmp_path / "pipeline.toml").write_text(PIPELINE)
    (tmp_path / "edges.csv").write_text("a,b\nx,1\n")
    (tmp_path / "changes").mkdir()
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], action: str) -> tuple[int, str]:
    """The exit code of an action, and what it says of errors."""
    capsys.readouterr()
    code = pipeline(action)
    return code, capsys.readouterr().err


def configure(old: str, new: str) -> None:
    assert old in PIPELINE
    Path("pipeline.toml").write_text(PIPELINE.replace(old, new))


@pytest.mark.parametrize("action", ["apply", "follow"])
def test_a_batch_with_other_columns_changes_nothing_and_can_be_repaired(
    capsys: pytest.CaptureFixture[str], action: str
) -> None:
    change("1.csv", "op,a,b\n+,y,2\n", age=60)
    assert told(capsys, "run")[0] == 0
    change("2.csv", "op,name,weight,b\n+,z,3,4\n")
    code, error = told(capsys, action)
    assert code == 3, error
    assert "changes" in error
    assert "weight" in error
    assert version() == 2
    change("2.csv", "op,a,b\n-,x,1\n")
    assert told(capsys, "apply")[0] == 0
    assert rows_in("out") == {("y", 3)}


def test_parquet_changes_of_another_type_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    configure('format = "csv"', 'format = "parquet"')
    pq.write_table(pa.table({"op": ["+"], "a": ["y"], "b": [2]}), "changes/1.parquet")
    assert told(capsys, "run")[0] == 0
    pq.write_table(pa.table({"op": ["+"], "a": ["y"], "b": ["many"]}), "changes/2.parquet")
    code, error = told(capsys, "apply")
    assert code == 3, error
    assert "2.parquet" in error
    assert version() == 2


def test_columns_in_another_order_are_no_other_columns(capsys: pytest.CaptureFixture[str]) -> None:
    change("1.csv", "op,a,b\n+,y,2\n", age=60)
    assert told(capsys, "run")[0] == 0
    change("2.csv", "op,b,a\n+,3,z\n")
    code, error = told(capsys, "apply")
    assert code == 0, error
    assert rows_in("out") == {("x", 2), ("y", 3), ("z", 4)}


def test_a_line_that_is_no_json_is_an_error_or_put_aside(capsys: pytest.CaptureFixture[str]) -> None:
    configure('format = "csv"', 'format = "json"')
    assert told(capsys, "run")[0] == 0
    change("1.json", '{"op": "+", "a": "y", "b": 2}\n{"op": "+", "a": \n')
    code, error = told(capsys, "apply")
    assert code == 3, error
    assert "nothing of the batch was taken" in error
    assert version() == 1
    Path("pipeline.toml").write_text(Path("pipeline.toml").read_text() + 'bad_rows = "bad"\n')
    assert told(capsys, "apply")[0] == 0
    assert rows_in("out") == {("x", 2), ("y", 3)}
    assert len(list(Path("bad").iterdir())) == 1


def test_a_file_that_is_older_than_those_before_it_is_taken_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "run")[0] == 0
    change("1.csv", "op,a,b\n+,y,2\n")
    assert told(capsys, "apply")[0] == 0
    change("2.csv", "op,a,b\n+,z,3\n", age=30 * 24 * 3600)
    assert told(capsys, "apply")[0] == 0
    assert rows_in("out") == {("x", 2), ("y", 3), ("z", 4)}


def test_a_missing_folder_of_changes_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    configure('path = "changes"', 'path = "elsewhere"')
    code, error = told(capsys, "run")
    assert code == 3, error
    assert "elsewhere: there is no such file or folder" in error


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("edges.csv", "edges.csv"),
        ("changes", "is not empty and has no Tidelog state in it"),
        ("ftp2://host/state", "use a local path, or a URI of s3"),
        ("hdfs://localhost:1/state", "cannot be reached"),
    ],
)
def test_a_state_that_cannot_be_had_is_said(capsys: pytest.CaptureFixture[str], path: str, reason: str) -> None:
    Path("changes/other.txt").touch()
    configure('path = "state"', f'path = "{path}"')
    code, error = told(capsys, "run")
    assert code in (2, 6), error
    assert reason in error
    assert "a fault in Tidelog" not in error


def test_a_state_with_a_damaged_or_missing_file_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "run")[0] == 0
    (part,) = (folder / "state" / "parts").glob("*/*edge*")
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    code, error = told(capsys, "apply")
    assert (code, "damaged" in error) == (6, True), error
    part.unlink()
    code, error = told(capsys, "apply")
    assert (code, "lacks a file" in error) == (6, True), error
    part.write_bytes(whole)
    (manifest,) = (folder / "state" / "versions").iterdir()
    manifest.write_text("{")
    code, error = told(capsys, "apply")
    assert (code, manifest.name in error) == (6, True), error


@pytest.mark.parametrize("action", ["run", "apply", "follow"])
def test_a_state_of_another_program_is_left_alone(capsys: pytest.CaptureFixture[str], action: str) -> None:
    assert told(capsys, "run")[0] == 0
    Path("rules.dl").write_text(PROGRAM.replace("y + 1", "y + 2"))
    code, error = told(capsys, action)
    assert code == 6
    assert "written by another program" in error
    assert version() == 1
    assert rows_in("out") == {("x", 2)}


def test_a_lost_checkpoint_is_said_before_anything_is_taken_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "run")[0] == 0
    change("1.csv", "op,a,b\n+,y,2\n")
    assert told(capsys, "apply")[0] == 0
    (folder / "state.checkpoint").rename(folder / "away")
    code, error = told(capsys, "apply")
    assert code == 2
    assert "under another checkpoint" in error
    assert version() == 2


def test_a_checkpoint_whose_state_is_gone_is_said_before_changes_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change("1.csv", "op,a,b\n+,y,2\n")
    assert told(capsys, "run")[0] == 0
    shutil.rmtree(folder / "state")
    shutil.rmtree(folder / "deltas")
    code, error = told(capsys, "run")
    assert code == 2, error
    assert "has taken changes that the state does not have" in error
    shutil.rmtree(folder / "state.checkpoint")
    assert told(capsys, "run")[0] == 0
    assert rows_in("out") == {("x", 2), ("y", 3)}


def test_a_bad_value_names_the_file_it_is_in(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("edges.csv").unlink()
    Path("edges.csv").mkdir()
    Path("edges.csv/good.csv").write_text("a,b\nx,1\n")
    Path("edges.csv/bad.csv").write_text("a,b\ny,many\n")
    code, error = told(capsys, "run")
    assert code == 3
    assert f"{folder}/edges.csv/bad.csv: expected a number for attribute 'b'" in error
    assert "found 'many'" in error


def test_an_output_that_is_added_later_has_deltas_from_then_on(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.dl").write_text(PROGRAM + ".decl big(b: number)\nbig(y) :- edge(_, y), y > 1.\n")
    change("1.csv", "op,a,b\n+,y,2\n")
    assert told(capsys, "run")[0] == 0
    Path("pipeline.toml").write_text(PIPELINE + '[outputs.big]\ndeltas = "bigs"\n')
    change("2.csv", "op,a,b\n+,z,3\n")
    code, error = told(capsys, "apply")
    assert code == 0, error
    assert sorted(one.name for one in Path("bigs").iterdir() if one.is_dir()) == ["version=3", "version=4"]


def test_frames_that_do_not_fit_change_nothing(spark: SparkSession, folder: Path) -> None:
    edges = spark.createDataFrame([("x", 1)], "a string, b long")
    flow = tidelog.spark.open(PROGRAM, spark, inputs={"edge": edges}, state=folder / "frames")
    for rows, columns in [
        ([("x", 1.5)], "a string, b double"),
        ([("x", None)], "a string, b long"),
        ([("x",)], "a string"),
    ]:
        with pytest.raises(InputError, match="edge"):
            flow.apply(insert={"edge": spark.createDataFrame(rows, columns)}, retract={"edge": edges})
    assert flow.version == 1
    assert flow["far"].toArrow().to_pylist() == [{"a": "x", "b": 2}]
