"""What the yield index is compared with: other ways to find the matches of a tuple, counted in the same way.

They are plain and say what they would touch. A scan is counted tuple by tuple but not walked: the rows it would end
with are taken from a dictionary that is not counted, so that large workloads can be measured at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tidelog.activation.codes import Codes
from tidelog.activation.protocol import Accesses, Arrivals, IndexSize, Matches
from tidelog.activation.watch_rule import COMPARE, PlainTerm, WatchLiteral, WatchRule
from tidelog.language.syntax_tree import Constant, Variable
from tidelog.schema import Schema

CodeRow = tuple[int, ...]
Binding = dict[str, int]
"""The values of variables, by name."""

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
        self._kept.clear()
        return len(self._rules) - 1

    def remove_rule(self, rule: int) -> None:
        """Ends a rule."""
        self._rules[rule] = None
        self._kept.clear()

    def apply(self, arrivals: Arrivals) -> Matches:
        """The matches that begin and end with each of the arrivals, which are taken one after the other."""
        names = list(self._numbers)
        found: list[tuple[int, int, int, CodeRow]] = []
        for at in range(arrivals.relations.size):
            relation = names[arrivals.relations[at]]
            row = tuple(arrivals.rows[at, : self._widths[arrivals.relations[at]]].tolist())
            comes = arrivals.signs[at] > 0
            if (row in self._rows[relation]) == comes:
                continue
            found += [(rule, at, -1, head) for rule, head in self._touched(relation, row, negated=comes)]
            self._store(relation, row) if comes else self._forget(relation, row)
            found += [(rule, at, 1, head) for rule, head in self._touched(relation, row, negated=not comes)]
        return _as_matches(found)

    def matches(self, rule: int) -> Matches:
        """Every match of a rule that there is now; each tuple of its first literal is read to begin with."""
        watched = self._rules[rule]
        assert watched is not None
        first = next(at for at, literal in enumerate(watched.literals) if not literal.negated)
        found: list[tuple[int, int, int, CodeRow]] = []
        for row in self._rows[watched.literals[first].relation]:
            self.counters.tuples += 1
            found += [(rule, 0, 1, head) for head in self._activate(watched, first, row)]
        return _as_matches(found)

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
                entries += sum(self._admits(literal, row) for row in rows)
        return IndexSize(entries, entries * _BYTES_PER_ENTRY)

    def _touched(self, relation: str, row: CodeRow, *, negated: bool) -> Iterator[tuple[int, CodeRow]]:
        """The matches in which the tuple stands for a literal, or that it makes a negated literal forbid."""
        for number, rule in enumerate(self._rules):
            for at, literal in enumerate(rule.literals if rule else ()):
                if rule and literal.relation == relation and literal.negated == negated:
                    self.counters.activations += self._begins(literal, row)
                    for head in self._activate(rule, at, row):
                        yield number, head

    def _begins(self, literal: WatchLiteral, row: CodeRow) -> bool:
        """Whether the tuple has to be joined to find out; a memory that does not take it says that it need not."""
        return self._structure not in WITH_MEMORIES or self._admits(literal, row)

    def _activate(self, rule: WatchRule, pinned: int, row: CodeRow) -> Iterator[CodeRow]:
        binding = self._unified(rule.literals[pinned], row, {})
        if binding is not None:
            others = [at for at, literal in enumerate(rule.literals) if at != pinned and not literal.negated]
            yield from self._join(rule, pinned, row, binding, others)

    def _join(
        self, rule: WatchRule, pinned: int, row: CodeRow, binding: Binding, others: list[int]
    ) -> Iterator[CodeRow]:
        """The heads of all matches that extend `binding` over the other literals."""
        if not self._compared(rule, binding):
            return
        if not others:
            if self._nothing_forbids(rule, pinned, row, binding):
                yield tuple(self._value(term, binding) for term in rule.terms)
            return
        following = max(others, key=lambda at: (len(self._bound(rule.literals[at], binding)), -at))
        literal = rule.literals[following]
        is_same = literal.relation == rule.literals[pinned].relation and following < pinned
        for candidate in self._candidates(literal, binding):
            extended = self._unified(literal, candidate, binding)
            if extended is not None and not (is_same and candidate == row and not rule.literals[pinned].negated):
                rest = [at for at in others if at != following]
                yield from self._join(rule, pinned, row, extended, rest)

    def _nothing_forbids(self, rule: WatchRule, pinned: int, row: CodeRow, binding: Binding) -> bool:
        for at, literal in enumerate(rule.literals):
            if literal.negated:
                earlier = rule.literals[pinned].negated and at < pinned
                same = literal.relation == rule.literals[pinned].relation
                if earlier and same and self._unified(literal, row, binding) is not None:
                    return False
                if any(
                    self._unified(literal, found, binding) is not None for found in self._candidates(literal, binding)
                ):
                    return False
        return True

    def _candidates(self, literal: WatchLiteral, binding: Binding) -> list[CodeRow]:
        """The tuples that agree with all bound columns; what the structure touches to find them is counted."""
        bound = self._bound(literal, binding)
        self._count_access(literal, bound)
        if not bound:
            return list(self._rows[literal.relation])
        lists = [self._under[literal.relation, column].get(value, {}) for column, value in bound.items()]
        shortest = min(lists, key=len)
        return [row for row in shortest if all(row[column] == value for column, value in bound.items())]

    def _count_access(self, literal: WatchLiteral, bound: dict[int, int]) -> None:
        relation, counters = literal.relation, self.counters
        size = len(self._rows[relation])
        joined = [column for column in bound if isinstance(literal.terms[column], Variable)]
        match self._structure:
            case Structure.FIRST_COLUMN if 0 in bound:
                self._search(relation, 0, bound[0])
            case Structure.ALL_COLUMNS | Structure.ORDERED if bound:
                column = (joined or list(bound))[0]
                self._search(relation, column, bound[column])
            case Structure.MEMORIES if _has_constants(literal):
                self._read_memory(literal)
            case Structure.FILTERS if joined:
                counters.searches += 1
                listed = self._under[relation, joined[0]].get(bound[joined[0]], {})
                admitted = sum(self._admits(literal, row) for row in listed)
                counters.entries += 1 + admitted
                counters.tuples += admitted
            case Structure.FILTERS if _has_constants(literal):
                self._read_memory(literal)
            case _:
                counters.tuples += size

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
            sizes = [sum(self._admits(literal, row) for row in rows) for literal in memories]
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

    def _admits(self, literal: WatchLiteral, row: CodeRow) -> bool:
        return all(
            not isinstance(term, Constant) or self._value(term, {}) == value
            for term, value in zip(literal.terms, row, strict=True)
        )

    def _bound(self, literal: WatchLiteral, binding: Binding) -> dict[int, int]:
        """The columns of a literal that have a value, with it."""
        return {
            column: self._value(term, binding) for column, term in enumerate(literal.terms) if _is_known(term, binding)
        }

    def _unified(self, literal: WatchLiteral, row: CodeRow, binding: Binding) -> Binding | None:
        """`binding` with what the tuple gives to the variables of a literal; None where it cannot stand for it."""
        found = dict(binding)
        for term, value in zip(literal.terms, row, strict=True):
            if isinstance(term, Constant) and self._value(term, {}) != value:
                return None
            if isinstance(term, Variable) and found.setdefault(term.name, value) != value:
                return None
        return found

    def _compared(self, rule: WatchRule, binding: Binding) -> bool:
        """Whether no comparison is false whose sides are known by now."""
        for comparison in rule.comparisons:
            sides = (comparison.left, comparison.right)
            if all(_is_known(side, binding) for side in sides):
                left, right = (self._value(side, binding) for side in sides)
                if not COMPARE[comparison.operator](left, right):
                    return False
        return True

    def _value(self, term: PlainTerm, binding: Binding) -> int:
        if isinstance(term, Variable):
            return binding[term.name]
        assert isinstance(term, Constant)
        assert term.kind is not None
        return self._codes.of_value(term.value, term.kind)


def _is_known(term: PlainTerm, binding: Binding) -> bool:
    return term.name in binding if isinstance(term, Variable) else isinstance(term, Constant)


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
