"""The rows of an atom in generated text: where they are, and which of them agree with what is bound."""

from __future__ import annotations

from typing import Protocol

from tidelog.codegen.operands import Blocks, Identity, Known, RowNumbers, RowsOf, Scratch
from tidelog.codegen.writer import Writer
from tidelog.language.syntax_tree import Constant
from tidelog.plan.nodes import Scan, Version


class Surroundings(Protocol):
    """What a generator asks about the relations of a program."""

    def width(self, relation: str) -> int:
        """How many columns the rows of a relation have, 1 for one without any."""
        ...

    def is_stored(self, relation: str) -> bool:
        """Whether the rows of a relation are stored, not kept as a closure."""
        ...

    def is_rarer(self, one: tuple[str, int], other: tuple[str, int]) -> bool:
        """Whether one column of a relation has less than half as many different ids as another."""
        ...

    def has_long_rows(self, relation: str, key: int) -> bool:
        """Whether a key of a relation of pairs has so many ids that words of bits pay."""
        ...

    def has_few_ids(self, relation: str, column: int) -> bool:
        """Whether a column has so few different ids that a bit for each fits into a near cache."""
        ...

    def has_several(self, relation: str, key: int) -> bool:
        """Whether a key of a relation of pairs has more than one row on average."""
        ...

    def short_column(self, relation: str) -> int | None:
        """The column by which a whole row is best looked for: each of its ids has few rows. None if that is the set."""
        ...

    def numbers_pairs(self, relation: str) -> bool:
        """Whether the numbers of the rows of a relation of pairs are in one array."""
        ...


class Atoms:
    """Writes what finds rows of atoms for a rule with that `head`. `bound` are the names that have a value by then."""

    def __init__(self, writer: Writer, surroundings: Surroundings, head: str) -> None:
        self._writer = writer
        self._surroundings = surroundings
        self._head = head
        self.bound: set[str] = set()

    def key(self, scan: Scan) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The columns of a scan that are known already, and text for their ids."""
        columns, texts = [], []
        for number, column in enumerate(scan.columns):
            if isinstance(column, Constant):
                assert column.kind is not None
                columns.append(number)
                texts.append(self._writer.operand(Identity(column.kind, column.value))[0])
            elif column is not None and column in self.bound:
                columns.append(number)
                texts.append(self._writer.variable(column))
        return tuple(columns), tuple(texts)

    def presence(self, scan: Scan) -> str:
        """Text for whether a row of the scan agrees with what is bound."""
        key, texts = self.key(scan)
        if len(key) == len(scan.columns) and scan.version is Version.FULL:
            return self._is_known(scan.relation, texts)
        if not key:
            (rows,) = self._writer.operand(RowsOf(scan.relation, scan.version))
            return f"{rows}.shape[0] > 0"
        low, high = self.block(scan, key, texts)
        return f"{low} < {high}"

    def _is_known(self, relation: str, texts: tuple[str, ...]) -> str:
        width = self._surroundings.width(relation)
        short = self._surroundings.short_column(relation) if width == 2 else None
        if short is not None and relation != self._head:
            low, high = self.block(Scan(relation, (None, None)), (short,), (texts[short],))
            payload = self._writer.operand(Blocks(relation, (short,)))[3]
            return self._writer.call("is_in_block", texts[1 - short], payload, low, high)
        known = self._writer.operand(Known(relation, width))
        if width == 1:
            return self._writer.call("has_id", *(texts or ("0",)), *known)
        if width == 2:
            return self._writer.call("has_pair", *texts, *known)
        return f"{self.row_number(texts, known)} >= 0"

    def number(self, scan: Scan, texts: tuple[str, ...]) -> str:
        """Text for the number of a row of a relation, -1 where it is not stored."""
        is_array = self._surroundings.numbers_pairs(scan.relation)
        numbers = self._writer.operand(RowNumbers(scan.relation, is_array))
        if is_array:
            return self._writer.call("number_of_pair", *texts, *numbers)
        return self.row_number(texts, numbers)

    def row_number(self, texts: tuple[str, ...], numbered: tuple[str, ...]) -> str:
        """Text for the number of a row among numbered ones."""
        row, columns, number = self._writer.operand(Scratch(len(texts)))
        for column, text in enumerate(texts):
            self._writer.line(f"{row}[0, {column}] = {text}")
        return self._writer.call("number_of_row", row, *numbered, columns, number)

    def block(self, scan: Scan, key: tuple[int, ...], texts: tuple[str, ...]) -> tuple[str, str]:
        """Writes where the rows of a key begin and end; the names of both."""
        writer = self._writer
        starts, olds, counts, _, *numbering = writer.operand(Blocks(scan.relation, key))
        low, high = writer.fresh("low"), writer.fresh("high")
        group = texts[0]
        if numbering:
            group = writer.fresh("group")
            writer.line(f"{group} = {self.row_number(texts, tuple(numbering))}")
        writer.line(f"{low} = {high} = np.int64(0)")
        with writer.block(f"if 0 <= {group} < {starts}.size:"):
            writer.line(f"{low} = np.int64({starts}[{group}])")
            writer.line(f"{high} = {low} + {olds if scan.version is Version.OLD else counts}[{group}]")
            if scan.version is Version.DELTA:
                writer.line(f"{low} += {olds}[{group}]")
        return low, high

    def agree(self, scan: Scan, places: dict[int, str]) -> None:
        """Goes on only where constants agree with the row."""
        conditions = [
            f"{places[number]} == {self._writer.operand(Identity(column.kind, column.value))[0]}"
            for number, column in enumerate(scan.columns)
            if isinstance(column, Constant) and column.kind is not None
        ]
        if conditions:
            self._writer.open(f"if {' and '.join(conditions)}:")

    def bind(self, scan: Scan, places: dict[int, str], needed: list[str] | None) -> None:
        """Gives the new names of a scan their values; goes on only where repeated names agree."""
        conditions = []
        for number, place in places.items():
            column = scan.columns[number]
            if isinstance(column, str) and (needed is None or column in needed):
                if column in self.bound:
                    conditions.append(f"{place} == {self._writer.variable(column)}")
                else:
                    self.bound.add(column)
                    self._writer.line(f"{self._writer.variable(column)} = {place}")
        if conditions:
            self._writer.open(f"if {' and '.join(conditions)}:")

    def note(self, scan: Scan, before: str = "") -> None:
        """Says in the text which atom the lines below are for."""
        columns = ", ".join("_" if column is None else _column_text(column) for column in scan.columns)
        version = "" if scan.version is Version.FULL else f", {scan.version.value}"
        self._writer.line(f"# {before}{scan.relation}({columns}){version}")


def new_columns(scan: Scan, key: tuple[int, ...]) -> dict[str, int]:
    """The first column of each name that `key` does not bind."""
    return {
        column: number
        for number, column in reversed(list(enumerate(scan.columns)))
        if isinstance(column, str) and number not in key
    }


def repeats(scan: Scan, name: str) -> bool:
    """Whether a name stands more than once in an atom."""
    return scan.columns.count(name) > 1


def _column_text(column: str | Constant) -> str:
    return column if isinstance(column, str) else repr(column.value)
