"""Takes the parts of a body, returns the steps of plans as rows of a table that a kernel follows.

The next step is always one that only tests or computes, then an aggregate, then the atom with most columns known.
What heads compute is computed as soon as it can be, not again for each row of steps that it does not depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tidelog.kernels import firing_tables as table
from tidelog.language.syntax_tree import (
    AggregateFunction,
    Atom,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Negation,
    Term,
    Variable,
)
from tidelog.production.at_once.literals import Beyond, Group, Part, checked_term, names_in
from tidelog.schema import Kind, Schema, Value

_OPERATORS = {
    ComparisonOperator.EQUAL: table.EQUAL,
    ComparisonOperator.NOT_EQUAL: table.NOT_EQUAL,
    ComparisonOperator.LESS: table.LESS,
    ComparisonOperator.LESS_EQUAL: table.LESS_EQUAL,
    ComparisonOperator.GREATER: table.GREATER,
    ComparisonOperator.GREATER_EQUAL: table.GREATER_EQUAL,
}
_FUNCTIONS = {
    "+": table.ADD,
    "-": table.SUBTRACT,
    "*": table.MULTIPLY,
    "/": table.DIVIDE,
    "%": table.REMAINDER,
    "neg": table.NEGATE,
}
_AHEAD = ("+", "-", "*", "neg")
"""Functions that are computed for rows that may lead to no instance: but for the largest numbers, they have a value."""

_AGGREGATES = {
    AggregateFunction.COUNT: table.COUNT,
    AggregateFunction.SUM: table.TOTAL,
    AggregateFunction.MIN: table.LEAST,
    AggregateFunction.MAX: table.GREATEST,
}


class Sense(Enum):
    """What rows are for: in a SET, it counts whether there is one; in a BAG, the body of an aggregate, each counts."""

    SET = "set"
    BAG = "bag"


Bound = dict[str, int]
"""The register of each variable that has a value."""


@dataclass(slots=True)
class Tables:
    """What plans are made of, as far as it is written: steps, what they refer to, indexes and values of the text."""

    schemas: Mapping[str, Schema]
    steps: list[list[int]] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    relations: dict[str, int] = field(default_factory=dict)
    indexes: dict[tuple[str, tuple[int, ...]], list[int]] = field(default_factory=dict)
    constants: dict[tuple[Kind, Value], int] = field(default_factory=dict)
    registers: int = 0

    def relation(self, name: str) -> int:
        """The number of a relation."""
        return self.relations.setdefault(name, len(self.relations))

    def register(self, count: int = 1) -> int:
        """The first of so many new registers."""
        self.registers += count
        return self.registers - count

    def constant(self, kind: Kind, value: Value) -> int:
        """The register that has a value of the text."""
        if (kind, value) not in self.constants:
            self.constants[kind, value] = self.register()
        return self.constants[kind, value]

    def refer(self, numbers: Iterable[int]) -> int:
        """Where these numbers begin among the operands."""
        begin = len(self.operands)
        self.operands += numbers
        return begin

    def index(self, relation: str, key: tuple[int, ...], step: int) -> None:
        """Notes that a step looks rows up by these columns: its first number will be that of the index."""
        self.relation(relation)
        self.indexes.setdefault((relation, key), []).append(step)


class Plan:
    """Writes the steps of one plan. `bound` are the variables that have values so far."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.bound: Bound = {}
        self.first = len(tables.steps)
        self._last = table.NONE
        self._levels: dict[int, int] = {}
        self._computed: dict[Term, int] = {}

    def step(self, does: int, *numbers: int) -> int:
        """Writes a step that is gone back from to the last one that has rows to offer; its number."""
        self.tables.steps.append([does, self._last, *numbers, *[0] * (table.STEP_COLUMNS - 2 - len(numbers))])
        return len(self.tables.steps) - 1

    def level(self, registers: Iterable[int]) -> int:
        """The last step whose rows the values of registers depend on; the first one of the plan if none does."""
        return max((self._levels.get(register, self.first) for register in registers), default=self.first)

    def take_given(self, terms: Sequence[Term], kinds: Sequence[Kind]) -> list[Comparison]:
        """The first step of a plan that starts from one row: takes its variables. Returns what is left to compare with
        terms that must be computed."""
        taken: list[int] = []
        compared: list[int] = []
        left: list[Comparison] = []
        for column, (term, kind) in enumerate(zip(terms, kinds, strict=True)):
            match term:
                case Variable(name) if name in self.bound:
                    compared += [column, self.bound[name]]
                case Variable(name):
                    self.bound[name] = self.tables.register()
                    taken += [column, self.bound[name]]
                case Constant(value=value):
                    compared += [column, self.tables.constant(kind, value)]
                case Call(span=span):
                    given = Variable(f"#given{column}")
                    self.bound[given.name] = self.tables.register()
                    taken += [column, self.bound[given.name]]
                    left.append(Comparison(ComparisonOperator.EQUAL, given, checked_term(term), span, Kind.NUMBER))
        begin = self.tables.refer(taken + compared)
        ends = begin + len(taken), begin + len(taken) + len(compared)
        self.step(table.GIVEN, 0, 0, 0, 0, 0, begin, *ends)
        return left

    def take_parts(
        self, parts: Sequence[Part], sense: Sense, start: Atom | None = None, ahead: Sequence[Term] = ()
    ) -> None:
        """Writes a step for each part, the atom `start` first; terms `ahead` are needed afterwards."""
        waiting = list(parts)
        if start is not None:
            waiting = [part for part in waiting if part is not start]
            self._take_atom(start, sense)
        while waiting:
            chosen = next((part for part in waiting if self._is_test(part, sense)), None)
            if chosen is None:
                self._compute(ahead)
            chosen = chosen or next((part for part in waiting if self._is_ready_group(part)), None)
            if chosen is None:
                atoms = [part for part in waiting if isinstance(part, Atom)]
                if not atoms:
                    raise Beyond
                chosen = max(atoms, key=self._known_columns)
            waiting = [part for part in waiting if part is not chosen]
            self._take(chosen, sense)

    def value(self, term: Term, kind: Kind) -> int:
        """The register with the value of a term, after the steps that compute it."""
        match term:
            case Variable(name):
                return self.bound[name]
            case Constant(value=value):
                return self.tables.constant(kind, value)
            case Call() if term in self._computed:
                return self._computed[term]
            case Call(function=function, arguments=arguments):
                values = [self.value(argument, Kind.NUMBER) for argument in arguments]
                result = self.tables.register()
                self._levels[result] = self.level(values)
                self.step(table.CALCULATE, result, values[0], values[-1], _FUNCTIONS[function])
                return result
            case _:
                raise Beyond

    def _compute(self, terms: Sequence[Term]) -> None:
        """Computes those of `terms` whose variables have values by now."""
        for term in terms:
            if term not in self._computed and _is_sum(term) and names_in([term]) <= self.bound.keys():
                self._computed[term] = self.value(term, Kind.NUMBER)

    def compare(self, operator: ComparisonOperator, left: int, right: int) -> None:
        """Writes the step that compares two registers."""
        self.step(table.COMPARE, _OPERATORS[operator], left, right)

    def _is_test(self, part: Part, sense: Sense) -> bool:
        """Whether a part offers one row at most."""
        match part:
            case Comparison(operator=operator, left=left, right=right):
                unknown = [side for side in (left, right) if not names_in([side]) <= self.bound.keys()]
                is_equality = operator is ComparisonOperator.EQUAL
                return not unknown or (is_equality and len(unknown) == 1 and isinstance(unknown[0], Variable))
            case Negation(atom=atom):
                return names_in(atom.arguments) <= self.bound.keys()
            case Atom(arguments=arguments):
                is_whole = all(isinstance(term, Variable | Constant) for term in arguments)
                return names_in(arguments) <= self.bound.keys() and (is_whole or sense is Sense.SET)
            case Group():
                return False

    def _is_ready_group(self, part: Part) -> bool:
        return isinstance(part, Group) and part.outer <= self.bound.keys()

    def _known_columns(self, atom: Atom) -> int:
        return sum(
            isinstance(term, Constant) or (isinstance(term, Variable) and term.name in self.bound)
            for term in atom.arguments
        )

    def _take(self, part: Part, sense: Sense) -> None:
        match part:
            case Comparison():
                self._take_comparison(part)
            case Negation(atom=atom):
                self._look_up(atom, table.ABSENT)
            case Atom():
                if self._is_test(part, sense):
                    self._look_up(part, table.PRESENT)
                else:
                    self._take_atom(part, sense)
            case Group():
                self._take_group(part)

    def _take_comparison(self, part: Comparison) -> None:
        assert part.kind is not None
        for side, other in ((part.left, part.right), (part.right, part.left)):
            if isinstance(side, Variable) and side.name not in self.bound:
                value = self.value(other, part.kind)
                self.bound[side.name] = self.tables.register()
                self._levels[self.bound[side.name]] = self.level([value])
                self.step(table.COPY, self.bound[side.name], value)
                return
        left, right = self.value(part.left, part.kind), self.value(part.right, part.kind)
        self.compare(part.operator, left, right)

    def _key_of(self, atom: Atom) -> tuple[tuple[int, ...], int]:
        """The columns of an atom whose values are known, and where their registers are among the operands."""
        kinds = self.tables.schemas[atom.relation].kinds
        known: dict[int, int] = {}
        for column, term in enumerate(atom.arguments):
            match term:
                case Constant(value=value):
                    known[column] = self.tables.constant(kinds[column], value)
                case Variable(name) if name in self.bound:
                    known[column] = self.bound[name]
        return tuple(known), self.tables.refer(known.values())

    def _look_up(self, atom: Atom, does: int) -> None:
        key, at = self._key_of(atom)
        self.tables.index(atom.relation, key, self.step(does, 0, 0, 0, 0, at))

    def _take_atom(self, atom: Atom, sense: Sense) -> None:
        """Writes the step that offers the rows of an atom, one after the other."""
        if self._is_test(atom, sense):
            self._look_up(atom, table.PRESENT)
            return
        key, at = self._key_of(atom)
        taken: list[int] = []
        compared: list[int] = []
        new: Bound = {}
        for column, term in enumerate(atom.arguments):
            if isinstance(term, Variable) and column not in key:
                if term.name in new:
                    compared += [column, new[term.name]]
                else:
                    new[term.name] = self.tables.register()
                    taken += [column, new[term.name]]
        begin = self.tables.refer(taken + compared)
        ends = begin + len(taken), begin + len(taken) + len(compared)
        if key:
            step = self.step(table.PROBE, 0, 0, 0, 0, at, begin, *ends)
            self.tables.index(atom.relation, key, step)
        else:
            step = self.step(table.SCAN, self.tables.relation(atom.relation), 0, 0, 0, 0, begin, *ends)
        self.bound |= new
        self._levels |= dict.fromkeys(new.values(), step)
        self._last = step

    def _take_group(self, part: Group) -> None:
        """Writes the steps of an aggregate: those of its body are gone through, then it has a value."""
        is_known = part.name in self.bound
        result, total = self.tables.register(), self.tables.register(2)
        self._levels[result] = self.level(self.bound[name] for name in part.outer)
        group = self.step(table.GROUP, _AGGREGATES[part.function], result, total)
        before, bound = self._last, dict(self.bound)
        self._last = group
        # A variable of the body that occurs nowhere else has values of its own there.
        self.bound = {name: self.bound[name] for name in part.outer}
        self.take_parts(part.body, Sense.BAG)
        value = 0 if part.target is None else self.value(part.target, Kind.NUMBER)
        end = self.step(table.GROUP_END, group, value)
        self.tables.steps[group][table.FOURTH] = end
        self._last, self.bound = before, bound
        if is_known:
            self.compare(ComparisonOperator.EQUAL, self.bound[part.name], result)
        else:
            self.bound[part.name] = result


def _is_sum(term: Term) -> bool:
    """Whether a term is computed, by nothing but functions `_AHEAD`."""
    if not isinstance(term, Call) or term.function not in _AHEAD:
        return False
    return all(_is_sum(each) for each in term.arguments if isinstance(each, Call))
