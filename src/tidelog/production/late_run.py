"""A run of parallel production rules that remembers what it needs to take late news.

It keeps what each iteration changed, and the chains: how often each fact was added and deleted, per iteration. From one
iteration to the next it looks only at derivations that what changed begins or ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic

import pyarrow as pa

from tidelog.analysis.checked import CheckedProgram, ProductionRule
from tidelog.backends.protocol import Backend, Facts, OwnRows
from tidelog.facts.chain import Chains
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.maintain.materialization import Materialization
from tidelog.maintain.ordering import Ordering
from tidelog.maintain.protocol import SILENT, Limits, Maintenance
from tidelog.plan.nodes import RulePlan
from tidelog.production.chain_records import ADDED, DELETED, ChainRecords, numbers, summed, tally
from tidelog.production.derivations import Derivations, changed, derivations_of
from tidelog.production.ever_there import EverThere, has_timelines
from tidelog.production.report import CycleUsage, check_cycles, oscillation
from tidelog.production.semantics import Fired, Firing
from tidelog.production.support import relations_needed, supporting
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class Asked:
    """Operations by relation, counted, and how many derivations of each rule are behind them; both may be below 0."""

    counts: Mapping[str, pa.Table]
    derivations: Mapping[int, int]


NOTHING_ASKED = Asked({}, {})

Nets = Mapping[str, Net]


class LateRun:
    """The state after the last iteration, what each of them changed, and the chains of all facts.

    `nets[i]` leads from the state before iteration i to the one after it; iteration i is cycle i + 1 of the user.
    `derivations[i]` counts by rule what held before iteration i; it has one element more. `last_news` is the last
    iteration with operations that no rule asked for, -1 if there is none: the run does not end before it.
    """

    def __init__(self, checked: CheckedProgram, backend: Backend, given: Mapping[str, OwnRows], limits: Limits) -> None:
        self.backend = backend
        self.limits = limits
        self.rules = checked.productions
        self.schemas: Mapping[str, Schema] = checked.schemas
        program = supporting(checked)
        self.derived = frozenset(name for stratum in program.strata for name in stratum.relations)
        self.needed = relations_needed(checked)
        self._facts = Materialization(program, backend, limits, SILENT, Maintenance(modules=False))
        for relation, rows in given.items():
            self._facts.load(relation, rows)
        self._facts.materialize()
        self._ordering = Ordering(backend, SILENT)
        self.plans = [each for rule in self.rules for each in derivations_of(rule, checked.schemas)]
        backend.declare({changed(name): replace(self.schemas[name], relation=changed(name)) for name in self.needed})
        backend.declare({each.relation: each.schema for each in self.plans})
        backend.declare({each.schema.relation: each.schema for plans in self.plans for each in plans.asked})
        self.chains = {
            name: ChainRecords(self.schemas[name], backend, self._ordering) for name in self.needed - self.derived
        }
        self.last_news = -1
        self.ever_there: EverThere | None = None
        self.may_have_timelines = has_timelines(self.plans, self.derived)
        self.nets: list[Nets] = []
        self.derivations: list[Mapping[int, int]] = [{}]
        asked = self._asked(self._all_derivations(self.plans), {})
        self.derivations[0] = asked.derivations
        self._keep(asked, 0)
        self.go_on(self._nets_of(asked))

    @property
    def cycles(self) -> int:
        return len(self.nets)

    def go_on(self, nets: Nets) -> Nets:
        """Runs on until nothing changes, from a state that `nets` will change; all that it changed.

        Raises OscillationError when the rules come back to a state, LimitError at a limit.
        """
        began = monotonic()
        rows = 0
        total: Nets = {}
        repetition = Repetition()
        while nets:
            self.nets.append(nets)
            rows += sum(len(net.came) for net in nets.values())
            length = repetition.length_after(nets)
            if length is not None:
                raise oscillation(
                    self.cycles, [self._firing(number) for number in range(self.cycles - length, self.cycles)]
                )
            usage = CycleUsage(self.cycles, rows, monotonic() - began)
            check_cycles(usage, self.limits, list(self._rules_of(self.cycles - 1)))
            total = then(total, nets)
            asked = self.move(nets)
            self.derivations.append(plus(self.derivations[-1], asked.derivations))
            self._keep(asked, self.cycles)
            nets = self._nets_of(asked)
        return total

    def move(self, nets: Nets) -> Asked:
        """Brings `nets` about; what is asked for from then on and was not before, less what is not any more."""
        if not self.derived:
            ended = self._flipped(opposite(nets))
            self.shift(nets)
            begun = self._flipped(nets)
        else:
            everything = self.shift(nets)
            begun = self._flipped(everything)
            self.shift(opposite(nets))
            ended = self._flipped(opposite(everything))
            self.shift(nets)
        return self._asked(begun, ended)

    def shift(self, nets: Nets) -> Nets:
        """Brings `nets` about, and returns them with what derived relations gained and lost by it."""
        if self.derived:
            return self._facts.exchange(nets) if nets else nets
        for relation, net in nets.items():
            self.backend.exchange(relation, net.came, net.went)
        return nets

    def settled(self, relation: str, facts: Facts, counts: pa.Table) -> Facts:
        """Those of `facts` that are there after an iteration with these counts of operations (COMPUTE_NEW)."""
        there = self.backend.stored(relation, facts)
        if not counts.num_rows:
            return there
        chains = self.chains[relation]
        added, deleted = numbers(counts, ADDED) > 0, numbers(counts, DELETED) > 0
        inserted = chains.facts(counts.filter(pa.array(added & ~deleted)))
        gone = chains.facts(counts.filter(pa.array(deleted & ~added)))
        return there.minus(gone).union(inserted)

    def history(self) -> Chains:
        """When each fact came and went, and by which rules."""
        chains = Chains()
        for number, nets in enumerate(self.nets):
            for relation, net in nets.items():
                for sign, facts in ((Sign.INSERT, net.came), (Sign.DELETE, net.went)):
                    if len(facts):
                        asked = tuple(
                            rule.name
                            for rule in self._rules_of(number)
                            if any(head.sign is sign and head.atom.relation == relation for head in rule.heads)
                        )
                        chains.note(
                            number + 1, relation, sign is Sign.INSERT, self.backend.table(relation, facts), asked
                        )
        return chains

    def _nets_of(self, asked: Asked) -> Nets:
        """What the iteration now at hand changes, in which the counts of `asked` differ from those before."""
        nets = {}
        for relation, counts in asked.counts.items():
            chains = self.chains[relation]
            touched = chains.facts(counts)
            after = self.settled(relation, touched, chains.at(touched, self.cycles))
            before = self.backend.stored(relation, touched)
            nets[relation] = Net(after.minus(before), before.minus(after))
        return {relation: net for relation, net in nets.items() if net}

    def _keep(self, asked: Asked, iteration: int) -> None:
        for relation, counts in asked.counts.items():
            self.chains[relation].append(counts, iteration)

    def _flipped(self, nets: Nets) -> dict[str, Facts]:
        """The derivations that hold now and did not, or will not, without `nets`, which came and went around them."""
        for relation, net in nets.items():
            self.backend.mark(changed(relation), net.came)
        found = self.collect(
            [
                flip.plan
                for plans in self.plans
                if not plans.aggregated & nets.keys()
                for flip in plans.flips
                if not flip.is_negated and flip.relation in nets and len(nets[flip.relation].came)
            ]
        )
        for relation, net in nets.items():
            self.backend.mark(changed(relation), net.went)
        more = self.collect(
            [
                flip.plan
                for plans in self.plans
                if not plans.aggregated & nets.keys()
                for flip in plans.flips
                if flip.is_negated and flip.relation in nets and len(nets[flip.relation].went)
            ]
        )
        for relation, facts in more.items():
            found[relation] = found[relation].union(facts) if relation in found else facts
        return found | self._all_derivations([plans for plans in self.plans if plans.aggregated & nets.keys()])

    def _all_derivations(self, plans: Sequence[Derivations]) -> dict[str, Facts]:
        return self.collect([each.all for each in plans])

    def _asked(self, begun: Mapping[str, Facts], ended: Mapping[str, Facts]) -> Asked:
        """What derivations ask for, those that ended taken from those that began."""
        pieces: dict[str, list[pa.Table]] = {}
        derivations: dict[int, int] = {}
        for plans in self.plans:
            for times, found in ((1, begun), (-1, ended)):
                if plans.relation in found:
                    facts = found[plans.relation]
                    number = plans.rule.id
                    derivations[number] = derivations.get(number, 0) + times * len(facts)
                    for relation, counts in self._operations(plans, facts, times):
                        pieces.setdefault(relation, []).append(counts)
        sums = {relation: summed(some, self.chains[relation].keys) for relation, some in pieces.items()}
        return Asked({relation: counts for relation, counts in sums.items() if counts.num_rows}, derivations)

    def _operations(self, plans: Derivations, facts: Facts, times: int) -> Iterator[tuple[str, pa.Table]]:
        self.backend.mark(plans.relation, facts)
        for asked in plans.asked:
            for name, rows in self.collect([asked.plan]).items():
                keys = self.chains[asked.relation].keys
                yield asked.relation, tally(self.backend.table(name, rows), keys, asked.sign, times)

    def collect(self, plans: Sequence[RulePlan]) -> dict[str, Facts]:
        """What `plans` derive from what is stored and marked, by head."""
        ordered = self._ordering.of_those_with_rows(plans)
        self.backend.catch_up(ordered)
        return dict(self.backend.collect(ordered))

    def _rules_of(self, iteration: int) -> Iterator[ProductionRule]:
        """The rules that fired in an iteration."""
        counts = self.derivations[iteration]
        return (rule for rule in self.rules if counts.get(rule.id))

    def _firing(self, iteration: int) -> Firing:
        fired = tuple(Fired(rule, ()) for rule in self._rules_of(iteration))
        nets = self.nets[iteration]
        came = {name: self.backend.table(name, net.came) for name, net in nets.items() if len(net.came)}
        went = {name: self.backend.table(name, net.went) for name, net in nets.items() if len(net.went)}
        return Firing(iteration + 1, fired, came, went)


class Repetition:
    """Whether a state comes back: what is different from a remembered one, the one after 1, 2, 4, 8 … iterations."""

    def __init__(self) -> None:
        self._difference: Nets = {}
        self._age = 0
        self._most = 1

    def length_after(self, nets: Nets) -> int | None:
        """How many iterations ago the state was the same as after `nets`; None if it is new."""
        self._difference = then(self._difference, nets)
        self._age += 1
        if not self._difference:
            return self._age
        if self._age == self._most:
            self._difference, self._age, self._most = {}, 0, 2 * self._most
        return None


def then(first: Nets, second: Nets) -> Nets:
    """Both changes, one after the other."""
    both = dict(first)
    for relation, net in second.items():
        both[relation] = both[relation].then(net.came, net.went) if relation in both else net
    return {relation: net for relation, net in both.items() if net}


def together(nets: Sequence[Nets]) -> Nets:
    """All of `nets`, one after the other; halves first, so that each fact is looked at a few times only."""
    if not nets:
        return {}
    if len(nets) == 1:
        return nets[0]
    middle = len(nets) // 2
    return then(together(nets[:middle]), together(nets[middle:]))


def opposite(nets: Nets) -> Nets:
    """The way back."""
    return {relation: Net(net.went, net.came) for relation, net in nets.items()}


def plus(counts: Mapping[int, int], more: Mapping[int, int]) -> Mapping[int, int]:
    """Numbers of derivations by rule, added up."""
    sums = {number: counts.get(number, 0) + more.get(number, 0) for number in {**counts, **more}}
    return {number: count for number, count in sums.items() if count}
