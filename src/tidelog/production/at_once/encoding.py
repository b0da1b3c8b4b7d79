"""Takes the production rules of a program, returns them as tables that a kernel reads; they do not depend on facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tidelog.analysis.checked import CheckedProgram, ProductionRule, SignedHead
from tidelog.facts.columns import DTYPES
from tidelog.kernels import firing_tables as table
from tidelog.language.syntax_tree import Atom, Negation, Semantics, Sign, Term
from tidelog.plan.planned import PROGRAMS_KEPT
from tidelog.plan.retention.expressions import body_expression
from tidelog.plan.same import Same
from tidelog.production.at_once.literals import Beyond, Body, Part, checked_term, plain
from tidelog.production.at_once.steps import Plan, Sense, Tables
from tidelog.production.semantics import in_order
from tidelog.schema import Kind, Schema

Table = npt.NDArray[np.int64]

_SIGNS = {Sign.INSERT: table.CAME, Sign.DELETE: table.WENT}
_UNDOING = {Sign.INSERT: table.WENT, Sign.DELETE: table.CAME}


@dataclass(frozen=True, slots=True, eq=False)
class Spare:
    """The memory of a run: to get pages from the system takes a while. It began with so many `facts`, and in the end
    relations had these `rooms`: the next run of as many facts need not move them to find out."""

    memory: Table
    facts: int
    rooms: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRules:
    """Rules in the order in which they are tried, as tables (see `kernels.firing_tables`).

    `relations` are the schemas of what the tables number, those that rules act on first: so many are `acted_on`.
    `matters` says of each rule and each relation that is acted on whether rows that come and that go matter: 1, or NONE
    where an aggregate reads them, so that all has to be looked at. `registers` has the numbers of the rules, `texts`
    are those that get the ids of texts.
    """

    order: tuple[ProductionRule, ...]
    relations: tuple[Schema, ...]
    acted_on: int
    texts: tuple[tuple[int, str], ...]
    registers: Table
    relation_rows: Table
    index_rows: Table
    steps: Table
    operands: Table
    heads: Table
    plans: Table
    alternatives: Table
    triggers: Table
    asking: Table
    rules: Table
    matters: Table
    words_of_place: tuple[int, ...]
    """Words that a place for a row takes, of each relation and then of those for what is asked of them."""
    widest: int
    spare: list[Spare] = field(default_factory=list)
    """What a run that is over leaves to the next one."""
    logs: list[Table] = field(default_factory=list)
    """The log of a run that nobody asks about any more."""


def encoded(checked: CheckedProgram) -> EncodedRules | None:
    """The rules of `checked`; None where a kernel cannot run them. For the last few programs it is made only once."""
    return _encoded(Same(checked))


@lru_cache(PROGRAMS_KEPT)
def _encoded(program: Same[CheckedProgram]) -> EncodedRules | None:
    checked = program.thing
    if not checked.productions:  # it says how rules fire, and has none
        return None
    if checked.semantics is None or checked.semantics.semantics is not Semantics.SET or checked.semantics.refraction:
        return None
    try:
        return Encoding(checked).encoded()
    except Beyond:
        return None


class Encoding:
    """Writes the tables."""

    def __init__(self, checked: CheckedProgram) -> None:
        self._checked = checked
        self._order = in_order(checked.productions)
        self._tables = Tables(checked.schemas)
        acted_on = dict.fromkeys(head.atom.relation for rule in checked.productions for head in rule.heads)
        for name in acted_on:
            self._tables.index(name, tuple(range(checked.schemas[name].arity)), table.NONE)
        self._acted_on = tuple(acted_on)
        self._heads: list[list[int]] = []
        self._plans: list[list[int]] = []
        self._alternatives: list[list[int]] = []
        self._triggers: list[list[int]] = []
        self._asking: list[list[int]] = []
        self._matters = np.zeros((len(self._order), 2 * len(acted_on)), np.int64)

    def encoded(self) -> EncodedRules:
        """The tables of all rules."""
        rules = [self._rule(number, rule) for number, rule in enumerate(self._order)]
        tables = self._tables
        names = tuple(tables.relations)
        relation_rows, index_rows = self._stored(names)
        return EncodedRules(
            self._order,
            tuple(self._checked.schemas[name] for name in names),
            len(self._acted_on),
            tuple((at, str(value)) for (kind, value), at in tables.constants.items() if kind is Kind.SYMBOL),
            self._registers(),
            relation_rows,
            index_rows,
            _array(tables.steps, table.STEP_COLUMNS),
            np.array(tables.operands or [0], np.int64),
            _array(self._heads, table.HEAD_COLUMNS_OF_TABLE),
            _array(self._plans, 2),
            _array(self._alternatives, 2),
            _array(self._triggers, 3),
            _array(self._asking, 2),
            _array(rules, table.RULE_COLUMNS),
            self._matters,
            tuple(int(each) for each in words_of_place(relation_rows)),
            max(self._checked.schemas[name].arity for name in names),
        )

    def _registers(self) -> Table:
        """The registers at the start, with the numbers of the rules."""
        registers = np.zeros(max(1, self._tables.registers), np.int64)
        for (kind, value), register in self._tables.constants.items():
            if kind is not Kind.SYMBOL:
                numbers = np.array([value], DTYPES[kind]) + 0  # a negative zero becomes zero, as in facts
                registers[register : register + 1] = numbers.view(np.int64)
        return registers

    def _stored(self, names: Sequence[str]) -> tuple[Table, Table]:
        """The relations, those for what is asked of them behind them, and their indexes; steps get to know these."""
        tables = self._tables
        relations: list[list[int]] = []
        indexes: list[list[int]] = []

        def add(width: int, stride: int, keys: Sequence[tuple[int, ...]], asked: int) -> None:
            begin = len(indexes)
            indexes.extend([len(relations), tables.refer(key), len(key), 0, 0, table.NONE] for key in keys)
            relations.append([width, stride, 0, 0, 0, 0, 0, table.LAST_FREE, begin, len(indexes), asked, 0, 0])

        for number, name in enumerate(names):
            width = self._checked.schemas[name].arity
            keys = [key for relation, key in tables.indexes if relation == name]
            for place, key in enumerate(keys):
                for step in tables.indexes[name, key]:
                    if step != table.NONE:
                        tables.steps[step][table.FIRST] = len(indexes) + place
            add(width, width, keys, len(names) + number if number < len(self._acted_on) else table.NONE)
        for name in self._acted_on:
            width = self._checked.schemas[name].arity
            add(width, width + 2, [tuple(range(width))], table.NONE)
        return _array(relations, table.RELATION_COLUMNS), _array(indexes, table.INDEX_COLUMNS)

    def _rule(self, place: int, rule: ProductionRule) -> list[int]:
        alternatives, triggers, asking = len(self._alternatives), len(self._triggers), len(self._asking)
        signs = {(head.atom.relation, head.sign) for head in rule.heads}
        contested = {name for name, _ in signs if {(name, sign) for sign in Sign} <= signs}
        for number, body in enumerate(rule.bodies):
            parts = Body(rule, number, self._checked.schemas).parts
            atoms = [part for part in parts if isinstance(part, Atom)]
            begin = len(self._plans)
            starts: Sequence[Atom | None] = atoms or [None]
            terms = _terms(rule.heads)
            for start in starts:
                plan = Plan(self._tables)
                plan.take_parts(parts, Sense.SET, start=start, ahead=terms)
                self._end(plan, rule.heads, contested, start)
            self._alternatives.append([begin, len(self._plans)])
            for part in parts:
                self._gained_by(part, parts, rule, contested)
            for head in rule.heads:
                self._undone(head, parts, contested)
            for relation in body_expression(body).grouped & {*self._acted_on}:
                column = 2 * self._tables.relation(relation)
                self._matters[place, column : column + 2] = table.NONE
        for acted_on, sign, _ in self._triggers[triggers:]:
            at = place, 2 * acted_on + sign - table.CAME
            self._matters[at] = self._matters[at] or 1
        ends = len(self._alternatives), len(self._triggers), len(self._asking)
        return [alternatives, ends[0], triggers, ends[1], asking, ends[2], table.NONE]

    def _gained_by(self, part: Part, parts: Sequence[Part], rule: ProductionRule, contested: set[str]) -> None:
        """The plan from a row that came or, of a negated atom, went."""
        atom = part.atom if isinstance(part, Negation) else part
        if not isinstance(atom, Atom) or atom.relation not in self._acted_on:
            return
        plan = Plan(self._tables)
        plan.take_given(atom.arguments, self._checked.schemas[atom.relation].kinds)
        plan.take_parts(parts, Sense.SET, ahead=_terms(rule.heads))
        number = self._end(plan, rule.heads, contested, None)
        sign = table.WENT if isinstance(part, Negation) else table.CAME
        self._triggers.append([self._tables.relation(atom.relation), sign, number])

    def _undone(self, head: SignedHead, parts: Sequence[Part], contested: set[str]) -> None:
        """The plan from a fact to whether a head asks for it: it was undone, or others may ask for the opposite."""
        kinds = self._checked.schemas[head.atom.relation].kinds
        plan = Plan(self._tables)
        terms = [plain(term) for term in head.atom.arguments]
        left = plan.take_given(terms, kinds)
        plan.take_parts([*left, *parts], Sense.SET)
        number = self._end(plan, [head], contested, None, is_enough=True)
        relation = self._tables.relation(head.atom.relation)
        self._triggers.append([relation, _UNDOING[head.sign], number])
        if head.atom.relation in contested:
            self._asking.append([len(self._heads) - 1, number])

    def _end(
        self,
        plan: Plan,
        heads: Sequence[SignedHead],
        contested: set[str],
        start: Atom | None,
        *,
        is_enough: bool = False,
    ) -> int:
        """Writes the step that asks for what heads say; where one instance `is_enough`, it is the last one."""
        rows = []
        for head in heads:
            kinds = self._checked.schemas[head.atom.relation].kinds
            values = [
                plan.value(checked_term(term), kind) for term, kind in zip(head.atom.arguments, kinds, strict=True)
            ]
            relation = self._tables.relation(head.atom.relation)
            columns = self._tables.refer(values)
            is_contested = int(head.atom.relation in contested)
            rows.append([relation, _SIGNS[head.sign], columns, is_contested, plan.level(values)])
        begin = len(self._heads)
        self._heads += rows
        plan.step(table.EMIT, begin, len(self._heads), int(is_enough))
        self._plans.append([plan.first, table.NONE if start is None else self._tables.relation(start.relation)])
        return len(self._plans) - 1


def words_of_place(relations: Table) -> Table:
    """The words that a place for a row of each relation takes."""
    indexes = relations[:, table.INDEXES_END] - relations[:, table.INDEXES]
    return relations[:, table.STRIDE] + 1 + table.WORDS_OF_LINKS * indexes


def _terms(heads: Iterable[SignedHead]) -> list[Term]:
    """What heads say, in the words of a kernel."""
    return [checked_term(term) for head in heads for term in head.atom.arguments]


def _array(rows: Sequence[Sequence[int]], columns: int) -> Table:
    return np.array(rows, np.int64).reshape(len(rows), columns)
