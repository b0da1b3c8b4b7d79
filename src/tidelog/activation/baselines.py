"""What the yield index is compared with: other ways to find the matches of a tuple, counted in the same way.

They are plain and say what they would touch. A scan is counted tuple by tuple but not walked: the rows it would end
with are taken from a dictionary that is not counted, so that large workloads can be measured at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tidelog.activation.codes import Codes
from tidelog.activation.join_plans import JoinPlan, Step, join_plan
from tidelog.activation.protocol import Accesses, Arrivals, IndexSize, Matches
from tidelog.activation.watch_rule import WatchLiteral, WatchRule
from tidelog.language.syntax_tree import Constant, Variable
from tidelog.schema import Schema

CodeRow = tuple[int, ...]
Values = list[int]
"""The values of variables and constants, at the places that a plan gives them."""

_BYTES_PER_ENTRY = 16
"""A key or a pointer to a tuple with its link, as flat arrays would keep it."""


class Structure(Enum):
    """What is indexed. `docs/algorithms/yield-index.md` says how each is counted."""

    NO_INDEX = "no index"
    FIRST_COLUMN = "FAI"
    ALL_COLUMNS = "AAI"
    MEMORIES = "AMEM"
    FILTERS = "FI"
    ORDERED = "semi-naive, B+ tree"


WITH_MEMORIES = (Structure.MEMORIES, Structure.FILTERS)


@dataclass(slots=True)
class Counters:
    """What was touched so far."""

    searches: int = 0
    entries: int = 0
    tuples: int = 0
    activations: int = 0


@dataclass(frozen=True, slots=True)
class _Kept:
    """How many indexes a relation has, the literals with a memory of its tuples, and how many each of these has."""

    indexes: int
    memories: list[WatchLiteral]
    sizes: list[int]


class JoinIndex:
    """An activation index of one structure: a tuple is stored first, then each rule that reads it is joined."""

    def __init__(self, codes: Codes, structure: Structure) -> None:
        self._codes = codes
        self._structure = structure
        self._numbers: dict[str, int] = {}
        self._rules: list[WatchRule | None] = []
        self._plans: list[list[JoinPlan]] = []
        self._readers: dict[tuple[str, bool], list[tuple[int, JoinPlan]]] = {}
        self._rows: dict[str, dict[CodeRow, None]] = {}
        self._under: dict[tuple[str, int], dict[int, dict[CodeRow, None]]] = {}
        self._widths: list[int] = []
        self._kept: dict[str, _Kept] = {}
        self.counters = Counters()

    def add_relation(self, schema: Schema) -> int:
        """The number of a relation whose tuples will arrive; the one it has if it is known."""
        if schema.relation not in self._numbers:
            self._numbers[schema.relation] = len(self._numbers)
            self._rows[schema.relation] = {}
            self._widths.append(schema.arity)
            for column in range(schema.arity):
                self._under[schema.relation, column] = {}
        return self._numbers[schema.relation]

    def add_rule(self, rule: WatchRule) -> int:
        """The number of a rule to watch."""
        self._rules.append(rule)
        self._plans.append([join_plan(rule, at, self._code) for at in range(len(rule.literals))])
        self._forget_what_rules_keep()
        return len(self._rules) - 1

    def remove_rule(self, rule: int) -> None:
        """Ends a rule."""
        self._rules[rule] = None
        self._plans[rule] = []
        self._forget_what_rules_keep()

    def apply(self, arrivals: Arrivals) -> Matches:
        """The matches that begin and end with each of the arrivals, which are taken one after the other."""
        names = list(self._numbers)
        found: list[tuple[int, int, int, CodeRow]] = []
        given = zip(arrivals.relations.tolist(), arrivals.signs.tolist(), arrivals.rows.tolist(), strict=True)
        for at, (number, sign, cells) in enumerate(given):
            relation, row, comes = names[number], tuple(cells[: self._widths[number]]), sign > 0
            if (row in self._rows[relation]) == comes:
                continue
            found += [(rule, at, -1, head) for rule, head in self._touched(relation, row, negated=comes)]
            self._store(relation, row) if comes else self._forget(relation, row)
            found += [(rule, at, 1, head) for rule, head in self._touched(relation, row, negated=not comes)]
        return _as_matches(found)

    def matches(self, rule: int) -> Matches:
        """Every match of a rule that there is now; each tuple of its first literal is read to begin with."""
        plan = next(plan for plan in self._plans[rule] if not plan.steps[0].literal.negated)
        heads: list[CodeRow] = []
        for row in self._rows[plan.steps[0].literal.relation]:
            self.counters.tuples += 1
            self._activate(plan, row, heads)
        return _as_matches([(rule, 0, 1, head) for head in heads])

    def accesses(self) -> Accesses:
        """What all arrivals have touched so far."""
        counters = self.counters
        return Accesses(counters.searches, counters.entries, counters.tuples, counters.activations)

    def size(self) -> IndexSize:
        """How large the index is now."""
        entries = 0
        for relation, rows in self._rows.items():
            for column in self._indexed(relation):
                entries += len(self._under[relation, column]) + len(rows)
            for literal in self._memories(relation):
                entries += self._count_admitted(literal, rows)
        return IndexSize(entries, entries * _BYTES_PER_ENTRY)

    def _touched(self, relation: str, row: CodeRow, *, negated: bool) -> Iterator[tuple[int, CodeRow]]:
        """The matches in which the tuple stands for a literal, or that it makes a negated literal forbid."""
        for rule, plan in self._reading(relation, negated=negated):
            # A memory that does not take the tuple says that it need not be joined to find out.
            if self._structure not in WITH_MEMORIES or self._admits(plan.steps[0].literal, row):
                self.counters.activations += 1
            heads: list[CodeRow] = []
            self._activate(plan, row, heads)
            for head in heads:
                yield rule, head

    def _reading(self, relation: str, *, negated: bool) -> list[tuple[int, JoinPlan]]:
        """The plans that begin with a literal of a relation, each with the number of its rule."""
        if (relation, negated) not in self._readers:
            self._readers[relation, negated] = [
                (rule, plan)
                for rule, plans in enumerate(self._plans)
                for plan in plans
                if plan.steps[0].literal.relation == relation and plan.steps[0].literal.negated == negated
            ]
        return self._readers[relation, negated]

    def _activate(self, plan: JoinPlan, row: CodeRow, heads: list[CodeRow]) -> None:
        """Adds the heads of all matches in which the tuple stands for the first literal of a plan."""
        values = list(plan.values)
        first = plan.steps[0]
        if all(row[column] == values[place] for column, place in first.known) and _take(first, row, values):
            self._join(plan, 1, row, values, heads)

    def _join(self, plan: JoinPlan, depth: int, row: CodeRow, values: Values, heads: list[CodeRow]) -> None:
        """Adds the heads of all matches that extend `values` over the steps from `depth` on."""
        if depth == len(plan.steps):
            if self._nothing_forbids(plan, row, values):
                heads.append(tuple(values[place] for place in plan.head))
            return
        step = plan.steps[depth]
        for candidate in self._candidates(step, values):
            if not (step.excludes and candidate == row) and _take(step, candidate, values):
                self._join(plan, depth + 1, row, values, heads)

    def _nothing_forbids(self, plan: JoinPlan, row: CodeRow, values: Values) -> bool:
        for step in plan.absent:
            if step.excludes and all(row[column] == values[place] for column, place in step.known):
                return False
            if self._candidates(step, values):
                return False
        return True

    def _candidates(self, step: Step, values: Values) -> list[CodeRow]:
        """The tuples that agree with all known columns; what the structure touches to find them is counted."""
        self._count_access(step, values)
        relation = step.literal.relation
        if not step.known:
            return list(self._rows[relation])
        shortest: dict[CodeRow, None] | None = None
        for column, place in step.known:
            listed = self._under[relation, column].get(values[place])
            if listed is None:
                return []
            if shortest is None or len(listed) < len(shortest):
                shortest = listed
        assert shortest is not None
        return [row for row in shortest if all(row[column] == values[place] for column, place in step.known)]

    def _count_access(self, step: Step, values: Values) -> None:
        relation, counters = step.literal.relation, self.counters
        match self._structure:
            case Structure.FIRST_COLUMN if step.known and step.known[0][0] == 0:
                self._search(relation, 0, values[step.known[0][1]])
            case Structure.ALL_COLUMNS | Structure.ORDERED if step.known:
                column, place = (step.joined or step.known)[0]
                self._search(relation, column, values[place])
            case Structure.MEMORIES if _has_constants(step.literal):
                self._read_memory(step.literal)
            case Structure.FILTERS if step.joined:
                column, place = step.joined[0]
                admitted = self._count_admitted(step.literal, self._under[relation, column].get(values[place], {}))
                counters.searches += 1
                counters.entries += 1 + admitted
                counters.tuples += admitted
            case Structure.FILTERS if _has_constants(step.literal):
                self._read_memory(step.literal)
            case _:
                counters.tuples += len(self._rows[relation])

    def _search(self, relation: str, column: int, value: int) -> None:
        """Counts one search and the tuples under the key, all of which are read to compare their other columns."""
        listed = len(self._under[relation, column].get(value, {}))
        self.counters.searches += 1
        steps = max(1, len(self._under[relation, column]).bit_length()) if self._structure is Structure.ORDERED else 1
        self.counters.entries += steps + listed
        self.counters.tuples += listed

    def _store(self, relation: str, row: CodeRow) -> None:
        self._count_upkeep(relation, row, 1)
        self._rows[relation][row] = None
        for column, value in enumerate(row):
            self._under[relation, column].setdefault(value, {})[row] = None

    def _forget(self, relation: str, row: CodeRow) -> None:
        self._count_upkeep(relation, row, -1)
        del self._rows[relation][row]
        for column, value in enumerate(row):
            listed = self._under[relation, column][value]
            del listed[row]
            if not listed:
                del self._under[relation, column][value]

    def _count_upkeep(self, relation: str, row: CodeRow, change: int) -> None:
        """Counts one search for each index and each memory that the tuple is put into (1) or taken out of (-1)."""
        kept = self._kept_of(relation)
        searches = kept.indexes
        for at, literal in enumerate(kept.memories):
            if self._admits(literal, row):
                searches += 1
                kept.sizes[at] += change
        self.counters.searches += searches
        self.counters.entries += searches

    def _kept_of(self, relation: str) -> _Kept:
        """What is kept of a relation, counted anew once rules have changed."""
        if relation not in self._kept:
            memories, rows = self._memories(relation), self._rows[relation]
            sizes = [self._count_admitted(literal, rows) for literal in memories]
            self._kept[relation] = _Kept(len(self._indexed(relation)), memories, sizes)
        return self._kept[relation]

    def _read_memory(self, literal: WatchLiteral) -> None:
        """Counts the search for a literal's memory and its tuples, all of which are read."""
        kept = self._kept_of(literal.relation)
        self.counters.searches += 1
        self.counters.entries += 1
        self.counters.tuples += kept.sizes[kept.memories.index(literal)]

    def _indexed(self, relation: str) -> list[int]:
        """The columns of a relation that have an index; with filters, one for each rule that joins on it."""
        columns = range(self._widths[self._numbers[relation]])
        match self._structure:
            case Structure.FIRST_COLUMN:
                return list(columns)[:1]
            case Structure.ALL_COLUMNS:
                return list(columns)
            case Structure.ORDERED:
                return sorted({column for column, _ in self._joins(relation)})
            case Structure.FILTERS:
                return [column for column, _ in self._joins(relation)]
            case _:
                return []

    def _joins(self, relation: str) -> list[tuple[int, int]]:
        """The columns of a relation whose variable stands elsewhere in a rule too, with the number of the rule."""
        found = set()
        for number, rule in enumerate(self._rules):
            terms = [term for literal in (rule.literals if rule else ()) for term in literal.terms]
            for literal in rule.literals if rule else ():
                for column, term in enumerate(literal.terms):
                    if literal.relation == relation and isinstance(term, Variable) and terms.count(term) > 1:
                        found.add((column, number))
        return sorted(found)

    def _memories(self, relation: str) -> list[WatchLiteral]:
        """The literals of a relation that have a memory of the tuples with their constants."""
        if self._structure not in WITH_MEMORIES:
            return []
        literals = [literal for rule in self._rules if rule for literal in rule.literals]
        return [literal for literal in literals if literal.relation == relation and _has_constants(literal)]

    def _forget_what_rules_keep(self) -> None:
        self._kept.clear()
        self._readers.clear()

    def _count_admitted(self, literal: WatchLiteral, rows: Iterable[CodeRow]) -> int:
        return sum(self._admits(literal, row) for row in rows)

    def _admits(self, literal: WatchLiteral, row: CodeRow) -> bool:
        return all(
            not isinstance(term, Constant) or self._code(term) == value
            for term, value in zip(literal.terms, row, strict=True)
        )

    def _code(self, constant: Constant) -> int:
        assert constant.kind is not None
        return self._codes.of_value(constant.value, constant.kind)


def _take(step: Step, row: CodeRow, values: Values) -> bool:
    """Gives variables their values from a tuple that agrees with what is known; whether it can stand there."""
    for column, place in step.new:
        values[place] = row[column]
    for column, place in step.again:
        if row[column] != values[place]:
            return False
    return all(compare(values[left], values[right]) for compare, left, right in step.compared)


def _has_constants(literal: WatchLiteral) -> bool:
    return any(isinstance(term, Constant) for term in literal.terms)


def _as_matches(found: list[tuple[int, int, int, CodeRow]]) -> Matches:
    widest = max((len(head) for *_, head in found), default=0)
    heads = np.zeros((len(found), widest), np.int64)
    marks = np.zeros((len(found), 3), np.int32)
    for at, (*mark, head) in enumerate(found):
        marks[at] = mark
        heads[at, : len(head)] = head
    return Matches(marks[:, 0], marks[:, 1], marks[:, 2], heads)
