"""The yield index: takes tuples, returns the matches they begin and end, in one step with indexing them.

The work is done by `kernels.watch_apply`; here tables are made, grown and read. `docs/algorithms/yield-index.md` maps
the paper to this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tidelog.activation.codes import CodeArray, Codes
from tidelog.activation.elements import Place, joined_places, ordered_places
from tidelog.activation.protocol import Accesses, Arrivals, IndexSize, Matches
from tidelog.activation.rule_tables import Location, RuleTables
from tidelog.activation.table_room import (
    empty_tables,
    known_relations,
    widened,
    with_room_for_entries,
    with_room_for_nodes,
    with_room_for_tuples,
)
from tidelog.activation.watch_rule import WatchRule
from tidelog.kernels import jit
from tidelog.kernels import watch_program as join
from tidelog.kernels import watch_totals as totals
from tidelog.kernels.watch_apply import ASKS, LIES, apply_arrivals, order_stored
from tidelog.kernels.watch_finder import NONE, hash_key
from tidelog.kernels.watch_order import DEEPEST, make_order, values_in
from tidelog.kernels.watch_tables import AHEAD, BEGIN, END, HOMES, LISTS, PAGES, SLOTS, WIDTH, hold_entry
from tidelog.language.syntax_tree import Constant
from tidelog.schema import Kind, Schema

_MATCHES = 2
"""Room for matches at first, which doubles as it is needed."""

ArrivalArrays: TypeAlias = tuple[npt.NDArray[np.int32], npt.NDArray[np.int8], CodeArray]
"""Relations, signs and rows, as `Arrivals` names them."""


class YieldIndex:
    """One data index for each constrained column, shared by all rules, which meet in its entries."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes
        self.relations: dict[str, int] = {}
        self.schemas: list[Schema] = []
        self.rules: list[WatchRule] = []
        self._pages: list[tuple[Kind, int]] = []
        self._rule_tables = RuleTables()
        self.tables = empty_tables(1)
        self.known = known_relations(0, 1)
        self._is_stale = True
        self._take_one: Callable[..., tuple[int, int]] | None = None
        self._to_index: set[int] = set()
        self._statistics = np.zeros((0, join.STATISTICS), np.int64)
        self._prepare()

    def add_relation(self, schema: Schema) -> int:
        """The number of a relation whose tuples will arrive; the one it has if it is known."""
        if schema.relation not in self.relations:
            self.relations[schema.relation] = len(self.relations)
            self.schemas.append(schema)
            self._make_place(schema.arity)
            self._outdate()
        return self.relations[schema.relation]

    def add_rule(self, rule: WatchRule) -> int:
        """The number of a rule to watch; the tuples stored by now are indexed in the columns that are new with it."""
        for places in joined_places(rule):
            self._index(rule, places)
        for place in sorted(ordered_places(rule)):
            self._order(rule, place)
        where = Location(
            self.relations,
            lambda constant: self._codes.of_value(constant.value, _kind(constant)),
            lambda place, constant: self._hold(rule, place, constant),
        )
        number = self._rule_tables.add(rule, where)
        self.rules.append(rule)
        self._to_index |= {self.relations[name] for name in rule.relations}
        self._statistics = np.concatenate([self._statistics, np.zeros((1, join.STATISTICS), np.int64)])
        self._outdate()
        return number

    def remove_rule(self, rule: int) -> None:
        """Ends a rule: tuples do not reach it any more. The columns that it constrained stay indexed."""
        self._rule_tables.remove(rule)
        self._outdate()

    def apply(self, arrivals: Arrivals) -> Matches:
        """The matches that begin and end with each of the arrivals, which are taken one after the other."""
        if self._is_stale:
            self._refresh()
        found = self._take(arrivals.relations, arrivals.signs, arrivals.rows)
        return self._matches(found) if found else self._nothing

    def apply_one(self, arrival: ArrivalArrays) -> Matches | None:
        """The matches that begin and end with one arrival, None without any. Its arrays are whole, not parts of others.

        Here a call is most of the work: what can be looked up, checked or made before is.
        """
        if self._take_one is None:
            return self._apply_first(arrival)
        reached, found = self._take_one(*self._prepared, *arrival, 0)
        if not reached:
            found = self._take_rest(*arrival, 0)
        return self._matches(found) if found else None

    def matches(self, rule: int) -> Matches:
        """Every match of a rule that there is now."""
        if self._is_stale:
            self._refresh()
        occurrence, relation = self._rule_tables.first_occurrence(rule, len(self.relations))
        rows = self._under_constants(rule, self._stored(relation))
        all_occurrences = self.known[relation, [BEGIN, END]].copy()
        self.known[relation, [BEGIN, END]] = occurrence, occurrence + 1
        try:
            found = self._matches(self._take(*_of_one_sort(relation, ASKS, rows)))
        finally:
            self.known[relation, [BEGIN, END]] = all_occurrences
        self._statistics[rule, join.RULE_SEARCHES] += len(rows)
        self._statistics[rule, join.TUPLES_READ] += np.unique(found.arrivals).size
        found.arrivals[:] = 0
        return found

    def accesses(self) -> Accesses:
        """What all arrivals have touched so far."""
        sums = self._statistics.sum(axis=0)
        all_rules = self.tables.totals
        return Accesses(
            searches=int(all_rules[totals.SEARCHES] + sums[join.RULE_SEARCHES]),
            entries=int(all_rules[totals.ENTRIES_READ] + sums[join.RULE_ENTRIES_READ]),
            tuples=int(sums[join.TUPLES_READ]),
            activations=int(sums[join.EFFECTIVE]),
        )

    def size(self) -> IndexSize:
        """How large the index is now; bytes count what was made, also if it is free again."""
        stored = self.tables
        tuples, entries_made, nodes = (
            int(stored.totals[at]) for at in (totals.MADE_TUPLES, totals.MADE_ENTRIES, totals.MADE_NODES)
        )
        numbers = np.flatnonzero(stored.links[:tuples, 0] != NONE)
        under = int(np.count_nonzero(stored.links[numbers, HOMES : HOMES + self.width] != NONE))
        entries = int(stored.totals[totals.ENTRIES]) + under + self._ordered_values()
        kept = (stored.links[:tuples], stored.entries[:entries_made], stored.entry_finder, stored.trees[:nodes])
        return IndexSize(entries, sum(table.nbytes for table in kept) - stored.cells[:tuples].nbytes)

    def _ordered_values(self) -> int:
        """How many values all orders have."""
        roots = self.known[:, PAGES + 2 * self.width :]
        return sum(int(values_in(self.tables.trees, root)) for root in roots[roots != NONE])

    @property
    def width(self) -> int:
        """The columns of the widest relation."""
        return int(self.tables.cells.shape[1])

    @property
    def statistics(self) -> npt.NDArray[np.int64]:
        """What was counted for each rule, at the places that `kernels.watch_join` names."""
        return self._statistics

    def _index(self, rule: WatchRule, places: Sequence[Place]) -> None:
        """Gives columns that hold the same variable a place in entries, on one page if it has room for all of them."""
        relations = [self.relations[rule.literals[place.literal].relation] for place in places]
        columns = dict.fromkeys((relation, place.column) for relation, place in zip(relations, places, strict=True))
        known = {column: int(self.known[column[0], PAGES + column[1]]) for column in columns}
        unplaced = [column for column, page in known.items() if page == NONE]
        beside = [page for page in known.values() if page != NONE]
        for at, (relation, column) in enumerate(unplaced):
            page = self._page(self.schemas[relation].kinds[column], beside, len(unplaced) - at)
            self.known[relation, PAGES + column] = page
            self.known[relation, PAGES + self.width + column] = LISTS + 2 * self._pages[page][1]
            self._pages[page] = (self._pages[page][0], self._pages[page][1] + 1)
            beside.append(page)

    def _page(self, kind: Kind, beside: Sequence[int], columns: int) -> int:
        """A page with a free place: one of `beside`, else one that has room for so many columns, else a new one."""
        for page in beside:
            if self._pages[page][1] < SLOTS:
                return page
        for page, (found, taken) in enumerate(self._pages):
            if found is kind and taken + min(columns, SLOTS) <= SLOTS:
                return page
        self._pages.append((kind, 0))
        return len(self._pages) - 1

    def _order(self, rule: WatchRule, place: Place) -> None:
        """Gives a column an order of its values, with the tuples that are indexed by now."""
        relation = self.relations[rule.literals[place.literal].relation]
        at = PAGES + 2 * self.width + place.column
        if self.known[relation, at] != NONE:
            return
        self.tables = with_room_for_nodes(self.tables, 1)
        self.known[relation, at] = make_order(self.tables.trees, self.tables.totals)
        reached = 0
        while reached < self.tables.totals[totals.MADE_TUPLES]:
            reached = order_stored(*self.tables, self.known, relation, place.column, reached)
            self._grow()

    def _hold(self, rule: WatchRule, place: Place, constant: Constant) -> tuple[int, int]:
        """The page and the entry of a constant; the entry stays while the rule does."""
        page = int(self.known[self.relations[rule.literals[place.literal].relation], PAGES + place.column])
        self.tables = stored = with_room_for_entries(self.tables, 1)
        key = np.int64(self._codes.of_value(constant.value, _kind(constant)))
        code = np.uint64(hash_key(np.int64(page), key))
        held = hold_entry(stored.keys, stored.entries, stored.entry_finder, stored.totals, np.int64(page), key, code)
        return page, int(held)

    def _make_place(self, arity: int) -> None:
        """Makes room for one more relation of so many columns."""
        before, old = self.known, self.width
        self.tables = widened(self.tables, arity)
        self.known = known = known_relations(len(before) + 1, self.width)
        known[:-1, :PAGES] = before[:, :PAGES]
        for part in range(3):
            wide, narrow = PAGES + part * self.width, PAGES + part * old
            known[:-1, wide : wide + old] = before[:, narrow : narrow + old]
        known[-1, WIDTH] = arity

    def _refresh(self) -> None:
        """Brings the tables of rules up to date with what was added."""
        self._prepare()
        self._is_stale = False
        for relation in sorted(self._to_index):
            self._take(*_of_one_sort(relation, LIES, self._stored(relation)))
        self._to_index.clear()

    def _prepare(self) -> None:
        """Makes what kernels are given besides the tables, and room for matches."""
        self._program, begins = self._rule_tables.program(len(self.relations))
        self.known[:, BEGIN], self.known[:, END] = begins[:-1], begins[1:]
        self._space = np.zeros((join.SPACE, max(self.width, self._rule_tables.most_needed)), np.int64)
        self._hashes = np.empty((AHEAD, self.width + 1), np.uint64)
        self._marks = np.empty((_MATCHES, 3), np.int32)
        self._heads = np.empty((_MATCHES, self._rule_tables.widest_head), np.int64)
        self._nothing = self._matches(0)
        self._hand_out()

    def _hand_out(self) -> None:
        """Puts together what every arrival is given."""
        shared = (self.known, self._program, self._space, self._statistics, self._hashes)
        self._prepared = (*self.tables, *shared, self._marks, self._heads)
        self._take_one = None

    def _outdate(self) -> None:
        """Notes that tables of rules are to be brought up to date."""
        self._is_stale = True
        self._take_one = None

    def _stored(self, relation: int) -> CodeArray:
        """The tuples of a relation."""
        links = self.tables.links[: self.tables.totals[totals.MADE_TUPLES]]
        return self.tables.cells[np.flatnonzero(links[:, 0] == relation)]

    def _under_constants(self, rule: int, rows: CodeArray) -> CodeArray:
        """Those of the tuples that have the constants of the first positive literal of a rule."""
        literal = next(each for each in self.rules[rule].literals if not each.negated)
        for column, term in enumerate(literal.terms):
            if isinstance(term, Constant):
                rows = rows[rows[:, column] == self._codes.of_value(term.value, _kind(term))]
        return rows

    def _apply_first(self, arrival: ArrivalArrays) -> Matches | None:
        """As `apply_one`, where tables are new since the arrival before; the next finds its way prepared."""
        if self._is_stale:
            self._refresh()
        found = self._take(*arrival)
        if jit.is_compiled():
            self._take_one = apply_arrivals.compiled_for((*self._prepared, *arrival, 0))
        return self._matches(found) if found else None

    def _take(self, relations: npt.NDArray[np.int32], signs: npt.NDArray[np.int8], rows: CodeArray) -> int:
        """The number of matches that are written, with every table growing as it needs to."""
        if not relations.size:
            return 0
        jit.work(relations.size)
        reached, found = apply_arrivals(*self._prepared, relations, signs, rows, 0)
        return found if reached == relations.size else self._take_rest(relations, signs, rows, reached)

    def _take_rest(
        self, relations: npt.NDArray[np.int32], signs: npt.NDArray[np.int8], rows: CodeArray, reached: int
    ) -> int:
        """The number of matches that are written in all, when a table had to grow before the arrival `reached`."""
        found = 0
        try:
            while reached < relations.size:
                if self.tables.totals[totals.FOUND] == len(self._marks):
                    self._make_room_for_matches()
                self._grow()
                reached, found = apply_arrivals(*self._prepared, relations, signs, rows, reached)
        except BaseException:  # what the arrival did stays, but nothing waits for it any more
            self.tables.totals[totals.FOUND], self.tables.totals[totals.STEP] = 0, NONE
            raise
        return found

    def _matches(self, found: int) -> Matches:
        """The matches written last; what is written later does not change them."""
        marks = self._marks[:found].copy()
        return Matches(marks[:, 0], marks[:, 1], marks[:, 2], self._heads[:found].copy())

    def _make_room_for_matches(self) -> None:
        self._marks = np.concatenate([self._marks, np.empty_like(self._marks)])
        self._heads = np.concatenate([self._heads, np.empty_like(self._heads)])
        self._hand_out()

    def _grow(self) -> None:
        """Makes every table that is full larger."""
        roomy = with_room_for_entries(with_room_for_tuples(self.tables, 1), self.width)
        self.tables = with_room_for_nodes(roomy, self.width * DEEPEST)
        self._hand_out()


def _of_one_sort(
    relation: int, sign: int, rows: CodeArray
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8], CodeArray]:
    return np.full(len(rows), relation, np.int32), np.full(len(rows), sign, np.int8), rows


def _kind(constant: Constant) -> Kind:
    assert constant.kind is not None
    return constant.kind
