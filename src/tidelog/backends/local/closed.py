"""Relations that are the closure of another: kept in compact form, looked up like any other."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from tidelog.analysis.checked import ClosureKind
from tidelog.backends.local.indexes import Index, Matches
from tidelog.facts.closure import Closure
from tidelog.facts.equivalence import SymmetricClosure
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Mask, Rows, RowSet
from tidelog.facts.relation import Relation
from tidelog.facts.transitive import TransitiveClosure
from tidelog.plan.nodes import ClosedRelation, Version

Columns = npt.NDArray[np.int64]


class ClosedTable:
    """The rows of a closed relation. Closures count groups; here is which number each group has."""

    def __init__(self, plan: ClosedRelation, arity: int) -> None:
        self._plan = plan
        self.arity = arity
        group = plan.closure
        self._ends = np.array([group.source, group.target])
        self._group = np.array(group.group, np.int64)
        self._groups = RowSet(self._group.size)
        self._closure: Closure
        self._closure = TransitiveClosure() if group.kind is ClosureKind.TRANSITIVE else SymmetricClosure()
        self._promised: list[weakref.ref[FactSet]] = []
        self._picture: Relation | None = None

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self._closure.count

    def update(self, came: FactSet, went: FactSet) -> tuple[FactSet, FactSet]:
        """Takes edges that came and went; returns the rows that appeared and vanished."""
        self._keep_promises()
        delta = self._closure.update(self._numbered(came.rows), self._numbered(went.rows))
        self._picture = None
        return (
            self._promise(delta.appeared_count, delta.appeared),
            self._promise(delta.vanished_count, delta.vanished),
        )

    def contains(self, rows: Rows) -> Mask:
        """Which of `rows` are there."""
        numbers = self._find_groups(rows, self._group)
        found = np.zeros(rows.shape[0], np.bool_)
        known = numbers >= 0
        triples = np.column_stack([numbers, rows[:, self._ends]])
        found[known] = self._closure.contains(np.ascontiguousarray(triples[known]))
        return found

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
        places = {column: int(place) for column, place in zip(key, columns, strict=True)}
        numbers = self._find_groups(rows, np.array([places[int(column)] for column in self._group], np.int64))
        source, target = self._ends.tolist()
        is_forward = source in places
        nodes = rows[:, places[source if is_forward else target]]
        keys = np.column_stack([numbers, nodes]).astype(np.int32)
        keys[numbers < 0] = -1
        begins, lengths, payload = self._closure.successors(keys) if is_forward else self._closure.predecessors(keys)
        return Matches(begins, lengths, payload, int(lengths.sum()))

    def _promise(self, count: int, expand: Callable[[], Rows]) -> FactSet:
        """Facts that are written out when somebody reads them, or before the closure forgets them."""
        facts = FactSet.later(count, self.arity, lambda: self._rows_of(expand()))
        self._promised.append(weakref.ref(facts))
        return facts

    def _keep_promises(self) -> None:
        for reference in self._promised:
            facts = reference()
            if facts is not None:
                _ = facts.rows
        self._promised.clear()

    def _numbered(self, rows: Rows) -> Rows:
        """`rows` as (group, source, target)."""
        groups = self._groups.number(rows, self._group) if self._group.size else np.zeros(rows.shape[0], np.int32)
        return np.column_stack([groups, rows[:, self._ends]])

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

    def catch_up(self) -> None:
        """There is nothing to catch up with: the table itself is asked."""
