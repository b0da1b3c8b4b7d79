"""A run of parallel production rules that remembers what it needs to take late news."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.protocol import Backend, InProcess, OwnRows, is_in_process
from tidelog.facts.chain import Chains as History
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Rows
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.maintain.protocol import Limits
from tidelog.production.late.chain_columns import Chains, Flags, Records, status_before
from tidelog.production.late.derivations import derivations_of
from tidelog.production.late.ever_there import EverThere
from tidelog.production.late.first_run import run_from_start
from tidelog.production.late.nets import are_stored, net_of
from tidelog.production.late.state import State
from tidelog.schema import Schema


class LateRun:
    """The course of a run, and the facts that were ever there in it.

    A course never changes: late news puts another in its place, and an earlier one can be put back.
    """

    def __init__(self, checked: CheckedProgram, backend: Backend, given: Mapping[str, OwnRows], limits: Limits) -> None:
        assert is_in_process(backend), "production rules run where facts are rows of ids"
        self.backend: InProcess = backend
        self.limits = limits
        self.rules = checked.productions
        self.schemas: Mapping[str, Schema] = checked.schemas
        self.state = State(checked, backend, given, limits)
        self.relations = self.state.given
        self.plans = [each for rule in self.rules for each in derivations_of(rule, checked.schemas)]
        backend.declare({each.relation: each.schema for each in self.plans})
        first = run_from_start(self.state, self.rules, self.plans, limits)
        none = {name: Chains.none(self.width(name)) for name in self.relations}
        self.course = replace(first.course, chains={**none, **first.course.chains})
        self.ever_there = EverThere(backend, self.schemas, self.relations, self.plans, first.gone)

    @property
    def cycles(self) -> int:
        return self.course.cycles

    def chains(self, relation: str) -> Chains:
        """The chains of a relation."""
        return self.course.chains[relation]

    def width(self, relation: str) -> int:
        """How many ids a row has."""
        return max(1, self.schemas[relation].arity)

    def look_up(self, relation: str, rows: Rows) -> tuple[Flags, Records]:
        """Which facts are there at the start, and their records, by place."""
        has_chain, is_first, records = self.chains(relation).look_up(rows)
        others = np.flatnonzero(~has_chain)
        if others.size:
            is_first[others] = self.ever_there.was_always_there(relation, np.ascontiguousarray(rows[others]))
        return is_first, records

    def table(self, relation: str) -> pa.Table:
        """The facts of a relation at the end of the run."""
        rows: pa.Table = self.backend.table(relation, FactSet(self.rows_before(self.cycles, relation)))
        return rows

    def rows_before(self, iteration: int, relation: str) -> Rows:
        """The facts of a relation that are there before an iteration."""
        rows = self.ever_there.rows(relation)
        return rows[status_before(iteration, *self.look_up(relation, rows))]

    def go_to(self, iteration: int) -> None:
        """Brings the state to what it is before an iteration."""
        self.state.shift({name: net for name in self.relations if (net := self._way_to(iteration, name))})

    def history(self) -> History:
        """When each fact came and went, and by which rules."""
        history = History()
        for number, nets in enumerate(self.course.nets()):
            for relation, net in nets.items():
                for sign, facts in ((Sign.INSERT, net.came), (Sign.DELETE, net.went)):
                    if len(facts):
                        asked = tuple(
                            rule.name
                            for rule in self.course.fired(number, self.rules)
                            if any(head.sign is sign and head.atom.relation == relation for head in rule.heads)
                        )
                        rows = self.backend.table(relation, facts)
                        history.note(number + 1, relation, sign is Sign.INSERT, rows, asked)
        return history

    def _way_to(self, iteration: int, relation: str) -> Net:
        """What has to come and go for the state to be the one before an iteration."""
        rows, is_first, records = self.chains(relation).everything()
        late = self.ever_there.late(relation)
        has_chain, _, _ = self.chains(relation).look_up(late)
        rows = np.concatenate([rows, late[~has_chain]])
        is_there = np.concatenate([status_before(iteration, is_first, records), np.zeros(rows.shape[0], np.bool_)])
        is_there = is_there[: rows.shape[0]]
        differs = is_there != are_stored(self.backend, relation, rows)
        return net_of(rows[differs], is_there[differs])
