"""What the steps of a rule read: relations, their values and indexes, and what an optimiser may know about them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cache
from math import expm1, sqrt

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.closed import ClosedIndex, ClosedTable
from tidelog.backends.local.indexes import Index
from tidelog.backends.local.ordered import OrderedIndex
from tidelog.backends.local.runs import Runs
from tidelog.backends.local.word_index import WordIndex
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Mask, Rows
from tidelog.facts.relation import Clock, Numbers, Relation
from tidelog.facts.values import Values
from tidelog.kernels import jit
from tidelog.kernels.bit_set import count_different
from tidelog.plan.nodes import ClosedRelation, Version
from tidelog.schema import Kind, Schema

_MANY_AGES = 2**30
_SHORT_BLOCK = 64
_WORTH_READING = 1 << 15
"""Rows of a relation from which on numbers of wider keys are far away; below, they are found as fast as rows read."""

_NEAR_ROWS = 32
"""Rows of an id, on average, up to which reading them takes no longer than to keep and find numbers of wider keys."""

_SAMPLE = 1 << 13
"""Rows that are looked at to guess how many different ids a column has."""


class Store:
    """The relations of a program. It is also the `Statistics` of the local backend."""

    def __init__(self, schemas: Mapping[str, Schema], values: Values) -> None:
        self.values = values
        self.clock = Clock()
        self.kinds: dict[str, tuple[Kind, ...]] = {}
        self.relations: dict[str, Relation] = {}
        for schema in schemas.values():
            self.declare(schema)
        self.marked: dict[str, FactSet] = {}
        self._indexes: dict[tuple[str, tuple[int, ...], bool], Index] = {}
        self._word_indexes: dict[tuple[str, int], WordIndex] = {}
        self._runs: dict[str, Runs] = {}
        self._closed: dict[str, tuple[ClosedRelation, ClosedTable]] = {}
        self._ordered: dict[tuple[str, tuple[int, ...], int], OrderedIndex] = {}
        self._distinct: dict[tuple[str, int], tuple[int, int]] = {}
        self._near: dict[tuple[str, tuple[int, ...]], tuple[int, tuple[int, ...] | None]] = {}
        self._drawn: tuple[tuple[str, int, int], Rows] = ("", 0, 0), np.empty((0, 1), np.int32)
        self._reach: dict[tuple[str, int], tuple[int, int, int]] = {}

    def declare(self, schema: Schema) -> None:
        """Makes room for a relation."""
        self.kinds[schema.relation] = schema.kinds
        self.relations[schema.relation] = Relation(schema.arity, self.clock)

    def begin_era(self) -> None:
        """Rows that come from now on may follow from those before."""
        if self.clock.now > _MANY_AGES:
            self._close_gaps_in_ages()
        self.clock.begin_era()

    def end_of_era(self, age: int) -> int:
        """The first age behind those of the same era."""
        place = bisect_right(self.clock.eras, age)
        return self.clock.eras[place] if place < len(self.clock.eras) else self.clock.now

    def _close_gaps_in_ages(self) -> None:
        """Gives all rows new ages in the same order, without those of rows that are no more."""
        spans = []
        for name, relation in self.relations.items():
            starts, ages = relation.spans
            lengths = np.diff(starts, append=relation.count)
            spans += [(age, length, name) for age, length in zip(ages.tolist(), lengths.tolist(), strict=True)]
        renewed: dict[str, list[int]] = {name: [] for name in self.relations}
        self.clock.now, self.clock.eras = 1, []
        for _, length, name in sorted(spans):
            renewed[name].append(self.clock.pass_for(length))
        for name, relation in self.relations.items():
            relation.set_ages(relation.spans[0], renewed[name])

    def closed_table(self, closed: ClosedRelation) -> ClosedTable:
        """The closure that is a relation, made when first asked for."""
        relation = closed.closure.relation
        if relation not in self._closed:
            self._closed[relation] = (closed, ClosedTable(closed, self.relations[relation].arity))
        return self._closed[relation][1]

    def compact(self, relation: str) -> ClosedTable | None:
        """The closure that `relation` is, unless its rows are stored as those of others are."""
        closed, table = self._closed.get(relation, (None, None))
        return None if closed is None or closed.is_written_out else table

    def contains(self, relation: str, rows: Rows) -> Mask:
        """Which of `rows` the relation has."""
        table = self.compact(relation)
        return self.relations[relation].membership.contains(rows) if table is None else table.contains(rows)

    def stored(self, relation: str, facts: FactSet) -> FactSet:
        """Those of `facts` that the relation has."""
        stored = self.relations[relation]
        if self.compact(relation) is None and (not stored.has_membership or stored.are_many(len(facts))):
            return stored.stored_of(facts)
        return facts.chosen(self.contains(relation, facts.rows))

    def unknown(self, relation: str, facts: FactSet) -> FactSet:
        """Those of `facts` that the relation has not."""
        if self.compact(relation) is not None:
            return facts.chosen(~self.contains(relation, facts.rows))
        stored = self.relations[relation]
        if stored.is_empty:
            return facts
        if not stored.has_membership and stored.width > 2:  # pairs are quicker to put into a set, and take less room
            index = self._index_of_whole_rows(relation)
            if index is not None:
                return facts.chosen(~index.has_rows(facts.rows))
            if facts.has_membership and len(facts) >= stored.count:
                return facts.minus(stored.among(facts))
        return facts.outside(stored.membership)

    def lacking(self, relation: str, facts: FactSet) -> FactSet:
        """As `unknown`, of facts among which all that are stored are: they are compared when somebody asks for rows."""
        stored = self.relations[relation]
        if self.compact(relation) is not None or not stored.size:
            return self.unknown(relation, facts)
        if stored.size == len(facts):
            return facts.none()
        # The rows that are there now stay where they are, whatever becomes of the relation.
        kept = FactSet(self.read(relation, Version.FULL))
        state = stored.generation, stored.count, stored.removed

        def compare() -> Rows:
            is_as_it_was = (stored.generation, stored.count, stored.removed) == state
            return (self.unknown(relation, facts) if is_as_it_was else facts.minus(kept)).rows

        return FactSet.later(len(facts) - len(kept), stored.width, compare)

    def index(self, relation: str, key: tuple[int, ...], *, is_numbered: bool = False) -> Index | ClosedIndex:
        """The index of `relation` by these columns, made when first asked for."""
        table = self.compact(relation)
        if table is not None:
            return table.index(key)
        found = self._indexes.get((relation, key, is_numbered))
        if found is None:
            found = Index(self.relations[relation], key, is_numbered=is_numbered)
            self._indexes[relation, key, is_numbered] = found
        return found

    def near_index(self, relation: str, key: tuple[int, ...]) -> tuple[tuple[int, ...], Index] | None:
        """Some columns of `key` whose ids have few rows, and the index by them; None if there are none. Which ones is
        looked for again when the relation has doubled."""
        stored = self.relations[relation]
        if stored.stored < _WORTH_READING or self.compact(relation) is not None:
            return None
        size, columns = self._near.get((relation, key), (-1, None))
        if size != stored.stored.bit_length():
            columns = self._near_columns(relation, key)
            self._near[relation, key] = stored.stored.bit_length(), columns
        index = None if columns is None else self.index(relation, columns)
        if columns is None or not isinstance(index, Index):
            return None
        if not index.has_no_longer_block(_SHORT_BLOCK):
            self._near[relation, key] = stored.stored.bit_length(), None
            return None
        return columns, index

    def _near_columns(self, relation: str, key: tuple[int, ...]) -> tuple[int, ...] | None:
        """The column with the most different ids, or columns that have an index, if few rows share their ids."""
        best = max(key, key=lambda column: self._distinct_in(relation, column))
        several = (columns for name, columns, is_numbered in self._indexes if name == relation and not is_numbered)
        parts = [(best,), *(columns for columns in several if len(columns) > 1 and {*columns} < {*key})]
        few = self.relations[relation].size / _NEAR_ROWS
        return next((columns for columns in parts if self.distinct(relation, columns) >= few), None)

    def short_column(self, relation: str) -> int | None:
        """The column by which a whole row is best looked for, None if that is the set of rows.

        Relations that were only loaded have no set, and making one takes more room than an index. Blocks are read to
        the end, so none may be long.
        """
        stored = self.relations[relation]
        if stored.has_membership or stored.width == 1:
            return None
        best = max(range(stored.width), key=lambda column: self.distinct(relation, (column,)))
        index = self.index(relation, (best,))
        return best if isinstance(index, Index) and index.has_no_longer_block(_SHORT_BLOCK) else None

    def _index_of_whole_rows(self, relation: str) -> Index | None:
        """An index that has all rows already and leads to few of them."""
        indexes = (index for (name, _, _), index in self._indexes.items() if name == relation)
        return next((each for each in indexes if each.is_up_to_date and each.has_no_longer_block(_SHORT_BLOCK)), None)

    def word_index(self, relation: str, key: int) -> WordIndex:
        """The index of a relation of pairs by one column, with words of bits, made when first asked for."""
        if (relation, key) not in self._word_indexes:
            self._word_indexes[relation, key] = WordIndex(self.relations[relation], key)
        return self._word_indexes[relation, key]

    def runs(self, relation: str) -> Runs:
        """The delta of a relation of pairs with rows of the same first id side by side, made when first asked for."""
        if relation not in self._runs:
            self._runs[relation] = Runs(self.relations[relation])
        return self._runs[relation]

    def ordered_index(self, relation: str, key: tuple[int, ...], column: int, version: Version) -> OrderedIndex:
        """The rows of one version of `relation` by these columns, those of one key in order of `column`."""
        table = self.compact(relation)
        stored = self.relations[relation] if table is None else table.picture
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
            return self.marked[relation].rows
        table = self.compact(relation)
        if table is not None:
            return table.rows()
        return self.relations[relation].living(*self._bounds(relation, version))

    def rows_at_hand(self, relation: str) -> Rows | None:
        """All rows of `relation`, None where they are not stored."""
        return self.read(relation, Version.FULL) if self.compact(relation) is None else None

    def pieces(self, relation: str) -> Iterable[Rows]:
        """All rows of `relation`, some at a time where they are not stored."""
        table = self.compact(relation)
        return [self.read(relation, Version.FULL)] if table is None else table.pieces()

    def project_marked(self, relation: str, columns: tuple[int, ...]) -> Rows | None:
        """What stands in these columns of marked rows, each combination at least once, where that takes less than all
        rows."""
        return self.marked[relation].project(columns)

    def number_marked(self, relation: str) -> None:
        """Looks up the marked rows of `relation`, which are stored."""
        self.relations[relation].numbers_of(self.marked[relation])

    def numbered_marked(self, relation: str) -> tuple[Rows, Numbers]:
        """The marked rows of `relation`, which are stored, and their numbers."""
        stored = self.relations[relation]
        numbers = stored.numbers_of(self.marked[relation])
        return stored.rows.take(numbers, axis=0), numbers

    def ages_of_marked(self, relation: str) -> Rows:
        """The marked rows of `relation`, which are stored, with their ages as one more column."""
        stored = self.relations[relation]
        numbers = stored.numbers_of(self.marked[relation])
        return np.column_stack([stored.rows[numbers, : stored.arity], stored.ages_of(numbers)])

    def _bounds(self, relation: str, version: Version) -> tuple[int, int]:
        """The numbers of the first row of that version and the one behind its last; some between may be dead."""
        if version is Version.MARKED:
            return 0, len(self.marked[relation])
        table = self.compact(relation)
        stored = self.relations[relation] if table is None else table.picture
        match version:
            case Version.FULL | Version.OLDER | Version.YOUNGER:
                return 0, stored.stored
            case Version.OLD:
                return 0, stored.delta_start
            case Version.DELTA:
                return stored.delta_start, stored.stored

    def clear(self, relation: str) -> None:
        """Forgets the rows of `relation` and everything known about them."""
        self.relations[relation].clear()
        for key, index in self._indexes.items():
            if key[0] == relation:
                index.forget()
        for (name, _), words in self._word_indexes.items():
            if name == relation:
                words.forget()
        self._ordered = {key: index for key, index in self._ordered.items() if key[0] != relation}
        self._distinct = {key: count for key, count in self._distinct.items() if key[0] != relation}
        self._closed.pop(relation, None)

    def rows(self, relation: str, version: Version) -> int:
        if version is Version.MARKED:
            return len(self.marked[relation])
        table = self.compact(relation)
        if version is Version.DELTA or version is Version.OLD:
            stored = self.relations[relation] if table is None else table.picture
            return stored.delta_start if version is Version.OLD else stored.stored - stored.delta_start
        return self.relations[relation].size if table is None else table.size

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int:
        table = self.compact(relation)
        if table is not None:
            return table.distinct(columns)
        if len(columns) > 1 and (relation, columns, False) in self._indexes:
            return max(1, self._indexes[relation, columns, False].distinct())
        combinations = 1
        for column in columns:
            combinations *= self._distinct_in(relation, column)
        return max(1, min(combinations, self.relations[relation].size))

    def reach(self, relation: str, column: int) -> int:
        """One more than the largest id in a column, those of removed rows included."""
        stored = self.relations[relation]
        generation, rows, reach = self._reach.get((relation, column), (-1, 0, 0))
        if generation != stored.generation:
            rows = reach = 0
        elif rows == stored.count:
            return reach  # threads ask again and again
        reach = max(reach, int(stored.rows[rows : stored.count, column].max(initial=-1)) + 1)
        self._reach[relation, column] = stored.generation, stored.count, reach
        return reach

    def _distinct_in(self, relation: str, column: int) -> int:
        """How many different values a column has, counted again when the relation has grown by half."""
        stored = self.relations[relation].stored
        counted, rows = self._distinct.get((relation, column), (0, 0))
        if stored < rows or stored > rows + rows // 2:
            counted = different_ids(self._sampled(relation), column, stored)
            self._distinct[relation, column] = counted, stored
        return max(1, counted)

    def _sampled(self, relation: str) -> Rows:
        """Some of many rows of a relation, or all. What was drawn is kept until something else is: most columns are
        counted one after the other, and what takes longest is to read so many places of memory."""
        stored = self.relations[relation]
        rows = stored.rows[: stored.stored]
        if stored.stored <= 2 * _SAMPLE:
            return rows
        state = relation, stored.generation, stored.stored
        known, sample = self._drawn
        if known != state:
            sample = drawn(rows)
            self._drawn = state, sample
        return sample


def drawn(rows: Rows) -> Rows:
    """A sample of rows, some of them several times."""
    sample: Rows = rows.take((_places() * rows.shape[0]).astype(np.int64), axis=0)
    return sample


def different_ids(sample: Rows, column: int, count: int) -> int:
    """How many different ids a column of so many rows has of which this is a sample, or all: counted, or guessed as if
    ids were spread evenly."""
    found = _counted(sample[:, column])
    return found if sample.shape[0] == count else different_in_all(found, sample.shape[0], count)


@cache
def _places() -> npt.NDArray[np.float64]:
    """Where the rows of a sample lie, as parts of all rows; in order, so that memory is read from one end to the
    other."""
    return np.sort(np.random.default_rng(0).random(_SAMPLE))


def _counted(ids: npt.NDArray[np.int32]) -> int:
    jit.work(ids.size)
    seen = np.zeros(int(ids.max(initial=-1)) + 1, np.uint8)
    return int(count_different(np.ascontiguousarray(ids), seen))


def different_in_all(found: int, drawn: int, most: int) -> int:
    """How many different ids there are, at most `most`, if that many draws found so many and all were as likely.

    Of n ids, they are expected to find n · (1 - exp(-drawn / n)).
    """
    low, high = float(found), float(most)
    for _ in range(40):
        ids = sqrt(low * high)
        if -ids * expm1(-drawn / ids) < found:
            low = ids
        else:
            high = ids
    return round(high)
