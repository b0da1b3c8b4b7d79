"""Answers before anything else is derived: takes a question, returns the rows that it needs the program to derive.

A question is rewritten once for each form it has (which relation, which columns bound) and run with its constants as
the seed. It reads the relations of the backend where they are and adds relations of its own, which are emptied again:
for the session nothing has happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

import pyarrow as pa

from tidelog.analysis.adornment import Adornment, bound_columns, chosen
from tidelog.analysis.checked import CheckedProgram, SimpleRule
from tidelog.analysis.magic import Rewritten, Sources, Unhelpful, rewrite
from tidelog.analysis.magic_closures import is_composed
from tidelog.analysis.magic_ends import BothEnds, both_ends
from tidelog.backends.protocol import Backend
from tidelog.facts.columns import arrow_schema, column_of, empty_table
from tidelog.language.syntax_tree import Atom, Constant, Variable
from tidelog.maintain.materialize import CannotClose, Run
from tidelog.maintain.ordering import Ordering
from tidelog.maintain.protocol import Limits, Maintenance, Observer
from tidelog.plan.lower import given_to, lower, lower_rule
from tidelog.plan.modules import with_modules
from tidelog.plan.nodes import Plan, RulePlan, Version
from tidelog.plan.optimize import optimize
from tidelog.schema import Schema
from tidelog.span import NOWHERE
from tidelog.world.meeting import Search, Steady, meet, search_of

Form = tuple[str, Adornment, frozenset[str]]
"""The relation asked for, its bound columns, and the relations with rules that have explicit facts."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Derives all that the question needs; `rule` then gives the rows of `answer` that agree with the constants."""

    answer: str
    rule: RulePlan


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan for one form of question; `seed` is where the constants at the columns `used` go."""

    way: Reading | Search
    plan: Plan
    seed: Schema
    used: Adornment
    ordering: Ordering

    @property
    def own_relations(self) -> Iterator[str]:
        """What is filled while a question is answered."""
        yield self.seed.relation
        for stratum in self.plan.strata:
            yield from stratum.relations


class Questions:
    """Answers questions about a program and the explicit facts that a backend holds, none of it derived yet."""

    def __init__(
        self, checked: CheckedProgram, backend: Backend, limits: Limits, observer: Observer, maintenance: Maintenance
    ) -> None:
        self._checked = checked
        self._backend = backend
        self._limits = limits
        self._observer = observer
        self._maintenance = maintenance
        self._prepared: dict[Form, Prepared | Unhelpful] = {}
        self._excluded: frozenset[str] = frozenset()

    def answer(self, question: Atom) -> pa.Table | Unhelpful:
        """Rows of the relation of `question`, all that agree with its constants; or why it should be asked plainly."""
        if question.relation not in self._with_rules:
            stored: pa.Table = self._backend.table(question.relation)
            return stored
        prepared = self._prepare(question)
        if isinstance(prepared, Unhelpful):
            return prepared
        try:
            with self._seeded(prepared, question):
                return self._found(prepared, question)
        except CannotClose as too_large:
            self._excluded |= {too_large.relation}
            self._prepared.clear()
            return self.answer(question)

    def _prepare(self, question: Atom) -> Prepared | Unhelpful:
        """The plan for questions of this form, made when one is asked for the first time."""
        given = frozenset(name for name in self._with_rules if self._rows(given_to(name)))
        form = (question.relation, bound_columns(question, frozenset()), given)
        if form not in self._prepared:
            ends = both_ends(Sources.of(self._checked, given), question)
            rewritten = rewrite(self._checked, question, given) if ends is None else ends
            self._prepared[form] = self._planned(rewritten, given)
        return self._prepared[form]

    @cached_property
    def _with_rules(self) -> frozenset[str]:
        return frozenset(Sources.of(self._checked, frozenset()).rules)

    def _rows(self, relation: str) -> int:
        return self._backend.statistics().rows(relation, Version.FULL)

    def _planned(self, program: Rewritten | BothEnds | Unhelpful, given: frozenset[str]) -> Prepared | Unhelpful:
        match program:
            case Unhelpful():
                return program
            case BothEnds(checked=checked, asked=asked):
                search = search_of(program)
                plan, seed = search.plan, checked.schemas[asked]
                prepared = Prepared(search, plan, seed, (True,) * seed.arity, Steady(self._backend, self._observer))
            case Rewritten(checked=checked, used=used):
                plan = optimize(lower(checked))
                if self._maintenance.modules:
                    unclosed = {name for name in given if not _are_edges(name, checked)}
                    plan = with_modules(plan, self._excluded | unclosed)
                schemas = {**plan.schemas, **plan.hidden}
                seed = schemas.get(given_to(program.seed.relation), schemas[program.seed.relation])
                reading = _reading(program, seed)
                prepared = Prepared(reading, plan, seed, used, Ordering(self._backend, self._observer))
            case _:
                assert_never(program)
        self._backend.declare({**plan.schemas, **plan.hidden})
        return prepared

    @contextmanager
    def _seeded(self, prepared: Prepared, question: Atom) -> Iterator[None]:
        """A block in which the question is asked; afterwards nothing is left of it."""
        try:
            self._backend.insert(prepared.seed.relation, _row(prepared, question))
            yield
        finally:
            for relation in prepared.own_relations:
                self._backend.clear(relation)

    def _found(self, prepared: Prepared, question: Atom) -> pa.Table:
        run = Run(prepared.plan, self._backend, self._limits, self._observer, prepared.ordering)
        schema = self._checked.schemas[question.relation]
        match prepared.way:
            case Search():
                return _row(prepared, question) if meet(prepared.way, run, self._backend) else empty_table(schema)
            case Reading(answer, rule):
                for number, stratum in enumerate(prepared.plan.strata, start=1):
                    self._observer.stratum_started(number, stratum)
                    rounds, rows = run.evaluate(number, stratum)
                    self._observer.stratum_finished(number, rounds, rows)
                reading = run.ordered([rule])
                self._backend.catch_up(reading)
                facts = self._backend.collect(reading).get(answer)
                found: pa.Table = empty_table(schema) if facts is None else self._backend.table(answer, facts)
                return found
            case _:
                assert_never(prepared.way)


def _row(prepared: Prepared, question: Atom) -> pa.Table:
    """The constants of `question` that the program starts from, as one row."""
    schema = prepared.seed
    values = [term.value for term in chosen(question.arguments, prepared.used) if isinstance(term, Constant)]
    columns = [column_of(kind, [value]) for kind, value in zip(schema.kinds, values, strict=True)]
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def _are_edges(relation: str, checked: CheckedProgram) -> bool:
    """Whether facts given to a closure are edges of it: only where it is composed with itself."""
    for stratum in checked.strata:
        for closure in stratum.closures:
            if closure.relation == relation:
                return is_composed(closure, stratum.rules)
    return True


def _reading(rewritten: Rewritten, seed: Schema) -> Reading:
    """How the rows of the answer are read that agree with the seed."""
    schema = rewritten.checked.schemas[rewritten.answer]
    variables = tuple(Variable(name) for name in schema.names)
    rows = Atom(schema.relation, variables)
    body = (Atom(seed.relation, chosen(variables, rewritten.used)), rows)
    kinds = dict(zip(schema.names, schema.kinds, strict=True))
    rule = SimpleRule(0, rows, body, kinds, NOWHERE, f"the answers in {schema.relation}")
    return Reading(schema.relation, lower_rule(rule, {schema.relation: schema, seed.relation: seed}))
