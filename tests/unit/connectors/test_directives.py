from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pyarrow as pa
import pytest

from tidelog.connectors import atomic
from tidelog.connectors.directives import read_input, write_outputs
from tidelog.connectors.frames import to_rows, to_table
from tidelog.connectors.parameters import check_directives
from tidelog.connectors.protocol import open_source
from tidelog.errors import InputError, OutputError, ProgramError
from tidelog.language.syntax_tree import Directive, DirectiveKind
from tidelog.schema import Row, Schema
from unit.connectors.schemas import DONE, EDGE, NAME, SPAN, input_of, output_of


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    folder = tmp_path / "facts"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def rows(directive: Directive, folder: Path, schema: Schema = EDGE) -> list[Row]:
    return to_rows(read_input(directive, schema, folder))


def table(*pairs: Row, schema: Schema = EDGE) -> pa.Table:
    return to_table(list(pairs), schema)


def write(folder: Path, **parameters: str) -> None:
    write_outputs([(output_of("edge", **parameters), EDGE, table((1, 2)))], folder)


def test_input_is_the_facts_file_of_the_relation(facts: Path) -> None:
    (facts / "edge.facts").write_text("1\t2\n")
    (facts / "edge.csv").write_text("not looked at")
    assert rows(input_of("edge"), facts) == [(1, 2)]


@pytest.mark.parametrize("name", ["edge.csv", "edge.tsv"])
def test_another_file_of_that_name_is_taken_when_there_is_no_facts_file(facts: Path, name: str) -> None:
    (facts / name).write_text("1\t2\n")
    assert rows(input_of("edge"), facts) == [(1, 2)]


def test_two_other_files_are_ambiguous(facts: Path) -> None:
    (facts / "edge.csv").touch()
    (facts / "edge.jsonl").touch()
    with pytest.raises(InputError, match=r'could be in edge.csv, edge.jsonl: say which with filename="edge.csv"'):
        rows(input_of("edge"), facts)


def test_missing_facts_say_which_file_was_expected(facts: Path) -> None:
    with pytest.raises(InputError, match=r"edge.facts: there is no such file; .*edge\(a: number, b: number\)"):
        rows(input_of("edge"), facts)
    with pytest.raises(InputError, match="there is no folder"):
        rows(input_of("edge"), facts / "nowhere")
    with pytest.raises(InputError, match=r"e.txt: there is no such file"):
        rows(input_of("edge", filename="e.txt"), facts)


def test_parameters_say_how_to_read(facts: Path) -> None:
    (facts / "e.txt").write_text("x;y\n1;2\n")
    assert rows(input_of("edge", IO="file", filename="e.txt", delimiter=";", headers="true"), facts) == [(1, 2)]
    (facts / "q.csv").write_text('"1",2\n')
    assert rows(input_of("edge", filename="q.csv", rfc4180="true"), facts) == [(1, 2)]
    (facts / "t.csv").write_text("1\t2\n")
    assert rows(input_of("edge", filename="t.csv", delimiter="\\t"), facts) == [(1, 2)]
    (facts / "n.csv").write_text("to\tfrom\n2\t1\n")
    assert rows(input_of("edge", filename="n.csv", headers="true", attributeNames="from,to"), facts) == [(1, 2)]
    (facts / "edge.json").write_text("[[1, 2]]")
    assert rows(input_of("edge", IO="jsonfile"), facts) == [(1, 2)]
    (facts / "other.facts").write_text("1\t2\n")
    assert rows(input_of("edge", name="other"), facts) == [(1, 2)]


def test_standard_input_is_read(facts: Path) -> None:
    stdin = io.BytesIO(b"1\t2\n")
    assert to_rows(read_input(input_of("edge", IO="stdin"), EDGE, facts, stdin=stdin)) == [(1, 2)]
    with pytest.raises(InputError, match=r"<stdin>:1:1: expected a number"):
        read_input(input_of("edge", IO="stdin"), EDGE, facts, stdin=io.BytesIO(b"x\t2\n"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"filname": "x"}, "unknown parameter 'filname' of .input"),
        ({"filname": "x"}, "did you mean 'filename'?"),
        ({"IO": "fil"}, "IO=fil: expected one of file, stdin"),
        ({"IO": "stdout"}, "IO=stdout cannot be used with .input"),
        ({"headers": "yes"}, "headers=yes: expected one of true, false"),
        ({"delimiter": ""}, "the delimiter is empty"),
        ({"delimiter": "\n"}, "the delimiter holds a line end"),
        ({"delimiter": '"', "rfc4180": "true"}, "cannot hold a double quote"),
        ({"IO": "parquet", "delimiter": ","}, "'delimiter' means nothing for parquet"),
        ({"filename": "e.parquet", "headers": "true"}, "'headers' means nothing for parquet"),
        ({"dbname": "x.db", "filename": "y.db", "IO": "sqlite"}, "both 'dbname' and 'filename' are given"),
        ({"attributeNames": "x"}, "attributeNames has 1 names"),
    ],
)
def test_parameters_that_cannot_be_are_shown_at_their_place(
    facts: Path, parameters: dict[str, str], message: str
) -> None:
    with pytest.raises(ProgramError) as caught:
        rows(input_of("edge", **parameters), facts)
    assert message in str(caught.value)
    assert caught.value.diagnostics[0].span == SPAN


