"""What generated code is handed: arrays of the engine, each described by what it holds.

An operand becomes one parameter or several, named after it: `parts` has the last piece of each name and the form of
what is handed over, an array's dtype, dimensions and layout, nothing for a number. Who runs the code binds arrays to
them in that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidelog.plan.nodes import Version
from tidelog.schema import Kind, Value

Form: TypeAlias = list[Any]
IDS: Form = ["int32", 1, "C"]
ROWS: Form = ["int32", 2, "C"]
LONGS: Form = ["int64", 1, "C"]
WORDS: Form = ["uint64", 1, "C"]
BYTES: Form = ["uint8", 1, "C"]
NUMBER: Form = []


@dataclass(frozen=True, slots=True)
class RowsOf:
    """The rows of one version of a relation, oldest first."""

    relation: str
    version: Version

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"rows": ROWS}


@dataclass(frozen=True, slots=True)
class RunsOf:
    """The rows of a delta of pairs, those with the same first id side by side as far as that pays."""

    relation: str

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"rows": ROWS}


@dataclass(frozen=True, slots=True)
class Blocks:
    """The rows of a relation by some columns: the other columns of a key lie side by side (see `kernels.blocks`).

    Keys of more than one column are numbered first: `slots` and `groups` find the number.
    """

    relation: str
    key: tuple[int, ...]

    @property
    def parts(self) -> Mapping[str, Form]:
        numbering = {"slots": LONGS, "groups": ROWS} if len(self.key) > 1 else {}
        return {"starts": IDS, "olds": IDS, "counts": IDS, "payload": ROWS, **numbering}


@dataclass(frozen=True, slots=True)
class Words:
    """Pairs by one column, the other ids of a key as words of bits, FULL or DELTA (see `kernels.word_rows`)."""

    relation: str
    key: int
    version: Version

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"starts": IDS, "counts": IDS, "sizes": IDS, "words": IDS, "bits": LONGS}


@dataclass(frozen=True, slots=True)
class ChangedKeys:
    """The values of one column of a relation of pairs that occur in its delta, each once."""

    relation: str
    key: int

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"keys": IDS}


@dataclass(frozen=True, slots=True)
class Known:
    """The set of a relation's rows, to ask whether one is there."""

    relation: str
    width: int

    @property
    def parts(self) -> Mapping[str, Form]:
        match self.width:
            case 1:
                return {"seen": BYTES}
            case 2:
                return {"entries": LONGS, "cells": LONGS, "width": NUMBER}
            case _:
                return {"slots": LONGS, "rows": ROWS}


@dataclass(frozen=True, slots=True)
class Sink:
    """Where new rows of the head go (see `kernels.push`)."""

    relation: str
    width: int

    @property
    def parts(self) -> Mapping[str, Form]:
        match self.width:
            case 1:
                return {"seen": BYTES, "out": IDS, "counters": LONGS}
            case 2:
                return {
                    "entries": LONGS, "cells": LONGS, "width": NUMBER, "out": LONGS, "waiting": LONGS, "counters": LONGS
                }  # fmt: skip
            case _:
                return {
                    "slots": LONGS, "rows": ROWS, "waiting": ROWS, "columns": LONGS, "numbers": IDS, "counters": LONGS
                }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers behind the ids of a kind."""

    kind: Kind

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"numbers": ["float64" if self.kind is Kind.FLOAT else "int64", 1, "C"]}


@dataclass(frozen=True, slots=True)
class Interning:
    """What gives ids to numbers of a kind."""

    kind: Kind

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"slots": IDS, "values": WORDS, "count": LONGS}


@dataclass(frozen=True, slots=True)
class Identity:
    """The id of a constant."""

    kind: Kind
    value: Value

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"id": NUMBER}


@dataclass(frozen=True, slots=True)
class Scratch:
    """A row of that many ids to write to, the columns from 0 on, and room for one number."""

    width: int

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"row": ROWS, "columns": LONGS, "number": IDS}


@dataclass(frozen=True, slots=True)
class Asked:
    """The marked rows of a relation, which of them have an answer and, where it `is_numbered`, their numbers."""

    relation: str
    is_numbered: bool

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"rows": ROWS, "answered": BYTES, **({"numbers": IDS} if self.is_numbered else {})}


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """The marked rows of a relation, which are stored, and their numbers."""

    relation: str

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"rows": ROWS, "numbers": IDS}


@dataclass(frozen=True, slots=True)
class AgedBlocks:
    """The rows of a relation by one column, as `Blocks`, with the number of the row behind the other columns."""

    relation: str
    key: int

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"starts": IDS, "counts": IDS, "payload": ROWS}


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """What finds the number of a row of a relation: an array of pairs, or a table of rows."""

    relation: str
    is_array: bool

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"numbers": ROWS} if self.is_array else {"slots": LONGS, "rows": ROWS}


@dataclass(frozen=True, slots=True)
class Spans:
    """The ages of a relation's rows (see `kernels.ages`)."""

    relation: str

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"starts": IDS, "ages": IDS}


@dataclass(frozen=True, slots=True)
class Gathered:
    """Room to gather ids of a column of a relation in (see `kernels.gather`)."""

    relation: str
    column: int

    @property
    def parts(self) -> Mapping[str, Form]:
        return {"cells": LONGS, "words": IDS, "bits": LONGS}


Operand: TypeAlias = (
    RowsOf
    | RunsOf
    | Blocks
    | Words
    | ChangedKeys
    | Known
    | Sink
    | Numbers
    | Interning
    | Identity
    | Scratch
    | Asked
    | NumberedRows
    | AgedBlocks
    | RowNumbers
    | Spans
    | Gathered
)


@dataclass(frozen=True, slots=True)
class PushedRule:
    """A rule as source text: one function that pushes each row it starts from to the head.

    Its parameters are those of `operands`, then `begin` and `end`: which rows of `start` to take. It returns `end`, or
    the number of the row at which it stopped because something had no room: it is to be called again from there. A
    result below 0 is the complement of the number of a row for which an expression has no value.

    Where threads share the pairs of a head, `mine` comes last: the ids that are the thread's own (`shared_push`). Only
    pairs that begin with one of these are pushed. Where it `keeps_first`, each row to start from has the first id of
    all pairs that follow from it, and is left out at once.
    """

    source: str
    operands: tuple[Operand, ...]
    start: RowsOf | RunsOf | ChangedKeys
    is_divided: bool = False
    keeps_first: bool = False

    @property
    def gives_ids(self) -> bool:
        """Whether it gives ids to values, which only one thread can do at a time."""
        return any(isinstance(operand, Interning) for operand in self.operands)

    @property
    def forms(self) -> list[Form]:
        """The forms of all arguments."""
        last = [NUMBER, NUMBER, *([LONGS] if self.is_divided else [])]
        return [form for operand in self.operands for form in operand.parts.values()] + last


@dataclass(frozen=True, slots=True)
class NotPushed:
    """Why there is no code for a rule. Some need none."""

    reason: str
    needs_none: bool = False
