"""What `tidelog graph` shows: text, DOT and SVG, and what it does with wrong input."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from answers import checked_program
from tidelog.cli.main import main
from tidelog.codegen.application_graph import application_graph
from tidelog.codegen.draw_graph import draw_graph
from tidelog.codegen.print_graph import print_dot, print_graph

SAME_GENERATION = """\
.decl parent(child: symbol, of: symbol)
.input parent
.decl same(x: symbol, y: symbol)
.decl old(x: symbol)
.output same
same(x, y) :- parent(x, p), parent(y, p), x != y.
same(x, y) :- parent(x, p), same(p, q), parent(y, q).
old(x) :- parent(_, x).
"""

EXPECTED = """\
start
  [1] rule 1, same.dl:6: same(x, y) :- parent(x, p), parent(y, p), x != y.
      reads parent(x, p), parent(y, p)
      sets v_same_x := x, v_same_y := y
      gives same(v_same_x, v_same_y)
  [2] rule 3, same.dl:8: old(x) :- parent(_, x).
      reads parent(_, x)
      gives old(v3_x)
      REMOVED: nothing wanted follows from old(v3_x)

same(v_same_x, v_same_y), stored, duplicate check, in a cycle
  [3] rule 2, same.dl:7: same(x, y) :- parent(x, p), same(p, q), parent(y, q).
      CONFLICT on v_same_x, v_same_y: first v2_p := v_same_x, v2_q := v_same_y
      looks up parent(x, p), parent(y, q)
      sets v_same_x := x, v_same_y := y
      gives same(v_same_x, v_same_y)

old(v3_x)
  REMOVED: no rule takes it, and old is not asked for

same, stored: its rows are asked for
1 symbolic fact, 2 rule applications, 1 cycle, 2 nodes removed, 1 phase
"""

AWKWARD = """
.decl e(x: symbol)
.decl p(x: symbol)
.decl h(x: symbol)
.input e
.output h
p("<b> & \\"quoted\\" \\\\ back") :- e(x), x < "é".
h(x) :- p(x), x != "]]>".
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.dl").write_text(SAME_GENERATION, encoding="utf-8")
    return tmp_path


def test_the_text_has_a_block_for_each_symbolic_fact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "same.dl"]) == 0
    assert capsys.readouterr().out == EXPECTED


def test_the_paper_s_variables_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "same.dl", "--variables", "rules"]) == 0
    assert "same(v1_x, v1_y), stored, duplicate check" in capsys.readouterr().out


def test_the_picture_goes_to_a_file(folder: Path) -> None:
    assert main(["graph", "same.dl", "-o", "out.svg"]) == 0
    root = ElementTree.fromstring((folder / "out.svg").read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_every_box_of_the_picture_has_a_title_and_its_text() -> None:
    graph = application_graph(checked_program(SAME_GENERATION))
    root = ElementTree.fromstring(draw_graph(graph))
    boxes = [group for group in root.findall(".//{*}g") if group.find("{*}title") is not None]
    shown = ["".join(group.itertext()) for group in boxes]
    assert len(boxes) == len(graph.facts) + len(graph.rules)
    assert sum(" removed" in group.get("class", "") for group in boxes) == 2
    assert any("same(v_same_x, v_same_y)" in text and "duplicate check" in text for text in shown)
    assert any("conflict: values are copied first" in text for text in shown)


def test_marks_of_xml_and_dot_in_a_program_are_only_text() -> None:
    graph = application_graph(checked_program(AWKWARD))
    texts = "".join(ElementTree.fromstring(draw_graph(graph)).itertext())
    assert 'p("<b> & \\"quoted\\" \\\\ back")' in texts
    assert '\\"<b> & \\\\\\"quoted\\\\\\" \\\\\\\\ back\\"' in print_dot(graph)


def test_dot_has_a_node_and_an_edge_for_each_of_the_graph() -> None:
    lines = print_dot(application_graph(checked_program(SAME_GENERATION))).splitlines()
    assert "  f0 -> r2;" in lines
    assert "  r2 -> f0;" in lines
    assert '  r1 -> f1 [style=dashed, color="#aaaaaa"];' in lines
    assert sum(" -> " in line for line in lines) == 4


def test_an_empty_program_has_an_empty_graph(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.dl").write_text("", encoding="utf-8")
    assert main(["graph", "empty.dl"]) == 0
    assert "0 symbolic facts, 0 rule applications" in capsys.readouterr().out
    assert main(["graph", "empty.dl", "--format", "svg"]) == 0
    ElementTree.fromstring(capsys.readouterr().out)


def test_a_rule_without_a_node_is_named() -> None:
    text = '.decl p(x: symbol)\n.decl h(x: symbol)\n.output h\np("a").\nh(x) :- p(x), x = "b".\n'
    shown = print_graph(application_graph(checked_program(text)))
    (block,) = [part for part in shown.split("\n\n") if part.startswith("rules that apply to nothing")]
    assert block.endswith('h(x) :- p(x), x = "b".')


def test_an_unknown_format_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "same.dl", "--format", "png"]) == 2
    assert "invalid choice: 'png'" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "same.dl", "-o", "no/such/folder.svg"]) == 3
    assert capsys.readouterr().err == "error: no/such/folder.svg: cannot be written: No such file or directory\n"


def test_a_program_with_errors_is_reported_and_nothing_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("wrong.dl").write_text(".decl p(x: number)\np(x) :- q(x).\n", encoding="utf-8")
    assert main(["graph", "wrong.dl", "-o", "out.txt"]) == 1
    assert "wrong.dl:2:9: error[D" in capsys.readouterr().err
    assert not Path("out.txt").exists()


def test_a_program_that_is_not_there_is_an_error() -> None:
    assert main(["graph", "none.dl"]) == 3
