"""Which rows came before or after the row that a question is about, in generated text.

Rows are numbered in the order in which they came. So that is asked by their numbers alone: how many rows of a
relation came before is known when loops begin.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.codegen.operands import Spans
from tidelog.codegen.writer import Writer


class Ages:
    """Compares with the row of `relation` whose number the text `number` stands for."""

    def __init__(self, writer: Writer, relation: str, number: str) -> None:
        self._writer = writer
        self._relation = relation
        self._number = writer.fresh("number")
        self._befores: dict[str, str] = {}
        writer.line(f"{self._number} = {number}")

    def find(self, relations: Iterable[str]) -> None:
        """Writes how many rows of these relations came before."""
        writer = self._writer
        others = sorted({*relations} - {self._relation})
        if not others:
            return
        age = writer.fresh("age")
        writer.line(f"{age} = {writer.call('age_of', *writer.operand(Spans(self._relation)), self._number)}")
        for relation in others:
            self._befores[relation] = writer.fresh("before")
            spans = writer.operand(Spans(relation))
            writer.line(f"{self._befores[relation]} = {writer.call('rows_before', *spans, age)}")

    def is_older(self, relation: str, number: str) -> str:
        """Text for whether a row is there (its number is not -1) and came before."""
        return f"0 <= {number} < {self._befores.get(relation, self._number)}"

    def is_younger(self, relation: str, number: str) -> str:
        """Text for whether a row is there and came after; no two rows are of the same age."""
        if relation == self._relation:
            return f"{number} > {self._number}"
        return f"{number} >= {self._befores[relation]}"
