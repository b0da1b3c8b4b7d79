"""Pipeline files: what they say, and what is said about their mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from tidelog.connectors.protocol import Nulls
from tidelog.errors import InputError, ProgramError
from tidelog.pipeline.config import COMPILED_ROWS, ChangeKind, Format, Tier
from tidelog.pipeline.config_file import read_pipeline

WHOLE = """\
program = "rules.dl"

[state]
path = "state"

[inputs.edge]
path = "edges.csv"
options = { sep = ";", header = false }
columns = { a = "from", b = "to" }
nulls = { b = 0 }

[inputs.label]
format = "jdbc"
options = { url = "jdbc:x", dbtable = "labels" }
nulls = "skip"

[changes.edge]
path = "s3a://bucket/changes"

[changes.label]
kind = "snapshot"
path = "/data/labels.parquet"

[outputs.path]
path = "out/path"
deltas = "out/path_changes"

[engine]
tier = "compiled"

[follow]
bad_rows = "bad"
"""


RULES = """\
.decl edge(a: number, b: number)
.decl label(a: number)
.decl path(a: number, b: number)
"""


def written(folder: Path, text: str, rules: str = RULES) -> Path:
    (folder / "rules.dl").write_text(rules, encoding="utf-8")
    (folder / "pipeline.toml").write_text(text, encoding="utf-8")
    return folder / "pipeline.toml"


def problems(folder: Path, text: str, rules: str = RULES) -> str:
    with pytest.raises(InputError) as found:
        read_pipeline(written(folder, text, rules))
    return str(found.value).replace(f"{folder}/", "")


def test_a_file_says_where_rows_come_from_and_go(tmp_path: Path) -> None:
    pipeline = read_pipeline(written(tmp_path, WHOLE))
    edge, label = pipeline.inputs["edge"], pipeline.inputs["label"]
    assert (edge.format, edge.path) == (Format.CSV, str(tmp_path / "edges.csv"))
    assert edge.options == {"sep": ";", "header": "false"}
    assert edge.nulls == {"b": 0}
    assert (label.format, label.nulls) == (Format.JDBC, Nulls.SKIP)
    assert pipeline.outputs["path"].deltas == str(tmp_path / "out/path_changes")
    assert (pipeline.engine.tier, pipeline.engine.compiled_rows) == (Tier.COMPILED, COMPILED_ROWS)
    assert pipeline.follow.checkpoint == str(tmp_path / "state.checkpoint")
    assert pipeline.follow.bad_rows == str(tmp_path / "bad")


def test_changes_are_written_as_the_input_is_unless_told_otherwise(tmp_path: Path) -> None:
    changes = read_pipeline(written(tmp_path, WHOLE)).changes
    assert changes["edge"].source.format is Format.CSV
    assert changes["edge"].source.path == "s3a://bucket/changes"
    assert changes["edge"].source.columns == {"a": "from", "b": "to"}
    assert changes["edge"].operation == "op"
    assert (changes["label"].kind, changes["label"].source.format) == (ChangeKind.SNAPSHOT, Format.PARQUET)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = """\
