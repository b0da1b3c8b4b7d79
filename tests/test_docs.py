"""README and docs say what happens: every code block of every page is run.

A page runs in a folder of its own that holds `examples/`, its blocks from top to bottom:

* a block whose opening fence names a file (```` ```datalog reach.dl ````) writes that file;
* `python` blocks share one namespace; lines with `>>>` must print what stands below them;
* `sh` blocks: `$ tidelog …` runs in this process, `$ cat FILE` and `$ echo $?` do what they say, and what stands
  below must come out (`...` stands for anything; nothing below means: only the exit code must be 0).
  `$ make …` is not run;
* a `datalog` block without a file must pass `tidelog.check`.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import tidelog
from tidelog.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
STARTS_SPARK = ("start_session", "tidelog.spark", "tidelog pipeline")
COMPARE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    language: str
    file: str
    text: str
    line: int


def blocks_of(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for found in re.finditer(r"^```(\w+)[ ]*(\S*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(found[1], found[2], found[3], text.count("\n", 0, found.start()) + 1)


def page_to_run(page: Path) -> object:
    """The page as a parameter, marked when a block of it starts Spark."""
    texts = [block.text for block in blocks_of(page.read_text(encoding="utf-8"))]
    starts = any(word in text for text in texts for word in STARTS_SPARK)
    return pytest.param(page, marks=[pytest.mark.spark] if starts else [])


@pytest.mark.parametrize("page", [*map(page_to_run, PAGES)], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_code_block_does_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks_of(page.read_text(encoding="utf-8")):
        place = f"{page.relative_to(ROOT)}:{block.line}"
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run_python(block, names, place)
        elif block.language == "sh":
            run_shell(block.text, place)
        elif block.language == "datalog":
            tidelog.check(tidelog.parse(block.text, file=place))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    known, new = set(), {index}
    while new:
        known |= new
        new = {target for page in new for target in pages_linked(page)} - known
    assert set((ROOT / "docs").rglob("*.md")) - known == set()


def pages_linked(page: Path) -> Iterator[Path]:
    for target in re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        yield (page.parent / target).resolve()


def test_the_readme_names_every_folder_of_the_source() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "src" / "tidelog").glob("*/__init__.py")}
    assert {folder for folder in folders if f"{folder}/" not in readme} == set()


def run_python(block: Block, names: dict[str, object], place: str) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, place, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, place, place, block.line)
    report = io.StringIO()
    doctest.DocTestRunner(optionflags=COMPARE, verbose=False).run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert not report.getvalue(), report.getvalue()


def run_shell(text: str, place: str) -> None:
    code = 0
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        words = shlex.split(command)
        match words:
            case ["tidelog", *arguments]:
                code, printed = run_tidelog(arguments)
                assert expected or code == 0, f"{place}: {command}: {printed}"
            case ["cat", file]:
                printed = Path(file).read_text(encoding="utf-8")
            case ["echo", "$?"]:
                printed = f"{code}\n"
            case ["make", *_]:
                continue
            case _:
                raise AssertionError(f"{place}: this test does not know how to run '{command}'")
        if expected:
            assert doctest.OutputChecker().check_output(expected, printed, COMPARE), f"{place}: {command}\n{printed}"


def run_tidelog(arguments: list[str]) -> tuple[int, str]:
    """The exit code of the command and all it printed."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    with redirect_stdout(printed), redirect_stderr(printed):
        code = main(arguments)
    printed.seek(0)
    return code, printed.read()


def test_no_diagnostic_code_is_missing_from_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "diagnostics.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    missing = set(re.findall(r'"(D[1-8]\d\d)"', sources)) - set(re.findall(r"D\d\d\d", page))
    assert not missing


def test_no_public_name_is_missing_from_the_reference() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert {name for name in tidelog.__all__ if not re.search(rf"\b{name}\b", pages)} == set()
