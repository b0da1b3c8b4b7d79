"""The cases under `cases/<topic>/<name>`: a program, its facts, and the rows or the error that are expected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from explicit_facts import Step, read_step
from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.language.parser import parse_file
from tidelog.language.syntax_tree import Directive
from tidelog.schema import Kind, Row, Schema, Value

ROOT = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One folder of `cases`.

    `expected/<relation>.csv` is tab separated, without a header, its lines sorted; `()` is the row without columns.
    `expected/error` has the place and a part of the message: `5:19 division by zero`.
    Where there are changes, `changes/01.changes` has lines such as `+edge(1,2).` and `expected/01/<relation>.csv` the
    rows after it; what stands directly in `expected/` are the rows before the first of them.
    A change with `expected/01/error` is refused, and the next one goes on from what was before.
    """

    folder: Path

    def __str__(self) -> str:
        return str(self.folder.relative_to(ROOT))

    @property
    def program_path(self) -> Path:
        return self.folder / "program.dl"

    @property
    def facts_folder(self) -> Path:
        return self.folder / "facts"

    @property
    def expected_error(self) -> str | None:
        """The place and a part of the message of the error, or None where rows are expected."""
        return self.expected_error_of(".")

    def expected_error_of(self, change: str) -> str | None:
        """The place and a part of the message of the error of that change, or None where it can be made."""
        path = self.folder / "expected" / change / "error"
        return path.read_text(encoding="utf-8").strip() if path.exists() else None

    def checked(self) -> CheckedProgram:
        return check(parse_file(self.program_path))

    def facts(self, checked: CheckedProgram) -> dict[str, list[Row]]:
        """The rows that the `.input` directives of the program ask for."""
        return {
            relation: read_rows(
                self.facts_folder / file_name(directive, relation), checked.schemas[relation], separator
            )
            for directive in checked.inputs
            for separator in [directive.parameter("delimiter", "\t")]
            for relation in directive.relations
        }

    def expected(self, checked: CheckedProgram, after: str = ".") -> dict[str, list[Row]]:
        """The expected rows of each relation that has a file, at the start or `after` a change."""
        paths = sorted((self.folder / "expected" / after).glob("*.csv"))
        return {path.stem: read_rows(path, checked.schemas[path.stem], "\t") for path in paths}

    def changes(self, checked: CheckedProgram) -> dict[str, Step]:
        """The changes in order, by the names of their files."""
        paths = sorted((self.folder / "changes").glob("*.changes"))
        return {path.stem: read_step(path.read_text(encoding="utf-8"), checked) for path in paths}


def all_cases() -> list[Case]:
    """Every case, in order of its name."""
    return [Case(path.parent) for path in sorted(ROOT.glob("*/*/program.dl"))]


def file_name(directive: Directive, relation: str) -> str:
    return directive.parameter("filename", f"{relation}.facts")


def read_rows(path: Path, schema: Schema, separator: str) -> list[Row]:
    """The rows of a file, each value of the kind of its column."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [read_row(line, schema, separator) for line in lines]


def read_row(line: str, schema: Schema, separator: str) -> Row:
    if not schema.arity:
        assert line == "()"
        return ()
    return tuple(map(read_value, line.split(separator), schema.kinds))


def read_value(text: str, kind: Kind) -> Value:
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return int(text)
        case Kind.FLOAT:
            return float(text)
        case Kind.SYMBOL:
            return text