programm = "rules.dl"
[state]
path = 7
format = "detla"
[inputs.edge]
formt = "csv"
[inputs.label]
format = "jdbc"
[changes.edge]
kind = "feed"
path = "changes.csv"
before = "old.csv"
[outputs.path]
path = "out"
deltas = "out"
[engine]
compiled_rows = 0
[spark.options]
memory = "2g"
"""
    found = problems(tmp_path, text)
    assert found.splitlines() == [
        "pipeline.toml: program: is missing",
        '  hint: the rules, as in program = "rules.dl"',
        "pipeline.toml: state.path: expected a text that is not empty, found 7",
        "pipeline.toml: state.format: expected 'auto' or 'parquet' or 'delta', found 'detla'",
        "  hint: did you mean 'delta'?",
        "pipeline.toml: inputs.edge.path: is missing",
        "  hint: a file or a folder, from where the pipeline file is",
        "pipeline.toml: inputs.edge.format: is missing, and the path does not say it",
        "  hint: one of 'parquet', 'csv', 'json', 'delta', 'jdbc'",
        "pipeline.toml: inputs.edge.formt: unknown key",
        "  hint: did you mean 'format'?",
        "pipeline.toml: inputs.label.options.url: is missing",
        "  hint: JDBC needs url, and dbtable or query",
        "pipeline.toml: inputs.label.options.dbtable: is missing",
        "  hint: JDBC needs url, and dbtable or query",
        "pipeline.toml: changes.edge.format: expected 'delta', found 'csv'",
        "  hint: only Delta tables have a feed",
        "pipeline.toml: changes.edge.before: only kind = 'snapshot' compares two, this is 'feed'",
        "pipeline.toml: outputs.path.deltas: is the same as path",
        "  hint: the rows and their changes need a folder each",
        "pipeline.toml: spark.options.memory: is no option of Spark",
        "  hint: those begin with 'spark.'; write them in quotes",
        "pipeline.toml: engine.compiled_rows: expected a whole number from 1, found 0",
        "pipeline.toml: programm: unknown key",
        "  hint: did you mean 'program'?",
    ]


def test_a_file_that_is_not_toml_is_named_with_its_line(tmp_path: Path) -> None:
    assert "line 1" in problems(tmp_path, "program = rules.dl\n")
    with pytest.raises(InputError, match="No such file"):
        read_pipeline(tmp_path / "other.toml")


def test_relations_and_attributes_must_be_those_of_the_program(tmp_path: Path) -> None:
    rules = (
        ".decl edge(a: number, to: number)\n.decl label(a: number, op: symbol)\n.decl path(a: number, change: number)"
    )
    text = WHOLE.replace("[inputs.label]", "[inputs.lable]").replace("[changes.label]", "[changes.edges]")
    text = text.replace("[changes.edge]\n", '[changes.label]\noperation = "op"\nformat = "csv"\n')
    assert problems(tmp_path, text, rules).splitlines() == [
        "pipeline.toml: inputs.edge.columns.b: no such attribute in the program",
        "  hint: there are: a, to",
        "pipeline.toml: inputs.edge.nulls.b: no such attribute in the program",
        "  hint: there are: a, to",
        "pipeline.toml: inputs.lable: no such relation in the program",
        "  hint: did you mean 'label'?",
        "pipeline.toml: changes.label.operation: 'op' is a column of label(a: number, op: symbol)",
        "  hint: give the column with the operations another name",
        "pipeline.toml: changes.edges: no such relation in the program",
        "  hint: did you mean 'edge'?",
        "pipeline.toml: outputs.path.deltas: 'change' is an attribute of path(a: number, change: number), and "
        "deltas have a column of that name",
        "  hint: give the attribute another name",
    ]


def test_keys_and_relations_that_are_wrong_are_reported_together(tmp_path: Path) -> None:
    text = WHOLE.replace("[inputs.edge]", "[inputs.edgee]").replace('tier = "compiled"', 'tier = "fast"')
    found = problems(tmp_path, text)
    assert "engine.tier: expected 'compiled' or 'spark', found 'fast'" in found
    assert "inputs.edgee: no such relation in the program" in found


@pytest.mark.parametrize(
    ("value", "kind"), [("1.5", "number"), ("-1", "unsigned"), ("nan", "float"), ('"none"', "number"), ("0", "symbol")]
)
def test_what_stands_for_null_must_be_of_the_kind(tmp_path: Path, value: str, kind: str) -> None:
    text = WHOLE.replace("{ b = 0 }", f"{{ b = {value} }}")
    found = problems(tmp_path, text, RULES.replace("edge(a: number, b: number)", f"edge(a: number, b: {kind})"))
    assert "inputs.edge.nulls.b: expected a" in found


def test_mistakes_of_the_file_come_before_those_of_the_program(tmp_path: Path) -> None:
    text = WHOLE.replace('tier = "compiled"', 'tier = "fast"')
    assert "engine.tier" in problems(tmp_path, text, ".decl edge(a: numer)")
    with pytest.raises(ProgramError, match="numer"):
        read_pipeline(written(tmp_path, WHOLE, ".decl edge(a: numer)"))
    file = written(tmp_path, WHOLE)
    (tmp_path / "rules.dl").unlink()
    with pytest.raises(InputError, match="the program cannot be read"):
        read_pipeline(file)
