"""Takes rules to watch and tuples as they come and go, returns the rows of each rule's head that begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidelog.activation.codes import Codes
from tidelog.activation.head_counts import HeadCounts
from tidelog.activation.protocol import Arrivals, Matches
from tidelog.activation.watch_rule import WatchRule
from tidelog.activation.yield_index import YieldIndex
from tidelog.schema import Kind, Row, Schema, Value


@dataclass(frozen=True, slots=True)
class Match:
    """A row of a watch that begins or ends, with the number of the arrival that it begins or ends with."""

    watch: int
    row: Row
    begins: bool
    arrival: int


class Watcher:
    """Watches over one shared index. A row arrives as a tuple, a table of rows as a micro-batch."""

    def __init__(self) -> None:
        self.codes = Codes()
        self.index = YieldIndex(self.codes)
        self._heads = HeadCounts()
        self._kinds: list[tuple[Kind, ...]] = []
        self.rules: list[list[int]] = []
        self._one = _one_arrival(1)
        self._forms: dict[str, tuple[int, tuple[Kind, ...]]] = {}

    def add_relation(self, schema: Schema, rows: pa.Table | None = None) -> None:
        """Makes a relation known, with the rows that it has already."""
        if schema.relation not in self.index.relations:
            self._forms[schema.relation] = (self.index.add_relation(schema), schema.kinds)
            self._one = _one_arrival(self.index.width)
            if rows is not None:
                self.apply(self.arrivals(schema.relation, rows, 1))

    def add_watch(self, rules: Sequence[WatchRule], kinds: tuple[Kind, ...]) -> int:
        """The number of a watch over `rules`, which give rows of the same head; what holds already does not begin."""
        watch = self._heads.add_watch(len(kinds))
        self._kinds.append(kinds)
        self.rules.append([])
        for rule in rules:
            number = self.index.add_rule(rule)
            self.rules[watch].append(number)
            self._heads.add_rule(watch)
            self._heads.count(self.index.matches(number))
            self.index.statistics[number] = 0  # what is counted begins with the first arrival
        return watch

    def remove_watch(self, watch: int) -> None:
        """Ends a watch."""
        for rule in self.rules[watch]:
            self.index.remove_rule(rule)

    def arrivals(self, relation: str, rows: pa.Table, sign: int) -> Arrivals:
        """The rows of a relation as arrivals that come (`sign` 1) or go (-1)."""
        number = self.index.relations[relation]
        codes = np.zeros((rows.num_rows, self.index.width), np.int64)
        schema = self.index.schemas[number]
        codes[:, : schema.arity] = self.codes.of_table(rows, schema)
        return Arrivals(np.full(len(codes), number, np.int32), np.full(len(codes), sign, np.int8), codes)

    def apply(self, arrivals: Arrivals) -> Matches:
        """The rows of heads that begin and end with each arrival; `rules` has the numbers of their watches."""
        found = self.index.apply(arrivals)
        return self._heads.count(found) if len(found) else found

    def insert(self, relation: str, row: Sequence[Value]) -> list[Match]:
        """What begins and ends when this tuple comes. The values are known to fit."""
        return self._take_one(relation, row, 1)

    def delete(self, relation: str, row: Sequence[Value]) -> list[Match]:
        """What ends and begins when this tuple goes."""
        return self._take_one(relation, row, -1)

    def read(self, matches: Matches) -> list[Match]:
        """`matches` as Python values."""
        found: list[Match] = []
        for at in range(len(matches)):
            watch = int(matches.rules[at])
            kinds = self._kinds[watch]
            row = self.codes.rows(matches.heads[at : at + 1, : len(kinds)], kinds)[0]
            found.append(Match(watch, row, bool(matches.signs[at] > 0), int(matches.arrivals[at])))
        return found

    def _take_one(self, relation: str, row: Sequence[Value], sign: int) -> list[Match]:
        one = self._one
        number, kinds = self._forms[relation]
        one.relations[0] = number
        one.signs[0] = sign
        values = one.rows[0]
        for at, kind in enumerate(kinds):
            values[at] = row[at] if kind is Kind.NUMBER else self.codes.of_value(row[at], kind)
        found = self.index.apply(one)
        return self.read(self._heads.count(found)) if len(found) else []


def _one_arrival(width: int) -> Arrivals:
    return Arrivals(np.zeros(1, np.int32), np.ones(1, np.int8), np.zeros((1, width), np.int64))
