"""Everything Tidelog raises, and the diagnostics that a check yields.

TidelogError
├── ProgramError        the text of a program is wrong (carries every diagnostic)
├── InputError          a fact or a file of facts cannot be read
├── OutputError         an answer cannot be written
├── EvaluationError     a rule has no value for some row (division by zero, overflow)
├── LimitError          a limit on rounds, rows, time or memory was reached
│   └── OscillationError  production rules came back to a state they had been in, and would do so for ever
├── StateError          the state of a pipeline cannot be read or written: damaged, newer, of another program
│   └── ConflictError   another writer committed first; nothing was changed
└── UsageError          a call that cannot be taken: unknown relation, wrong arity, closed session
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tidelog.span import Span


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that explains a diagnostic, such as the first of two declarations."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a program: what, where, and what to do.

    Codes: D1xx syntax, D2xx names, D3xx types, D4xx safety, D5xx strata, D6xx warnings, D7xx rules that act, D8xx
    rules that are watched.
    """

    code: str
    message: str
    span: Span
    hint: str = ""
    severity: Severity = Severity.ERROR
    notes: tuple[Note, ...] = ()


class TidelogError(Exception):
    """The root of everything Tidelog raises on purpose; `exit_code` is what the command line ends with."""

    exit_code = 1


class ProgramError(TidelogError):
    """A program that cannot be run. `diagnostics` has every finding, in order of place."""

    exit_code = 1

    def __init__(self, diagnostics: Sequence[Diagnostic], texts: Mapping[str, str]) -> None:
        self.diagnostics = tuple(sorted(diagnostics, key=lambda finding: finding.span))
        self.texts = dict(texts)
        super().__init__(render_all(self.diagnostics, self.texts))


class UsageError(TidelogError):
    exit_code = 2


class InputError(TidelogError):
    """Facts that cannot be read: says the file, the line and column where there is one, and what was expected."""

    exit_code = 3

    def __init__(self, message: str, file: str = "", line: int = 0, column: int = 0) -> None:
        self.message, self.file, self.line, self.column = message, file, line, column
        place = ":".join([file, *(str(part) for part in (line, column) if part)]) if file else ""
        super().__init__(f"{place}: {message}" if place else message)


class OutputError(TidelogError):
    exit_code = 3


class EvaluationError(TidelogError):
    """A rule that has no value for some row; `span` is the expression."""

    exit_code = 4

    def __init__(self, message: str, span: Span) -> None:
        self.message, self.span = message, span
        super().__init__(f"{span}: {message}")


class LimitError(TidelogError):
    """A limit was reached; the message names the rule or relation and how to raise the limit."""

    exit_code = 5


class OscillationError(LimitError):
    """Production rules came back to a state they had been in; the message shows the firings that lead there."""


class StateError(TidelogError):
    """The state of a pipeline that cannot be read or written; the message names the place and what to do."""

    exit_code = 6


class ConflictError(StateError):
    """Another writer committed first: nothing was changed, and the caller may read the new version and try again."""


def render(diagnostic: Diagnostic, texts: Mapping[str, str]) -> str:
    """`diagnostic` as a person reads it: place, line of text, caret, hint."""
    lines = [f"{diagnostic.span}: {diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}"]
    lines += excerpt(diagnostic.span, texts)
    for note in diagnostic.notes:
        lines.append(f"  note: {note.span}: {note.message}")
        lines += excerpt(note.span, texts)
    if diagnostic.hint:
        lines.append(f"  hint: {diagnostic.hint}")
    return "\n".join(lines)


def excerpt(span: Span, texts: Mapping[str, str]) -> list[str]:
    """The line of text at `span` with carets below it; nothing when the text is not at hand."""
    lines = texts.get(span.file, "").splitlines()
    if not 1 <= span.line <= len(lines):
        return []
    line = lines[span.line - 1]
    end = span.end_column if span.end_line == span.line else len(line) + 1
    number = str(span.line)
    pad = "".join("\t" if letter == "\t" else " " for letter in line[: span.column - 1])
    return [f" {number} | {line}", f" {' ' * len(number)} | {pad}{'^' * max(1, end - span.column)}"]


def render_all(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> str:
    """Every diagnostic rendered, a blank line between them."""
    return "\n\n".join(render(diagnostic, texts) for diagnostic in diagnostics)
