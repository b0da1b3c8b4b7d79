"""Takes rules to watch and tuples as they come and go, returns the rows of each rule's head that begin and end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from struct import Struct

import numpy as np
import pyarrow as pa

from tidelog.activation.codes import Codes
from tidelog.activation.head_counts import HeadCounts
from tidelog.activation.protocol import Arrivals, Matches
from tidelog.activation.watch_rule import WatchRule
from tidelog.activation.yield_index import ArrivalArrays, YieldIndex
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
        self._forms: dict[str, _Form] = {}

    def add_relation(self, schema: Schema, rows: pa.Table | None = None) -> None:
        """Makes a relation known, with the rows that it has already."""
        if schema.relation not in self.index.relations:
            self.index.add_relation(schema)
            self._forms = {
                each.relation: _form(at, each, self.index.width, self.codes)
                for at, each in enumerate(self.index.schemas)
            }
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
        form = self._forms[relation]
        form.write(*row)
        found = self.index.apply_one(form.coming)
        return [] if found is None else self.read(self._heads.count(found))

    def delete(self, relation: str, row: Sequence[Value]) -> list[Match]:
        """What ends and begins when this tuple goes."""
        form = self._forms[relation]
        form.write(*row)
        found = self.index.apply_one(form.going)
        return [] if found is None else self.read(self._heads.count(found))

    def read(self, matches: Matches) -> list[Match]:
        """`matches` as Python values."""
        watches = matches.rules.tolist()
        rows, signs, arrivals = self._rows(matches, set(watches)), matches.signs.tolist(), matches.arrivals.tolist()
        return [
            Match(watch, row, sign > 0, arrival)
            for watch, row, sign, arrival in zip(watches, rows, signs, arrivals, strict=True)
        ]

    def _rows(self, matches: Matches, watches: set[int]) -> list[Row]:
        """The rows of matches, of which there are some for each of `watches`."""
        if len(watches) == 1:
            return self.codes.rows(matches.heads, self._kinds[next(iter(watches))])
        rows: dict[int, Row] = {}
        for watch in watches:
            places = np.flatnonzero(matches.rules == watch)
            rows.update(zip(places.tolist(), self.codes.rows(matches.heads[places], self._kinds[watch]), strict=True))
        return [rows[at] for at in range(len(matches))]


@dataclass(frozen=True, slots=True)
class _Form:
    """One tuple of a relation as an arrival that comes and one that goes, made once; `write` puts values into both."""

    coming: ArrivalArrays
    going: ArrivalArrays
    write: Callable[..., None]


def _form(number: int, schema: Schema, width: int, codes: Codes) -> _Form:
    relation, row = np.full(1, number, np.int32), np.zeros((1, width), np.int64)
    coming, going = ((relation, np.full(1, sign, np.int8), row) for sign in (1, -1))
    # As bytes, all at once: half as long as one by one, and a quarter of what it takes to write into an array.
    write = partial(Struct(f"{schema.arity}q").pack_into, memoryview(row[0]), 0)

    def write_codes(*values: Value) -> None:
        write(*(codes.of_value(value, kind) for value, kind in zip(values, schema.kinds, strict=True)))

    return _Form(coming, going, write if set(schema.kinds) <= {Kind.NUMBER} else write_codes)