@pytest.mark.parametrize("filename", ["/etc/passwd", "../edge.facts", "sub/../../edge.facts", ".", "a\0b"])
def test_no_parameter_leads_out_of_the_folder(facts: Path, out: Path, filename: str) -> None:
    (facts.parent / "edge.facts").write_text("1\t2\n")
    with pytest.raises(ProgramError, match="is not a file inside"):
        rows(input_of("edge", filename=filename), facts)
    with pytest.raises(ProgramError, match="is not a file inside"):
        write(out, filename=filename)
    assert not out.exists()


def test_a_name_leads_out_of_the_folder_no_more_than_a_filename(facts: Path) -> None:
    with pytest.raises(ProgramError, match="is not a file inside"):
        rows(input_of("edge", name="../edge"), facts)


def test_a_link_does_not_lead_outputs_out_of_the_folder(tmp_path: Path, out: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    out.mkdir()
    (out / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="symbolic link"):
        write(out, filename="sub/edge.csv")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_output_is_tab_separated_in_a_csv_file_of_the_relation(out: Path) -> None:
    write(out)
    assert (out / "edge.csv").read_bytes() == b"1\t2\n"
    assert os.listdir(out) == ["edge.csv"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"IO": "json"},
        {"IO": "jsonl", "filename": "sub/edge.jsonl"},
        {"IO": "parquet"},
        {"filename": "edge.parquet"},
        {"filename": "edge.tsv", "delimiter": "\\t"},
    ],
)
def test_outputs_can_be_read_back(out: Path, parameters: dict[str, str]) -> None:
    write(out, **parameters)
    (path,) = [path for path in out.rglob("*") if path.is_file()]
    assert to_rows(open_source(path).read(EDGE)) == [(1, 2)]


def test_compressed_output_gets_a_gz_name(out: Path) -> None:
    write(out, compress="gzip", headers="true", delimiter=",")
    assert gzip.decompress((out / "edge.csv.gz").read_bytes()) == b"a,b\n1,2\n"


def test_a_gz_name_asks_for_compression(out: Path) -> None:
    write(out, filename="e.csv.gz")
    assert gzip.decompress((out / "e.csv.gz").read_bytes()) == b"1\t2\n"


def test_a_folder_that_cannot_be_made_is_an_output_error(out: Path) -> None:
    out.write_text("a file, not a folder")
    with pytest.raises(OutputError, match="cannot be written"):
        write(out)
    assert out.read_text() == "a file, not a folder"


def test_standard_input_is_for_one_relation() -> None:
    twice = [input_of("edge", IO="stdin"), input_of("name", IO="stdin")]
    assert [finding.code for finding in check_directives(twice)] == ["D284"]
    assert not list(check_directives(twice[:1]))


def test_several_relations_share_a_database(out: Path) -> None:
    database = {"IO": "sqlite", "dbname": "all.db"}
    write_outputs(
        [
            (output_of("edge", **database), EDGE, table((1, 2))),
            (output_of("name", **database), NAME, table(("x",), schema=NAME)),
        ],
        out,
    )
    assert rows(input_of("edge", **database), out) == [(1, 2)]
    assert rows(input_of("name", **database), out, NAME) == [("x",)]


