"""Relations that are the closure of another: kept in compact form, looked up like any other."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tidelog.analysis.checked import ClosureKind
from tidelog.backends.local.indexes import Index, Matches
from tidelog.facts.closure import Closure, End
from tidelog.facts.equivalence import SymmetricClosure
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Mask, Rows, RowSet
from tidelog.facts.relation import Relation
from tidelog.facts.transitive import TransitiveClosure
from tidelog.kernels.nodes import write_edges
from tidelog.plan.nodes import ClosedRelation, Version

Columns = npt.NDArray[np.int64]

_NO_EDGES = np.empty((0, 3), np.int32)

MOST_KEPT = 1 << 24
"""Pairs of one delta that are written out for whoever still holds it when the closure changes again."""


class ClosedTable:
    """The rows of a closed relation. Closures count groups; here is which number each group has."""

    def __init__(self, plan: ClosedRelation, arity: int) -> None:
        self._plan = plan
        self.arity = arity
        group = plan.closure
        self._ends = np.array([group.source, group.target])
        self._group = np.array(group.group, np.int64)
        self._closure: Closure
        self._closure = TransitiveClosure() if group.kind is ClosureKind.TRANSITIVE else SymmetricClosure()
        self._promised: list[weakref.ref[FactSet]] = []
        self._picture: Relation | None = None

    @cached_property
    def _groups(self) -> RowSet:
        """The groups by number, if there are any."""
        return RowSet(self._group.size)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self._closure.count

    @property
    def ends(self) -> tuple[int, int]:
        """The columns of source and target."""
        return int(self._ends[0]), int(self._ends[1])

    def update(self, came: FactSet, went: FactSet) -> tuple[FactSet, FactSet]:
        """Takes edges that came and went; returns the rows that appeared and vanished."""
        self._keep_promises()
        delta = self._closure.update(self._numbered(came.rows), self._numbered(went.rows))
        self._picture = None
        return (
            self._promise(delta.appeared_count, delta.appeared, delta.appeared_ends),
            self._promise(delta.vanished_count, delta.vanished, delta.vanished_ends),
        )

    def contains(self, rows: Rows) -> Mask:
        """Which of `rows` are there."""
        numbers = self._find_groups(rows, self._group)
        found = np.zeros(rows.shape[0], np.bool_)
        known = numbers >= 0
        triples = np.column_stack([numbers, rows[:, self._ends]])
        found[known] = self._closure.contains(np.ascontiguousarray(triples[known]))
        return found

    def facts(self) -> FactSet:
        """All rows, written out when somebody reads them; good until the next update."""
        return FactSet.later(self.size, self.arity, self.rows)

    def rows(self) -> Rows:
        """All rows."""
        pieces = list(self.pieces())
        return np.concatenate(pieces) if pieces else np.empty((0, self.arity), np.int32)

    def pieces(self) -> Iterator[Rows]:
        """All rows, some at a time."""
        return map(self._rows_of, self._closure.pairs())

    def index(self, key: tuple[int, ...]) -> ClosedIndex | Index:
        """A way to look up rows by these columns."""
        ends = set(key) & set(self._ends.tolist())
        if len(ends) == 1 and len(key) == self._group.size + 1:
            return ClosedIndex(self, key)
        return Index(self.picture, key)

    @property
    def picture(self) -> Relation:
        """The rows written out, for who cannot do without; good until the next update."""
        if self._picture is None:
            self._picture = Relation(self.arity)
            self._picture.insert_different([self.rows()])
        return self._picture

    def distinct(self, columns: tuple[int, ...]) -> int:
        """A guess at how many different values the columns have."""
        guess: float = float(self.size) ** (len(columns) / self.arity)
        return max(1, round(guess))

    def neighbours(self, rows: Rows, key: tuple[int, ...], columns: Columns) -> Matches:
        """For each of `rows`, whose `columns` hold the key, what stands at the other end."""
        keys, is_forward = self._keys(rows, key, columns)
        begins, lengths, payload = self._closure.successors(keys) if is_forward else self._closure.predecessors(keys)
        return Matches(begins, lengths, payload, int(lengths.sum()))

    def count_neighbours(self, rows: Rows, key: tuple[int, ...], columns: Columns) -> npt.NDArray[np.int64]:
        """For each of `rows`, whose `columns` hold the key, how many are at the other end; without a key all pairs."""
        if not key:
            return np.full(rows.shape[0], self.size, np.int64)
        keys, is_forward = self._keys(rows, key, columns)
        return self._closure.count_successors(keys) if is_forward else self._closure.count_predecessors(keys)

    def classes(self, rows: Rows, key: tuple[int, ...], columns: Columns) -> npt.NDArray[np.int32]:
        """For each of `rows`, whose `columns` hold the key, a number below `class_bound`, or -1 if it has no
        neighbours; rows of the same number have the same."""
        return self._closure.classes(self._keys(rows, key, columns)[0])

    @property
    def class_bound(self) -> int:
        """A number above those of all classes."""
        return self._closure.class_bound

    def _keys(self, rows: Rows, key: tuple[int, ...], columns: Columns) -> tuple[Rows, bool]:
        """(group, node) of each of `rows`, whose `columns` hold the key, and whether the node is the source."""
        places = {column: int(place) for column, place in zip(key, columns, strict=True)}
        numbers = self._find_groups(rows, np.array([places[int(column)] for column in self._group], np.int64))
        source, target = self._ends.tolist()
        is_forward = source in places
        keys = np.column_stack([numbers, rows[:, places[source if is_forward else target]]]).astype(np.int32)
        keys[numbers < 0] = -1
        return keys, is_forward

    def _promise(self, count: int, expand: Callable[[], Rows], ends: Callable[[End], Rows | None]) -> FactSet:
        """Facts that are written out when somebody reads them, or before the closure forgets them."""

        def project(columns: tuple[int, ...]) -> Rows | None:
            return self._project(columns, ends)

        facts = FactSet.later(count, self.arity, lambda: self._rows_of(expand()), project)
        self._promised.append(weakref.ref(facts))
        return facts

    def _project(self, columns: tuple[int, ...], ends: Callable[[End], Rows | None]) -> Rows | None:
        """What stands in `columns` of pairs of which `ends` are known, if they are of one end."""
        asked = [end for end in End if int(self._ends[end]) in columns]
        nodes = ends(asked[0]) if len(asked) == 1 else None
        if nodes is None:
            return None
        groups = self._groups.rows[nodes[:, 0]] if self._group.size else nodes
        places = {int(column): groups[:, number] for number, column in enumerate(self._group)}
        places[int(self._ends[asked[0]])] = nodes[:, 1]
        return np.column_stack([places[column] for column in columns])

    def _keep_promises(self) -> None:
        """Writes out what was promised and is still held, but for what is too much: reading that is an error then."""
        for reference in self._promised:
            facts = reference()
            if facts is not None and len(facts) <= MOST_KEPT:
                _ = facts.rows
        self._promised.clear()

    def _numbered(self, rows: Rows) -> Rows:
        """`rows` as (group, source, target)."""
        if not rows.shape[0]:
            return _NO_EDGES
        numbered = np.empty((rows.shape[0], 3), np.int32)
        write_edges(rows, *self.ends, numbered)
        if self._group.size:
            numbered[:, 0] = self._groups.number(rows, self._group)
        return numbered

    def _find_groups(self, rows: Rows, columns: Columns) -> Rows:
        return self._groups.find(rows, columns) if columns.size else np.zeros(rows.shape[0], np.int32)

    def _rows_of(self, triples: Rows) -> Rows:
        rows = np.empty((triples.shape[0], self.arity), np.int32)
        rows[:, self._ends] = triples[:, 1:]
        if self._group.size:
            rows[:, self._group] = self._groups.rows[triples[:, 0]]
        return rows


class ClosedIndex:
    """The rows of a closed relation by one end of each pair. As `Index`, without rows of its own."""

    def __init__(self, table: ClosedTable, key: tuple[int, ...]) -> None:
        self._table = table
        self._key = key
        self.payload_columns = tuple(column for column in range(table.arity) if column not in key)

    def probe(self, rows: Rows, columns: Columns, _version: Version) -> Matches:
        """The matches of each row of `rows`, whose `columns` hold the key."""
        return self._table.neighbours(rows, self._key, columns)

    @property
    def rows_waiting(self) -> int:
        """None: the table itself is asked."""
        return 0

    def catch_up(self) -> None:
        """There is nothing to catch up with: the table itself is asked."""
