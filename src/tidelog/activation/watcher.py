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
                each.relation: _form(at, each, self.index.width) for at, each in enumerate(self.index.schemas)
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
        form.write(*(row if form.are_numbers else self._codes_of(row, form)))
        found = self.index.apply_one(form.coming)
        return [] if found is None else self.read(self._heads.count(found))

    def delete(self, relation: str, row: Sequence[Value]) -> list[Match]:
        """What ends and begins when this tuple goes."""
        form = self._forms[relation]
        form.write(*(row if form.are_numbers else self._codes_of(row, form)))
        found = self.index.apply_one(form.going)
        return [] if found is None else self.read(self._heads.count(found))

    def read(self, matches: Matches) -> list[Match]:
        """`matches` as Python values."""
        watches = matches.rules.tolist()
        rows: dict[int, Row] = {}
        for watch in set(watches):
            kinds = self._kinds[watch]
            places = np.flatnonzero(matches.rules == watch)
            rows.update(zip(places.tolist(), self.codes.rows(matches.heads[places], kinds), strict=True))
        begin = (matches.signs > 0).tolist()
        return [
            Match(watch, rows[at], begin[at], arrival)
            for at, (watch, arrival) in enumerate(zip(watches, matches.arrivals.tolist(), strict=True))
        ]

    def _codes_of(self, row: Sequence[Value], form: _Form) -> list[int]:
        return [self.codes.of_value(value, kind) for value, kind in zip(row, form.kinds, strict=True)]


@dataclass(frozen=True, slots=True)
class _Form:
    """One tuple of a relation as an arrival that comes and one that goes, made once; `write` puts codes into both.

    They are written as bytes, all at once: it takes half as long as one by one, and a quarter of what an array takes.
    """

    coming: ArrivalArrays
    going: ArrivalArrays
    write: Callable[..., None]
    kinds: tuple[Kind, ...]
    are_numbers: bool


def _form(number: int, schema: Schema, width: int) -> _Form:
    relation, row = np.full(1, number, np.int32), np.zeros((1, width), np.int64)
    coming, going = ((relation, np.full(1, sign, np.int8), row) for sign in (1, -1))
    write = partial(Struct(f"{schema.arity}q").pack_into, memoryview(row[0]), 0)
    return _Form(coming, going, write, schema.kinds, set(schema.kinds) <= {Kind.NUMBER})
