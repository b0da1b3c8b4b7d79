"""Places in a user's text: every rule, literal and term knows its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A piece of a file, from (line, column) up to but not including (end_line, end_column); both count from 1."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, end: Span) -> Span:
        """The span from the start of this one to the end of `end`."""
        return Span(self.file, self.line, self.column, end.end_line, end.end_column)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


NOWHERE = Span("<python>", 0, 0, 0, 0)
"""The place of what was built in Python and not read from a text."""
