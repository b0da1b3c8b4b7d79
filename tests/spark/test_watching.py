"""A pipeline that watches: tuples in files, what appears and vanishes out, exactly once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pipeline_folder import change, pipeline, rows_in

PROGRAM = """\
// The names of a column and of a relation are also those of columns that Tidelog needs.
.decl near(person: symbol, device: unsigned)
.decl uses(person: symbol, device: unsigned)
.decl blocked(device: unsigned)
.decl alert(person: symbol, sign: unsigned)
alert(p, d) :- near(p, d), uses(p, d), !blocked(d).
.decl change()
change() :- uses(_, 7), !blocked(7).
blocked(9).
"""
PIPELINE = """\
program = "rules.dl"
[state]
path = "state"
[watch]
buckets = 3
[inputs.near]
path = "near.csv"
[changes.uses]
path = "changes"
format = "csv"
[changes.blocked]
path = "blocked"
format = "json"
[outputs.alert]
deltas = "out/alert"
[outputs.change]
deltas = "out/quiet"
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.dl").write_text(PROGRAM)
    Path("pipeline.toml").write_text(PIPELINE)
    Path("near.csv").write_text("person,device\nann,1\nbob,1\ncid,9\ncid,2\n")
    Path("changes").mkdir()
    Path("blocked").mkdir()


@pytest.mark.usefixtures("spark")
def test_tuples_are_taken_once_and_what_they_begin_and_end_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    change("1.csv", "person,device,op\nann,1,+\ncid,9,+\n")
    assert pipeline("run") == 0
    assert capsys.readouterr().out == "// version 1\nalert\t+1\t-0\n"
    assert rows_in("out/alert/version=1") == {("ann", 1, "appeared")}

    change("2.csv", "person,device,op\nbob,1,+\nann,1,-\ncid,2,+\ncid,2,-\nbob,7,+\n")
    Path("blocked/2.json").write_text('{"device": 9, "op": "retract"}\n{"device": 7, "op": "+"}\n')
    assert pipeline("apply") == 0
    assert capsys.readouterr().out == "// version 2\nalert\t+3\t-1\n"
    told = {("bob", 1, "appeared"), ("cid", 2, "appeared"), ("cid", 9, "appeared"), ("ann", 1, "vanished")}
    assert rows_in("out/alert/version=2") == told
    assert pipeline("apply") == 0
    assert capsys.readouterr().out == ""

    Path("blocked/3.json").write_text('{"device": 7, "op": "-"}\n{"device": "x", "op": "+"}\n')
    assert pipeline("apply") == 3
    assert "batch 2 of changes: " in capsys.readouterr().err
    assert not Path("out/quiet/version=3").exists()
    Path("blocked/3.json").write_text('{"device": 7, "op": "-"}\n{"device": 1, "op": "+"}\n')
    assert pipeline("apply") == 0
    assert capsys.readouterr().out == "// version 3\nalert\t+0\t-1\nchange\t+1\t-0\n"
    assert rows_in("out/alert/version=3") == {("bob", 1, "vanished")}
    assert rows_in("out/quiet/version=3") == {("appeared",)}

    Path("pipeline.toml").write_text(PIPELINE.replace("buckets = 3", "buckets = 4"))
    assert pipeline("apply") == 6
    assert "tuples are in 3 buckets, not in 4" in capsys.readouterr().err
    Path("pipeline.toml").write_text(PIPELINE)
    shutil.rmtree("state.checkpoint")
    assert pipeline("apply") == 6
    assert "the tuples are under another checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('deltas = "out/alert"', 'path = "out/alert"', "a watch keeps no rows, it tells what changes"),
        ("[outputs.change]", "[outputs.blocked]", "outputs.blocked: no rule fills it"),
        ('format = "json"', 'format = "json"\nkind = "snapshot"', "'snapshot' cannot be watched"),
        ("buckets = 3", "buckets = 0", "expected a whole number from 1, found 0"),
        ("buckets = 3", "bucket = 3", "did you mean 'buckets'?"),
    ],
)
def test_what_a_watch_cannot_do_is_said(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pipeline.toml").write_text(PIPELINE.replace(old, new))
    assert pipeline("apply") != 0
    assert said in capsys.readouterr().err
    assert not Path("state").exists()


@pytest.mark.parametrize("command", [["status"], ["clean"], ["show", "alert"], ["run", "--anew"]])
def test_a_watch_has_no_answers_to_show(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert pipeline(*command) == 2
    assert "a watch keeps no answers, so there is nothing for" in capsys.readouterr().err
