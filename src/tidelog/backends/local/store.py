"""What the steps of a rule read: relations, their values and indexes, and what an optimiser may know about them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tidelog.backends.local.indexes import Index
from tidelog.backends.local.ordered import OrderedIndex
from tidelog.facts.membership import Rows
from tidelog.facts.relation import Relation
from tidelog.facts.values import Values
from tidelog.kernels import jit
from tidelog.kernels.bit_set import count_different
from tidelog.plan.nodes import Version
from tidelog.schema import Kind, Schema


class Store:
    """The relations of a program. It is also the `Statistics` of the local backend."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self.values = Values()
        self.kinds: dict[str, tuple[Kind, ...]] = {}
        self.relations: dict[str, Relation] = {}
        for schema in schemas.values():
            self.declare(schema)
        self.marked: dict[str, Rows] = {}
        self._indexes: dict[tuple[str, tuple[int, ...], bool], Index] = {}
        self._ordered: dict[tuple[str, tuple[int, ...], int], OrderedIndex] = {}
        self._distinct: dict[tuple[str, int], tuple[int, int]] = {}

    def declare(self, schema: Schema) -> None:
        """Makes room for a relation."""
        self.kinds[schema.relation] = schema.kinds
        self.relations[schema.relation] = Relation(schema.arity)

    def index(self, relation: str, key: tuple[int, ...], *, is_numbered: bool = False) -> Index:
        """The index of `relation` by these columns, made when first asked for."""
        found = self._indexes.get((relation, key, is_numbered))
        if found is None:
            found = Index(self.relations[relation], key, is_numbered=is_numbered)
            self._indexes[relation, key, is_numbered] = found
        return found

    def ordered_index(self, relation: str, key: tuple[int, ...], column: int, version: Version) -> OrderedIndex:
        """The rows of one version of `relation` by these columns, those of one key in order of `column`."""
        stored = self.relations[relation]
        state = (*self._bounds(relation, version), stored.generation, stored.removed)
        found = self._ordered.get((relation, key, column))
        if found is None or found.state != state:
            kind = self.kinds[relation][column]
            found = OrderedIndex(self.read(relation, version), state, key, column, kind, self.values)
            self._ordered[relation, key, column] = found
        return found

    def read(self, relation: str, version: Version) -> Rows:
        """The rows of that version of `relation`, oldest first."""
        if version is Version.MARKED:
            return self.marked[relation]
        return self.relations[relation].living(*self._bounds(relation, version))

    def _bounds(self, relation: str, version: Version) -> tuple[int, int]:
        """The numbers of the first row of that version and the one behind its last; some between may be dead."""
        stored = self.relations[relation]
        match version:
            case Version.FULL | Version.OLDER:
                return 0, stored.stored
            case Version.OLD:
                return 0, stored.delta_start
            case Version.DELTA:
                return stored.delta_start, stored.stored
            case Version.MARKED:
                return 0, len(self.marked[relation])

    def clear(self, relation: str) -> None:
        """Forgets the rows of `relation` and everything known about them."""
        self.relations[relation].clear()
        self._indexes = {key: index for key, index in self._indexes.items() if key[0] != relation}
        self._ordered = {key: index for key, index in self._ordered.items() if key[0] != relation}
        self._distinct = {key: count for key, count in self._distinct.items() if key[0] != relation}

    def rows(self, relation: str, version: Version) -> int:
        if version is Version.FULL or version is Version.OLDER:
            return self.relations[relation].size
        low, high = self._bounds(relation, version)
        return high - low

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int:
        if len(columns) > 1 and (relation, columns, False) in self._indexes:
            return max(1, self._indexes[relation, columns, False].distinct())
        combinations = 1
        for column in columns:
            combinations *= self._distinct_in(relation, column)
        return max(1, min(combinations, self.relations[relation].size))

    def _distinct_in(self, relation: str, column: int) -> int:
        """How many different values a column has, counted again when the relation has grown by half."""
        stored = self.relations[relation]
        counted, count = self._distinct.get((relation, column), (0, 1))
        if stored.stored > counted + counted // 2 or stored.stored < counted:
            ids = np.ascontiguousarray(stored.rows[: stored.stored, column])
            jit.work(ids.size)
            count = int(count_different(ids, np.zeros(int(ids.max(initial=0)) + 1, np.uint8)))
            self._distinct[relation, column] = (stored.stored, count)
        return max(1, count)
