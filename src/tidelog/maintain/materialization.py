"""The explicit facts of a program and what follows from them, kept true while facts come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace

import pyarrow as pa

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.protocol import Backend, Facts, OwnRows
from tidelog.errors import EvaluationError
from tidelog.facts.change import Change, LaterTables, NetDelta, Outcome
from tidelog.maintain.budget import InVain
from tidelog.maintain.journal import Journal, Net
from tidelog.maintain.materialize import CannotClose, Run, materialize
from tidelog.maintain.ordering import Ordering
from tidelog.maintain.protocol import UNLIMITED, Limits, Maintenance, Observer
from tidelog.maintain.rule_changes import (
    derives,
    differences,
    kept_in,
    move_explicit_facts,
    seconds_kept,
    strata_to_derive,
)
from tidelog.maintain.update import Update
from tidelog.plan.lower import given_to
from tidelog.plan.modules import closed_over_copies, closed_over_others, closed_while_bare, edges_of
from tidelog.plan.nodes import Version
from tidelog.plan.planned import planned
from tidelog.plan.update_rules import Questionnaire
from tidelog.schema import Schema


class Materialization:
    """Facts and consequences. Nothing is derived before somebody asks for it."""

    def __init__(
        self, checked: CheckedProgram, backend: Backend, limits: Limits, observer: Observer, maintenance: Maintenance
    ) -> None:
        self._backend = backend
        self._limits = limits
        self._observer = observer
        self._maintenance = maintenance
        self._is_current = False
        self._seconds: dict[int, float] = {}
        self._distrusted: frozenset[str] = frozenset()
        self._excluded: frozenset[str] = frozenset()
        self._given: frozenset[str] = frozenset()
        self._declared: dict[str, Schema] = {}
        self._take(checked)
        self._state_facts()

    def materialize(self) -> None:
        """Derives everything that follows, unless that is done."""
        if not self._is_current:
            self._leave_out({name for name in self._linear if self._count_explicit(name)})
            if given := {name for name in self._bare if self._count_explicit(name)}:
                self._given |= given
                self._take(self._checked)
            try:
                found = materialize(self._plan, self._backend, self._limits, self._observer, self._ordering)
                self._seconds = dict(found)
            except CannotClose as too_large:
                self._forget_what_follows()
                self._leave_out({too_large.relation})
                self.materialize()
            except BaseException:
                self._forget_what_follows()
                raise
            self._is_current = True

    def table(self, relation: str) -> OwnRows:
        """The facts of `relation`, explicit and derived."""
        self.materialize()
        return self._backend.table(relation)

    def facts(self, relation: str) -> Facts:
        """As `table`, as facts that a backend made from this one can store."""
        self.materialize()
        return self._backend.facts(relation)

    def count(self, relation: str) -> int:
        """How many facts `relation` has."""
        self.materialize()
        return self._backend.statistics().rows(relation, Version.FULL)

    def explicit(self, relation: str) -> OwnRows:
        """The facts given to `relation`."""
        return self._backend.table(self._kept_in(relation))

    def explicit_facts(self, relation: str) -> Facts:
        """As `explicit`, as facts that a backend made from this one can store."""
        return self._backend.facts(self._kept_in(relation))

    def load(self, relation: str, rows: pa.Table) -> int:
        """Adds explicit facts whose consequences nobody waits for; how many were new."""
        if self._is_current:
            return sum(len(net.came) for net in self._take_in(Change({relation: rows}))[0].values())
        return self._backend.insert(self._kept_in(relation), rows)

    def unload(self, relation: str, rows: pa.Table) -> int:
        """Takes explicit facts away; how many were there."""
        if self._is_current:
            return sum(len(net.went) for net in self._take_in(Change({}, {relation: rows}))[0].values())
        kept = self._kept_in(relation)
        went = self._backend.stored(kept, self._backend.facts(kept, rows))
        self._backend.exchange(kept, went.none(), went)
        return len(went)

    def apply(self, change: Change) -> Outcome:
        """Brings a change about, all of it or, when there is an error, nothing."""
        return self._outcome(change, *self._take_in(change))

    def exchange(self, nets: Mapping[str, Net]) -> Mapping[str, Net]:
        """Brings about what came and went in relations that no rule derives, all of it or, on an error, nothing.

        Returns what is not as it was, by relation. Closures are computed by their rules: it is not for modules.
        """
        journal = Journal(self._backend)
        try:
            self._update(nets, journal)
        except BaseException:
            self._distrusted |= journal.take_back()
            raise
        return journal.nets

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """A block that no limit stops: it leads back to what was there before, however far that is."""
        limits, self._limits = self._limits, UNLIMITED
        try:
            yield
        finally:
            self._limits = limits

    def replace_program(self, checked: CheckedProgram) -> Outcome:
        """Takes another program with the same explicit facts, as far as it has their relations.

        Strata whose rules are the same keep what they have and follow what changes below them.
        """
        if not self._is_current:
            self.__dict__.update(self._moved_to(checked).__dict__)
            return Outcome()
        other = self._with_rules_of(checked)
        if other is not None:
            with suppress(CannotClose, EvaluationError):
                # A closure that reads the same edges as before need not be computed anew.
                self._copy_edges(self._bare & closed_over_copies(other._plan))
                return self._follow(other)
        other = self._moved_to(checked)
        other.materialize()
        deltas = differences(self._plan.schemas, other._plan.schemas, self.table, other.table)
        self.__dict__.update(other.__dict__)
        return Outcome(deltas=deltas)

    def _take_in(self, change: Change) -> tuple[Mapping[str, Net], Journal]:
        """What `change` really changed, and what came of it."""
        self.materialize()
        nets = self._nets(change)
        came = {kept for kept, net in nets.items() if len(net.came)}
        given = {name for name in self._linear | self._bare if given_to(name) in came}
        if linear := given & self._linear:
            self._leave_out(linear)
            nets = self._nets(change)
        self._copy_edges(given & self._bare)
        journal = Journal(self._backend)
        try:
            self._update(nets, journal)
        except CannotClose as too_large:
            self._distrusted |= journal.take_back()
            self._leave_out({too_large.relation})
            return self._take_in(change)
        except BaseException:
            self._distrusted |= journal.take_back()
            raise
        return nets, journal

    def _with_rules_of(self, checked: CheckedProgram) -> Materialization | None:
        """The same facts with another program, nothing derived by it yet; None where relations are other ones."""
        other = copy(self)
        other._given |= closed_over_copies(self._plan)
        other._take(checked)
        known = (other._linear | other._bare) & self._plan.schemas.keys()
        given = {name for name in known if self._count_explicit(name)}
        if given:
            other._excluded |= given & other._linear
            other._given |= given & other._bare
            other._take(checked)
        was_closed = {each.closed.closure.relation for each in self._plan.strata if each.closed}
        for name, schema in (*other._plan.schemas.items(), *other._plan.hidden.items()):
            if self._declared.get(name, schema) != schema:
                return None
            if name in was_closed and other._kept_in(name) == name:
                return None
        return other

    def _count_explicit(self, relation: str) -> int:
        return self._backend.statistics().rows(self._kept_in(relation), Version.FULL)

    def _follow(self, other: Materialization) -> Outcome:
        """Derives what `other` derives from what is there, and becomes it."""
        journal = Journal(self._backend)
        try:
            other._derive_by_other_rules(self, journal)
        except BaseException:
            journal.take_back()
            self._forget_what_follows()
            self._is_current = False
            raise
        deltas = {name: other._delta(name, net) for name, net in journal.nets.items() if name in other._plan.schemas}
        for relation in (*self._plan.schemas, *self._plan.hidden):
            if relation not in other._plan.schemas and relation not in other._plan.hidden:
                vanished = self._backend.clear(relation)
                if relation in self._plan.schemas and len(vanished):
                    deltas[relation] = self._delta(relation, Net(vanished.none(), vanished))
        self.__dict__.update(other.__dict__)
        return Outcome(deltas=deltas)

    def _derive_by_other_rules(self, before: Materialization, journal: Journal) -> None:
        """Makes everything true by these rules where it is by the rules `before`."""
        change = move_explicit_facts(before._plan, self._plan, self._backend, journal)
        run = Run(self._plan, self._backend, self._limits, self._observer, self._ordering)
        run.seconds.update(seconds_kept(before._plan, self._plan, before._seconds))
        update = self._new_update(run, journal)
        update.apply(change, strata_to_derive(before._plan, self._plan))
        self._seconds = run.seconds
        self._distrusted -= update.derived_anew

    def _moved_to(self, checked: CheckedProgram) -> Materialization:
        """Another one with that program and the same explicit facts, apart from this one."""
        other = copy(self)
        other._backend = self._backend.fresh(checked.schemas)
        other._declared = {}
        if checked is not self._checked:
            other._excluded = other._given = frozenset()
        other._take(checked)
        both = [name for name in checked.schemas if self._plan.schemas.get(name) == checked.schemas[name]]
        for relation in both:
            other._backend.insert(other._kept_in(relation), self.explicit(relation))
        other._is_current = False
        return other

    def _take(self, checked: CheckedProgram) -> None:
        self._checked = checked
        self._planned = planned(checked, self._excluded, self._given, modules=self._maintenance.modules)
        self._plan = self._planned.plan
        self._in_vain: dict[int, InVain] = {}
        self._linear = closed_over_others(self._plan)
        self._bare = closed_while_bare(self._plan)
        relations = {**self._plan.schemas, **self._plan.hidden}
        self._backend.declare(relations)
        for name, schema in relations.items():
            self._declared.setdefault(name, schema)
        self._names = {self._kept_in(relation): relation for relation in self._plan.schemas}
        self._ordering = Ordering(self._backend, self._observer, self._planned.orders)
        self._has_groups = False

    def _leave_out(self, relations: Set[str]) -> None:
        """Computes these relations by their rules from now on."""
        if relations:
            self._excluded |= relations
            if self._is_current:
                other = self._moved_to(self._checked)
                other.materialize()
                self.__dict__.update(other.__dict__)
            else:
                self._take(self._checked)

    def _copy_edges(self, relations: Set[str]) -> None:
        """Gives these closures, which facts are about to be given to, a relation of their edges. They stay as they are:
        what they have been computed from is the same."""
        if not relations:
            return
        before = self._plan
        self._given |= relations
        self._take(self._checked)
        run = Run(self._plan, self._backend, self._limits, self._observer, self._ordering)
        run.seconds.update(seconds_kept(before, self._plan, self._seconds))
        copies = {edges_of(relation) for relation in relations}
        try:
            for number, stratum in enumerate(self._plan.strata, start=1):
                if copies.intersection(stratum.relations):
                    run.evaluate(number, stratum)
        except BaseException:
            for relation in copies:
                self._backend.clear(relation)
            self._given -= relations
            self._take(self._checked)
            raise
        self._seconds = run.seconds

    def _forget_what_follows(self) -> None:
        """Takes back a materialisation that was stopped: what it left might not follow from the facts of tomorrow."""
        for stratum in self._plan.strata:
            if derives(stratum):
                for relation in stratum.relations:
                    self._backend.clear(relation)

    def _state_facts(self) -> None:
        """Gives the facts of the text, as if they came from outside."""
        for rule in self._planned.facts:
            kept = self._kept_in(rule.head)
            for facts in self._backend.collect([replace(rule, head=kept)]).values():
                new = self._backend.unknown(kept, facts)
                self._backend.exchange(kept, new, new.none())

    def _kept_in(self, relation: str) -> str:
        """Where the explicit facts of `relation` are."""
        return kept_in(relation, self._plan)

    def _nets(self, change: Change) -> dict[str, Net]:
        """What `change` does to what is there now; a fact that is inserted and retracted is inserted."""
        nets: dict[str, Net] = {}
        for relation in change.inserted:
            kept, came = self._facts_in(change.inserted, relation)
            nets[kept] = Net(self._backend.unknown(kept, came), came.none())
        for relation in change.retracted:
            kept, went = self._facts_in(change.retracted, relation)
            if relation in change.inserted:
                went = went.minus(self._facts_in(change.inserted, relation)[1])
            went = self._backend.stored(kept, went)
            nets[kept] = Net(nets[kept].came if kept in nets else went.none(), went)
        return {kept: net for kept, net in nets.items() if net}

    def _facts_in(self, tables: Mapping[str, OwnRows], relation: str) -> tuple[str, Facts]:
        """Where explicit facts of a relation are kept, and those that `tables` have of it."""
        kept = self._kept_in(relation)
        if isinstance(tables, LaterTables):
            return kept, tables.facts[relation]
        return kept, self._backend.facts(kept, tables[relation])

    def _update(self, nets: Mapping[str, Net], journal: Journal) -> None:
        if not nets:
            return
        run = Run(self._plan, self._backend, self._limits, self._observer, self._ordering)
        run.seconds.update(self._seconds)
        update = self._new_update(run, journal)
        try:
            update.apply(nets)
        except EvaluationError:
            # On the way, rules may meet facts that will not stay. What counts is the end.
            self._distrusted |= journal.take_back()
            update = self._new_update(run, journal)
            update.start_over(nets)
        self._seconds = run.seconds
        self._distrusted -= update.derived_anew

    def _new_update(self, run: Run, journal: Journal) -> Update:
        strategy = self._maintenance.strategy
        return Update(self._backend, self._questions(), run, journal, strategy, self._distrusted, self._in_vain)

    def _questions(self) -> Questionnaire:
        if not self._has_groups:
            self._backend.declare(self._planned.questions.groups)
            self._has_groups = True
        return self._planned.questions

    def _outcome(self, change: Change, nets: Mapping[str, Net], journal: Journal) -> Outcome:
        return Outcome(
            self._rows({kept: net.came for kept, net in nets.items()}, change.inserted),
            self._rows({kept: net.went for kept, net in nets.items()}, change.retracted),
            {name: self._delta(name, net) for name, net in journal.nets.items() if name in self._plan.schemas},
        )

    def _rows(self, found: Mapping[str, Facts], given: Mapping[str, OwnRows]) -> Mapping[str, OwnRows]:
        """The rows of these facts by relation; those that were given where they are all of them."""
        some = {self._names[kept]: facts for kept, facts in found.items() if len(facts)}
        if isinstance(given, LaterTables):
            is_all = some.keys() == given.keys() and all(len(given.facts[name]) == len(some[name]) for name in some)
            return given if is_all else LaterTables(some, self._backend.table)
        rows = {}
        for relation, facts in some.items():
            all_rows = given[relation]
            is_all = isinstance(all_rows, pa.Table) and all_rows.num_rows == len(facts)
            rows[relation] = all_rows if is_all else self._backend.table(self._kept_in(relation), facts)
        return rows

    def _delta(self, relation: str, net: Net) -> NetDelta:
        table = self._backend.table
        return NetDelta(
            len(net.came), len(net.went), lambda: table(relation, net.came), lambda: table(relation, net.went)
        )
