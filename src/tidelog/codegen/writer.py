"""Lines of source text with their indentation, and names for what the text speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from keyword import kwlist
from typing import assert_never

from tidelog.codegen.operands import (
    AgedBlocks,
    Asked,
    Blocks,
    ChangedKeys,
    Gathered,
    Identity,
    Interning,
    Known,
    NumberedRows,
    Numbers,
    Operand,
    RowNumbers,
    RowsOf,
    RunsOf,
    Scratch,
    Sink,
    Spans,
    Words,
)
from tidelog.kernels.generated import NAMESPACE

_INDENT = "    "

MOST_LOOPS, MOST_BLOCKS = 20, 90
"""Loops, and blocks of any kind, one inside the other, that Python takes: of blocks 99, some of which are its own."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line of the text stands."""

    number: int
    depth: int


class Writer:
    """Collects lines, and operands in order of first use."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.operands: dict[Operand, str] = {}
        self._depth = 1
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def line(self, text: str) -> None:
        self.lines.append(_INDENT * self._depth + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """What is written inside stands below `opening`, indented."""
        self.line(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def open(self, opening: str) -> None:
        """What is written from here on stands below `opening`, to the end."""
        self.line(opening)
        self._depth += 1

    @property
    def place(self) -> Place:
        """Where the next line stands."""
        return Place(len(self.lines), self._depth)

    def go_back_to(self, place: Place) -> None:
        """What is written from here on stands outside of all that was opened behind `place`."""
        self._depth = place.depth

    def insert(self, text: str, place: Place) -> None:
        """A line where another one was to stand."""
        self.lines.insert(place.number, _INDENT * place.depth + text)

    @property
    def too_deep(self) -> str | None:
        """What is too much for Python about the text, if anything."""
        loops: list[int] = []
        for line in self.lines:
            depth = (len(line) - len(line.lstrip())) // len(_INDENT)
            while loops and loops[-1] >= depth:
                loops.pop()
            if line.lstrip().startswith(("for ", "while ")):
                loops.append(depth)
            if len(loops) > MOST_LOOPS:
                return f"more than {MOST_LOOPS} loops one inside the other"
            if depth > MOST_BLOCKS:
                return f"more than {MOST_BLOCKS} conditions one inside the other"
        return None

    def call(self, kernel: str, *arguments: str) -> str:
        """The text of a call."""
        return f"{kernel}({', '.join(arguments)})"

    def operand(self, operand: Operand) -> tuple[str, ...]:
        """The parameters of an operand."""
        if operand not in self.operands:
            self.operands[operand] = self.fresh(_stem(operand))
        return parameters(operand, self.operands[operand])

    def variable(self, name: str) -> str:
        """The Python variable that holds the id of a variable of the rule."""
        if name not in self._names:
            self._names[name] = self.fresh(re.sub(r"\W", "_", name))
        return self._names[name]

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        stem = stem if stem.isidentifier() and not stem.startswith("_") else f"v{stem}"
        name, number = stem, 1
        while name in self._taken or name in RESERVED:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name


RESERVED = frozenset({*kwlist, *NAMESPACE, "begin", "end", "mine", "row", "range"})


def parameters(operand: Operand, stem: str) -> tuple[str, ...]:
    """The parameters that an operand of that name becomes."""
    return tuple(f"{stem}_{part}" for part in operand.parts)


def _stem(operand: Operand) -> str:
    """What the parameters of an operand are named after."""
    match operand:
        case RowsOf(relation, version):
            words = [relation, version.value]
        case RunsOf(relation):
            words = [relation, "runs"]
        case Blocks(relation, key):
            words = [relation, "by", *map(str, key)]
        case Words(relation, column, version):
            words = [relation, version.value, "words", "by", str(column)]
        case ChangedKeys(relation, column):
            words = [relation, "delta", "by", str(column)]
        case Known(relation):
            words = [relation, "known"]
        case Sink(relation):
            words = [relation, "sink"]
        case Numbers(kind):
            words = [kind.value]
        case Interning(kind):
            words = ["new", kind.value]
        case Identity(kind):
            words = ["constant", kind.value]
        case Scratch():
            words = ["scratch"]
        case Asked(relation):
            words = [relation, "asked"]
        case NumberedRows(relation):
            words = [relation, "marked"]
        case AgedBlocks(relation, column):
            words = [relation, "aged", "by", str(column)]
        case RowNumbers(relation):
            words = [relation, "numbered"]
        case Spans(relation):
            words = [relation, "spans"]
        case Gathered(relation, column):
            words = [relation, str(column), "gathered"]
        case _:
            assert_never(operand)
    return re.sub(r"\W", "_", "_".join(words))
