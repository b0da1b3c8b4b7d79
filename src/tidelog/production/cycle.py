"""The recognise-act cycle: takes a program with production rules and facts, fires rules until none is firable.

Each cycle matches rules against the facts, a whole rule at a time by the plans that all rules have, chooses what to
fire, and brings the net effect about; relations that ordinary rules derive follow it before the next cycle. Everything
happens in a backend of its own, so that a run that ends with an error has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from time import monotonic
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.protocol import Backend, Facts, OwnRows, is_in_process
from tidelog.errors import OscillationError, UsageError
from tidelog.facts.chain import Chains
from tidelog.facts.change import LaterTables
from tidelog.facts.fact_set import FactSet
from tidelog.facts.values import Values
from tidelog.kernels import jit
from tidelog.language.syntax_tree import Semantics, Sign
from tidelog.maintain.journal import Net
from tidelog.maintain.materialization import Materialization
from tidelog.maintain.protocol import SILENT, Limits, Maintenance
from tidelog.plan.retention.network import Retention
from tidelog.production.at_once.compiling import compiler
from tidelog.production.at_once.encoding import encoded
from tidelog.production.at_once.logged import LoggedCycles
from tidelog.production.at_once.run import run_at_once
from tidelog.production.chain_notes import ChainNotes
from tidelog.production.firing import Fired, Firing, OnFiring
from tidelog.production.ids import ids_of
from tidelog.production.network.network import Network
from tidelog.production.prepared import Prepared, prepared
from tidelog.production.repetition import Repetition
from tidelog.production.report import CycleUsage, check_cycles, oscillation
from tidelog.production.rule_plans import Match, RuleMatches
from tidelog.production.semantics import Result, net_effect
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class AtHand:
    """Gives the facts of a relation to a backend that was made from the one that has them: those that were `given` to
    the relation, and `all` of them."""

    given: Callable[[str], Facts]
    all: Callable[[str], Facts]


def run_rules(
    checked: CheckedProgram,
    backend: Backend,
    given: Mapping[str, OwnRows],
    *,
    retention: Retention | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    on_firing: OnFiring | None = None,
    at_hand: AtHand | None = None,
) -> Result:
    """What the production rules of `checked` do to the facts `given`, in `backend`, which is empty.

    Where somebody has these already with what follows from them by ordinary rules, they are `at_hand`.
    `retention` says which joins are kept from cycle to cycle: that is about time and room, never about the answer. If
    nobody says so, one kernel runs the cycles where it can, and keeps none; else COSMA chooses.
    Raises OscillationError when they come back to a state, LimitError at a limit; `limits.rounds` counts cycles.
    """
    if checked.semantics is None:
        raise UsageError("the program has no production rules to run: it has no .production")
    made = prepared(checked, retention or Retention.COSMA)
    if at_hand is None or made.has_followers:
        facts = loaded(made, backend, given, limits)
        start = AtHand(facts.explicit_facts, facts.facts)
    else:
        facts, start = None, at_hand
    followers = facts if made.has_followers else None
    before = None
    if retention is None and on_firing is None and followers is None and is_in_process(backend):
        before = ran_at_once(checked, partial(start_of, made, start), backend.values, limits)
        if before is not None and before.is_over:
            return finished(before, backend.fresh({}))
    if facts is None:
        backend.declare(checked.schemas)
        for relation in given.keys() | made.derived:
            held = start_of(made, start, relation)
            backend.exchange(relation, held, held.none())
    return Cycle(checked, made, backend, followers, limits, on_firing).run(before)


def ran_at_once(
    checked: CheckedProgram, facts: Callable[[str], Facts], values: Values, limits: Limits
) -> LoggedCycles | None:
    """What one kernel did, if it can run the rules and is compiled."""
    if not jit.is_compiled():
        return None
    rules = encoded(checked)
    return run_at_once(rules, facts, values, limits) if rules is not None and compiler.is_ready() else None


def loaded(made: Prepared, backend: Backend, given: Mapping[str, OwnRows], limits: Limits) -> Materialization:
    """The facts `given`, with what follows from them by ordinary rules, in `backend`."""
    facts = Materialization(made.support, backend, limits, SILENT, Maintenance(modules=False))
    for relation, rows in given.items():
        facts.load(relation, rows)
    facts.materialize()
    return facts


def start_of(made: Prepared, start: AtHand, relation: str) -> Facts:
    """The facts of a relation that a run starts from."""
    return start.all(relation) if relation in made.derived else start.given(relation)


def finished(logged: LoggedCycles, reader: Backend) -> Result:
    """What a run did that one kernel has ended; `reader` has no facts."""
    came = {name: net.came for name, net in logged.nets.items()}
    went = {name: net.went for name, net in logged.nets.items()}
    schemas = {schema.relation: schema for schema in logged.encoded.relations[: logged.encoded.acted_on]}
    read_chains = cache(lambda: chains_of(logged, reader))
    return Result(logged.cycles, read_later(came, reader, schemas), read_later(went, reader, schemas), read_chains)


def read_later(facts: Mapping[str, Facts], reader: Backend, schemas: Mapping[str, Schema]) -> LaterTables:
    """The tables of facts that there are, which `reader` makes when somebody asks for them."""

    def read(relation: str, some: Facts) -> pa.Table:
        reader.declare({relation: schemas[relation]})
        table: pa.Table = reader.table(relation, some)
        return table

    return LaterTables({relation: some for relation, some in facts.items() if len(some)}, read)


def chains_of(logged: LoggedCycles, reader: Backend) -> Chains:
    """The chains of facts that came and went; `reader` reads them."""
    reader.declare({schema.relation: schema for schema in logged.encoded.relations[: logged.encoded.acted_on]})
    notes = ChainNotes(reader)
    for cycle, (rule, nets) in enumerate(logged.each(), start=1):
        notes.note_nets(cycle, nets, (rule.name,))
    return notes.chains()


@dataclass(frozen=True, slots=True)
class Choice:
    """What a cycle will fire: the rules with their instances, by alternative, the net effect, and who asked for it.

    Of rules that fire for all their instances, these are looked up only for somebody who listens.
    """

    fired: tuple[tuple[RuleMatches, tuple[tuple[Match, Facts], ...]], ...]
    nets: Mapping[str, Net]
    asking: Mapping[tuple[str, Sign], tuple[str, ...]]


ChooseOf: TypeAlias = Callable[[RuleMatches], Choice | None]
"""What a rule would fire; None when it is not firable."""


class Cycle:
    """One run: the facts, the plans of the rules, and which rules are known to have nothing to do."""

    def __init__(
        self,
        checked: CheckedProgram,
        made: Prepared,
        backend: Backend,
        followers: Materialization | None,
        limits: Limits,
        on_firing: OnFiring | None,
    ) -> None:
        assert checked.semantics is not None
        self._semantics = checked.semantics.semantics
        self._refraction = checked.semantics.refraction
        self._backend = backend
        self._limits = limits
        self._on_firing = on_firing
        self._rules = made.rules
        self._acted_on = acted_on = made.acted_on
        self._followers = followers
        self._network = Network(made, backend)
        remembered = [match.schema for rule in self._rules for match in rule.matches if self._refraction]
        self._repetition = Repetition(backend, [*(checked.schemas[name] for name in acted_on), *remembered])
        self._idle: set[int] = set()
        self._schemas = {name: checked.schemas[name] for name in acted_on}
        self._reader = backend.fresh(self._schemas)
        self._notes = ChainNotes(self._reader)
        self._fired: dict[str, Facts] = {}
        self._told_switches = 0

    def run(self, before: LoggedCycles | None = None) -> Result:
        """Fires until nothing is firable, from where the cycles `before` have ended."""
        start = {relation: self._backend.facts(relation) for relation in self._acted_on}
        began = monotonic()
        cycles = rows = 0
        if before is not None:
            self._take_over(before)
            began, cycles, rows = before.began, before.cycles, before.rows_came
        while (choice := self._choose()) is not None:
            cycles += 1
            rows += sum(len(net.came) for net in choice.nets.values())
            remembered = self._act(choice, cycles)
            length = self._repetition.length_after({**choice.nets, **remembered})
            if length is not None:
                raise self._oscillation(cycles, length)
            rules = [rule.rule for rule, _ in choice.fired]
            check_cycles(CycleUsage(cycles, rows, monotonic() - began), self._limits, rules)
        came = {relation: self._backend.facts(relation).minus(start[relation]) for relation in self._acted_on}
        went = {relation: self._backend.unknown(relation, start[relation]) for relation in self._acted_on}
        came_rows, went_rows, switches = (
            read_later(came, self._reader, self._schemas),
            read_later(went, self._reader, self._schemas),
            tuple(self._network.switches),
        )
        return Result(cycles, came_rows, went_rows, self._notes.chains, self._network.rows(), switches)

    def _take_over(self, before: LoggedCycles) -> None:
        """Makes the state of the run that after these cycles."""
        for cycle, (rule, nets) in enumerate(before.each(), start=1):
            self._notes.note_nets(cycle, nets, (rule.name,))
            self._repetition.length_after(nets)
        self._exchange(before.nets)

    def _choose(self) -> Choice | None:
        """What fires next; None when nothing is firable."""
        match self._semantics:
            case Semantics.SET:
                return self._first(self._whole_rule)
            case Semantics.INSTANCE:
                return self._first(self._one_instance)
            case Semantics.PARALLEL:
                return self._all_rules()

    def _first(self, choose: ChooseOf) -> Choice | None:
        """The choice for the first rule that has one; who had none has none until something it touches changes."""
        for rule in self._rules:
            if rule.rule.id not in self._idle:
                choice = choose(rule)
                if choice is not None:
                    return choice
                self._idle.add(rule.rule.id)
        return None

    def _whole_rule(self, rule: RuleMatches) -> Choice | None:
        """All instances of a rule, if they change something together."""
        return self._together([rule])

    def _all_rules(self) -> Choice | None:
        """All instances of all rules, if they change something together."""
        return self._together(self._rules)

    def _together(self, rules: Sequence[RuleMatches]) -> Choice | None:
        """All instances of these rules, if they change something together; who listens hears of all of them."""
        nets = self._network.net_effect(rules)
        if not nets:
            return None
        asking = self._network.rules_asking(rules, nets)
        if self._on_firing is not None:
            found = ((rule, self._network.instances(rule)) for rule in rules)
            return Choice(tuple((rule, instances) for rule, instances in found if instances), nets, asking)
        names = {name for some in asking.values() for name in some}
        return Choice(tuple((rule, ()) for rule in rules if rule.rule.name in names), nets, asking)

    def _one_instance(self, rule: RuleMatches) -> Choice | None:
        """The least firable instance of a rule, in the order of the values that it binds."""
        for match, found in self._network.firable(rule):
            firable = found.minus(self._fired[match.relation]) if match.relation in self._fired else found
            if not len(firable):
                continue
            chosen = ((match, self._least(match, firable)),)
            nets = net_effect(self._network.effects(*chosen[0]), self._backend)
            asking = {(relation, sign): (rule.rule.name,) for relation in nets for sign in Sign}
            return Choice(((rule, chosen),), nets, asking)
        return None

    def _least(self, match: Match, instances: Facts) -> Facts:
        """The one that comes first, in the order of the values that it binds."""
        if len(instances) == 1:
            return instances
        table: pa.Table = self._backend.table(match.relation, instances)
        order = pc.sort_indices(table, [(name, "ascending") for name in match.schema.names])
        first = order[0].as_py()
        return FactSet(ids_of(instances)[first : first + 1])

    def _act(self, choice: Choice, cycle: int) -> Mapping[str, Net]:
        """Brings about what was chosen; what came of it for the memory of instances that have fired."""
        changed = self._exchange(choice.nets)
        self._network.note(changed)
        self._note(choice, cycle)
        self._idle -= {rule.rule.id for rule in self._rules if rule.touches & changed.keys()}
        if self._on_firing is not None:
            self._on_firing(self._told(choice, cycle))
        return self._remember(choice) if self._refraction else {}

    def _exchange(self, nets: Mapping[str, Net]) -> Mapping[str, Net]:
        """Brings about `nets`, and what follows by ordinary rules; what is not as it was."""
        if self._followers is not None:
            return self._followers.exchange(nets)
        for relation, net in nets.items():
            self._backend.exchange(relation, net.came, net.went)
        return nets

    def _note(self, choice: Choice, cycle: int) -> None:
        """Puts what came and went into the chains, with the rules that asked for it."""
        for relation, net in choice.nets.items():
            for sign, facts in ((Sign.INSERT, net.came), (Sign.DELETE, net.went)):
                if len(facts):
                    self._notes.note(cycle, relation, sign, facts, choice.asking[relation, sign])

    def _remember(self, choice: Choice) -> Mapping[str, Net]:
        """Instances that have fired are remembered as long as they hold."""
        before = dict(self._fired)
        for _, instances in choice.fired:
            for match, facts in instances:
                known = self._fired.get(match.relation)
                self._fired[match.relation] = facts if known is None else known.union(facts)
        nets = {}
        for match in (match for rule in self._rules for match in rule.matches if match.relation in self._fired):
            fired = self._fired[match.relation]
            kept = self._network.holding(match, fired)
            self._fired[match.relation] = kept
            old = before.get(match.relation, kept.none())
            nets[match.relation] = Net(kept.minus(old), old.minus(kept))
        return nets

    def _told(self, choice: Choice, cycle: int) -> Firing:
        fired = tuple(
            Fired(rule.rule, tuple(self._backend.table(match.relation, facts) for match, facts in instances))
            for rule, instances in choice.fired
        )
        came = self._tables({relation: net.came for relation, net in choice.nets.items()})
        went = self._tables({relation: net.went for relation, net in choice.nets.items()})
        told, self._told_switches = self._told_switches, len(self._network.switches)
        return Firing(cycle, fired, came, went, tuple(self._network.switches[told:]))

    def _tables(self, facts: Mapping[str, Facts]) -> dict[str, OwnRows]:
        return {relation: self._backend.table(relation, some) for relation, some in facts.items() if len(some)}

    def _oscillation(self, cycles: int, length: int) -> OscillationError:
        """The error that shows the firings of one turn, which are found by going round once more."""
        turn: list[Firing] = []
        for cycle in range(cycles + 1, cycles + length + 1):
            choice = self._choose()
            assert choice is not None
            turn.append(self._told(choice, cycle))
            self._act_again(choice)
        return oscillation(cycles, turn)

    def _act_again(self, choice: Choice) -> None:
        self._network.note(self._exchange(choice.nets))
        self._idle.clear()
        if self._refraction:
            self._remember(choice)
