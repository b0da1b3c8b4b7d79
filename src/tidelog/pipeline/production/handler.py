"""A partition at work: the facts that are at home in it, what follows from them, and its instantiations of rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Backend, Facts
from tidelog.backends.spark.partitions import Partitioner
from tidelog.maintain.journal import Net
from tidelog.maintain.protocol import Limits
from tidelog.pipeline.production.homes import is_at
from tidelog.pipeline.production.placement import AT_ONE_PLACE, Placement
from tidelog.pipeline.production.records import ADDED, DELETED, ChainRecords, Counts, numbers, tally, total
from tidelog.production.late.derivations import Derivations, changed
from tidelog.production.late.nets import Nets
from tidelog.production.late.state import Found, State


@dataclass(frozen=True, slots=True)
class Asked:
    """What derivations ask for, wherever it is at home, and how many of each rule there are; both may be below 0."""

    counts: Counts
    derivations: Mapping[int, int]


NOTHING_ASKED = Asked({}, {})


@dataclass(frozen=True, slots=True)
class Work:
    """What all partitions are told: the program, and who has what."""

    program: CheckedProgram
    placement: Placement
    partitioner: Partitioner
    limits: Limits


class Handler:
    """The rule handler and data handler of partition `number`, with the facts that it starts from."""

    def __init__(self, work: Work, number: int, given: Mapping[str, pa.Table]) -> None:
        self._here = Here(work, number)
        self.backend: Backend = LocalBackend(work.program.schemas)
        self._state = CopiedState(work, self.backend, given, self._here)
        placement = work.placement
        self._rules = [
            rule
            for position, (rule, variable) in enumerate(zip(placement.rules, placement.variables, strict=True))
            if variable != AT_ONE_PLACE or position % work.partitioner.partitions == number
        ]
        self.backend.declare({rule.relation: rule.schema for rule in self._rules})
        self.chains = {name: ChainRecords(work.program.schemas[name], self._state) for name in placement.owners}

    def all_asked(self) -> Asked:
        """What all instantiations that hold here ask for."""
        return self._asked(self._state.all(self._rules), {})

    def move(self, nets: Nets) -> Asked:
        """Brings `nets` about; what is asked for from then on and was not before, less what is not any more."""
        begun, ended = self._state.look_ahead(nets, self._rules)
        self._state.shift(nets)
        return self._asked(begun, ended)

    def shift(self, nets: Nets) -> None:
        """Brings `nets` about."""
        self._state.shift(nets)

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

    def at_home(self, counts: Counts) -> Counts:
        """What of `counts` is about facts that this partition has or would have."""
        chosen = {name: self._here.at_home(name, table) for name, table in counts.items()}
        return {name: table for name, table in chosen.items() if table.num_rows}

    def owned(self, nets: Nets) -> Nets:
        """What of `nets` is about facts that this partition owns."""
        return self._here.parts(nets, {name: ((name, way),) for name, way in self._here.owners.items()}, self.backend)

    def _asked(self, begun: Found, ended: Found) -> Asked:
        """What derivations ask for, those that ended taken from those that began."""
        pieces: list[Counts] = []
        derivations: dict[int, int] = {}
        for rule in self._rules:
            for times, found in ((1, begun), (-1, ended)):
                if rule.relation in found:
                    facts = found[rule.relation]
                    derivations[rule.rule.id] = derivations.get(rule.rule.id, 0) + times * len(facts)
                    pieces += self._operations(rule, facts, times)
        return Asked(total(pieces), derivations)

    def _operations(self, rule: Derivations, facts: Facts, times: int) -> Iterator[Counts]:
        rows: pa.Table = self.backend.table(rule.relation, facts)
        for asked in rule.asked:
            yield {asked.relation: tally(rows, asked.columns, asked.sign, times)}


class Here:
    """Which rows belong to one partition."""

    def __init__(self, work: Work, number: int) -> None:
        self._work = work
        self._number = number
        self.owners = work.placement.owners

    def at_home(self, relation: str, rows: pa.Table) -> pa.Table:
        """Those of `rows`, whose first columns are facts, that belong here by a way."""
        return self._chosen(relation, rows, self._work.placement.homes(relation))

    def parts(self, nets: Nets, copies: Mapping[str, Iterable[tuple[str, int]]], backend: Backend) -> Nets:
        """What of `nets` belongs here, by the copies of each relation and their ways."""
        found = {
            name: Net(self.part(relation, net.came, way, backend), self.part(relation, net.went, way, backend))
            for relation, net in nets.items()
            for name, way in copies.get(relation, ())
        }
        return {name: net for name, net in found.items() if net}

    def part(self, relation: str, facts: Facts, way: int, backend: Backend) -> Facts:
        """Those of `facts` that belong here by `way`."""
        if not len(facts):
            return facts
        rows: pa.Table = backend.table(relation, facts)
        mine = self._chosen(relation, rows, (way,))
        return facts if mine.num_rows == rows.num_rows else backend.facts(relation, mine)

    def _chosen(self, relation: str, rows: pa.Table, ways: tuple[int, ...]) -> pa.Table:
        schema = self._work.program.schemas[relation]
        return rows.filter(pa.array(is_at(self._work.partitioner, schema, rows, ways, self._number)))


class CopiedState(State):
    """A state in which relations have copies: the rows that belong here by one way, apart from those of others."""

    def __init__(self, work: Work, backend: Backend, given: Mapping[str, pa.Table], here: Here) -> None:
        super().__init__(work.program, backend, given, work.limits)
        self._here = here
        self._copies: dict[str, list[tuple[str, int]]] = {}
        for name, relation, way in work.placement.copies():
            self._copies.setdefault(relation, []).append((name, way))
            schema = work.program.schemas[relation]
            backend.declare({each: replace(schema, relation=each) for each in (name, changed(name))})
            mine = here.part(relation, backend.facts(relation), way, backend)
            backend.exchange(name, mine, mine.none())

    def shift(self, nets: Nets) -> Nets:
        everything = super().shift(nets)
        parts = self._here.parts(everything, self._copies, self.backend)
        for name, net in parts.items():
            self.backend.exchange(name, net.came, net.went)
        return {**everything, **parts}