def test_standard_output_looks_as_souffle_prints_it(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printsize = Directive(DirectiveKind.PRINTSIZE, ("edge",))
    write_outputs(
        [
            (output_of("edge", IO="stdout"), EDGE, table((1, 2), (3, 4))),
            (output_of("edge", IO="stdout", headers="true"), EDGE, table()),
            (printsize, EDGE, table((1, 2), (3, 4))),
            (output_of("done", IO="stdout"), DONE, table((), schema=DONE)),
        ],
        out,
    )
    assert capsys.readouterr().out == (
        "---------------\nedge\n===============\n1\t2\n3\t4\n===============\n"
        "---------------\nedge\na\tb\n===============\n===============\n"
        "edge\t2\n"
        "---------------\ndone\n===============\n()\n===============\n"
    )
    assert not out.exists()


def test_when_one_output_fails_none_appears(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OutputError, match="holds a line end"):
        write_outputs(
            [
                (output_of("edge", IO="stdout"), EDGE, table((1, 2))),
                (output_of("edge"), EDGE, table((1, 2))),
                (output_of("edge", IO="sqlite", dbname="sub/e.db"), EDGE, table((1, 2))),
                (output_of("name"), NAME, table(("a\nb",), schema=NAME)),
            ],
            out,
        )
    assert not out.exists()
    assert capsys.readouterr().out == ""


def test_when_putting_in_place_fails_the_old_files_are_back(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out.mkdir()
    (out / "edge.csv").write_text("old")
    replace, calls = os.replace, []

    def replace_once(source: Path, target: Path) -> None:
        calls.append(target)
        if target.name == "name.csv":
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(atomic.os, "replace", replace_once)
    outputs = [(output_of("edge"), EDGE, table((1, 2))), (output_of("done"), DONE, table(schema=DONE))]
    with pytest.raises(OutputError, match=r"name.csv: cannot be written: No space left on device"):
        write_outputs([*outputs, (output_of("name"), NAME, table(schema=NAME))], out)
    assert (out / "edge.csv").read_text() == "old"
    assert os.listdir(out) == ["edge.csv"]
    assert len(calls) > 2


def test_outputs_replace_what_was_there_and_leave_the_rest(out: Path) -> None:
    out.mkdir()
    (out / "edge.csv").write_text("old")
    (out / "mine.txt").write_text("mine")
    write(out)
    assert sorted(os.listdir(out)) == ["edge.csv", "mine.txt"]
    assert (out / "edge.csv").read_text() == "1\t2\n"


def test_two_relations_cannot_go_to_one_file(out: Path) -> None:
    outputs = [
        (output_of("edge", filename="x.csv"), EDGE, table()),
        (output_of("name", filename="x.csv"), NAME, table(schema=NAME)),
    ]
    with pytest.raises(ProgramError, match=r"'x.csv' is already the output of edge"):
        write_outputs(outputs, out)
    write_outputs([outputs[0], outputs[0]], out)
    assert os.listdir(out) == ["x.csv"]


def test_a_folder_in_the_way_of_an_output_is_an_error(out: Path) -> None:
    (out / "edge.csv").mkdir(parents=True)
    with pytest.raises(OutputError, match="is a folder"):
        write(out)
    assert os.listdir(out) == ["edge.csv"]


def test_outputs_are_sorted_by_value(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = [
        (output_of("edge"), EDGE, table((10, 1), (9, 2), (9, -3))),
        (output_of("name", IO="stdout"), NAME, table(("é",), ("b",), ("B",), schema=NAME)),
    ]
    write_outputs(outputs, out)
    assert (out / "edge.csv").read_text() == "9\t-3\n9\t2\n10\t1\n"
    assert capsys.readouterr().out.splitlines()[3:-1] == ["B", "b", "é"]


def test_errors_show_the_folder_as_it_was_given(facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (facts / "edge.facts").write_text("x\t1\n")
    (tmp_path / "edge.facts").write_text("1\t2\t3\n")
    for folder, file in (
        ("facts", "facts/edge.facts"),
        ("facts/../facts", "facts/../facts/edge.facts"),
        (".", "edge.facts"),
    ):
        with pytest.raises(InputError) as caught:
            rows(input_of("edge"), Path(folder))
        assert caught.value.file == file


@pytest.mark.parametrize("parameters", [{}, {"filename": "edge.facts"}])
def test_a_folder_in_the_place_of_facts_is_named_so(facts: Path, parameters: dict[str, str]) -> None:
    (facts / "edge.facts").mkdir()
    with pytest.raises(InputError, match=r"edge\.facts: is a folder, not a file"):
        rows(input_of("edge", **parameters), facts)


def test_a_file_name_that_cannot_be_is_an_input_error(facts: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        rows(input_of("edge", filename="a" * 300), facts)


def test_a_folder_without_permission_is_an_output_error(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as one who may do everything
    with pytest.raises(OutputError, match="no permission to write"):
        write(out / "deep" / "inside")


def test_only_inputs_read_standard_input() -> None:
    findings = check_directives([input_of("edge", IO="stdin"), output_of("edge", IO="stdin")])
    assert [finding.code for finding in findings] == ["D281"]
