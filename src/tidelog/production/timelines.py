"""What late news could change, and how it was: facts and derivations with their status in each iteration of a run.

The derivations that a fact could ever take part in are found by plans over all facts that were ever there. Whether one
holds in an iteration is read off the chains of its facts, for all iterations at once. So nothing has to go back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.backends.protocol import Facts
from tidelog.connectors.python_rows import rows_of, table_of_rows
from tidelog.language.syntax_tree import Atom, Constant, Negation, Sign, Variable
from tidelog.production.chain_records import ADDED, DELETED, ITERATION, numbers
from tidelog.production.derivations import Derivations, changed
from tidelog.production.ever_there import EverThere, places
from tidelog.production.late_run import LateRun
from tidelog.schema import Row

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Timelines:
    """Facts and derivations that news has to do with, numbered as they are met.

    `status[f, i]` says whether a fact is there before iteration i of the old run; `added` and `deleted` are its counts.
    """

    def __init__(self, run: LateRun, ever: EverThere) -> None:
        self._run = run
        self._ever = ever
        self._width = run.cycles + 1
        self._numbers: dict[tuple[str, Row], int] = {}
        self.facts: list[tuple[str, Row]] = []
        self.status: Flags = np.zeros((0, self._width + 1), np.bool_)
        self.added: Numbers = np.zeros((0, self._width), np.int64)
        self.deleted: Numbers = np.zeros((0, self._width), np.int64)
        self._met: list[dict[Row, int]] = [{} for _ in run.plans]
        self._uses: list[list[list[int]]] = [[] for _ in run.plans]
        self._asks: list[list[list[int]]] = [[] for _ in run.plans]
        self._negated = [
            np.array([isinstance(each, Negation) for each in places(plans.body)], np.bool_) for plans in run.plans
        ]

    def number(self, relation: str, rows: Sequence[Row]) -> list[int]:
        """The numbers of these facts; those that are new are looked up."""
        new = list(dict.fromkeys(row for row in rows if (relation, row) not in self._numbers))
        if new:
            for row in new:
                self._numbers[relation, row] = len(self.facts)
                self.facts.append((relation, row))
            self._look_up(relation, new)
        return [self._numbers[relation, row] for row in rows]

    def expand(self, some: Sequence[int]) -> None:
        """Finds the derivations that these facts could take part in."""
        by_relation: dict[str, list[Row]] = {}
        for number in some:
            relation, row = self.facts[number]
            by_relation.setdefault(relation, []).append(row)
        backend = self._run.backend
        for relation, rows in by_relation.items():
            facts = backend.facts(relation, table_of_rows(rows, self._run.schemas[relation]))
            if relation in self._ever.relations:
                self._ever.add(relation, facts)
            backend.mark(changed(relation), facts)
        for number, plans in enumerate(self._run.plans):
            flips = [plan for relation, plan in self._ever.flips[number] if relation in by_relation]
            for facts in self._run.collect(flips).values():
                self._meet(number, plans, facts)

    def differences(self, iteration: int, differs: Flags) -> tuple[Numbers, Numbers, Mapping[int, int]]:
        """How counts in an iteration differ where `differs` says which facts do, and derivations by rule."""
        added, deleted = np.zeros(len(self.facts), np.int64), np.zeros(len(self.facts), np.int64)
        derivations: dict[int, int] = {}
        before = self.status[:, iteration]
        after = before ^ differs
        for number, plans in enumerate(self._run.plans):
            if not self._uses[number]:
                continue
            uses = np.array(self._uses[number], np.int64).reshape(len(self._uses[number]), -1)
            asks = np.array(self._asks[number], np.int64).reshape(uses.shape[0], -1)
            was, now = ((there[uses] ^ self._negated[number]).all(axis=1) for there in (before, after))
            change = now.astype(np.int64) - was
            if change.any():
                derivations[plans.rule.id] = derivations.get(plans.rule.id, 0) + int(change.sum())
                for position, head in enumerate(plans.rule.heads):
                    np.add.at(added if head.sign is Sign.INSERT else deleted, asks[:, position], change)
        return added, deleted, derivations

    def _look_up(self, relation: str, rows: Sequence[Row]) -> None:
        run, first, width = self._run, len(self.facts) - len(rows), self._width
        facts = run.backend.facts(relation, table_of_rows(rows, run.schemas[relation]))
        counts = {name: np.zeros((len(rows), width), np.int64) for name in (ADDED, DELETED)}
        records = run.chains[relation].of(facts)
        at = [self._numbers[relation, row] - first for row in rows_of(records.select(run.chains[relation].keys))]
        if not run.schemas[relation].arity:
            at = [0] * records.num_rows
        cells = np.array(at, np.int64) * width + numbers(records, ITERATION)
        for name in (ADDED, DELETED):
            np.add.at(counts[name].reshape(-1), cells, numbers(records, name))
        added, deleted = (counts[name].cumsum(axis=1) for name in (ADDED, DELETED))
        there = {*rows_of(run.backend.table(relation, run.backend.stored(relation, facts)))}
        status = np.array([row in there for row in rows], np.bool_)[:, None].repeat(width + 1, axis=1)
        settles = (added > 0) != (deleted > 0)
        some = np.flatnonzero(settles.any(axis=1))
        if some.size:
            last = np.maximum.accumulate(np.where(settles[some], np.arange(width), -1), axis=1)
            start = self._at_start(relation, [rows[each] for each in some.tolist()], settles[some], added[some])
            is_in = np.take_along_axis(added[some], np.maximum(last, 0), axis=1) > 0
            status[some, 0] = start
            status[some, 1:] = np.where(last >= 0, is_in, start[:, None])
        self.status = np.concatenate([self.status, status])
        self.added = np.concatenate([self.added, added])
        self.deleted = np.concatenate([self.deleted, deleted])

    def _at_start(self, relation: str, rows: Sequence[Row], settles: Flags, added: Numbers) -> Flags:
        """Whether facts were there before the first iteration that settled them."""
        run = self._run
        first = settles.argmax(axis=1)
        start: Flags = added[np.arange(first.size), first] > 0
        groups: dict[tuple[int, bool], list[int]] = {}
        for place, group in enumerate(zip(first.tolist(), start.tolist(), strict=True)):
            groups.setdefault(group, []).append(place)
        for (iteration, is_added), those in groups.items():
            net = run.nets[iteration].get(relation) if iteration < run.cycles else None
            if net is not None:
                facts = run.backend.facts(
                    relation, table_of_rows([rows[each] for each in those], run.schemas[relation])
                )
                same = {*rows_of(run.backend.table(relation, facts.minus(net.came if is_added else net.went)))}
                start[[each for each in those if rows[each] not in same]] ^= True
        return start

    def _meet(self, number: int, plans: Derivations, facts: Facts) -> None:
        """Takes derivations in, with the facts that they use and ask for."""
        run, met = self._run, self._met[number]
        found = rows_of(run.backend.table(plans.relation, facts))
        new = [row for row in found if row not in met]
        if not new:
            return
        for row in new:
            met[row] = len(met)
        names = plans.schema.names
        used = [self._facts_at(place, names, new) for place in places(plans.body)]
        self._uses[number] += [list(each) for each in zip(*used, strict=True)] if used else [[] for _ in new]
        run.backend.mark(plans.relation, run.backend.facts(plans.relation, table_of_rows(new, plans.schema)))
        asks = []
        for asked in plans.asked:
            arity = run.schemas[asked.relation].arity
            (rows,) = (run.backend.table(name, some) for name, some in run.collect([asked.plan]).items())
            heads = {row[arity:]: row[:arity] for row in rows_of(rows)}
            asks.append(self.number(asked.relation, [heads[row] for row in new]))
        self._asks[number] += [list(each) for each in zip(*asks, strict=True)]

    def _facts_at(self, place: Atom | Negation, names: Sequence[str], rows: Sequence[Row]) -> list[int]:
        atom = place.atom if isinstance(place, Negation) else place
        used = []
        for term in atom.arguments:
            match term:
                case Variable(name):
                    position = names.index(name)
                    used.append([row[position] for row in rows])
                case Constant(value):
                    used.append([value] * len(rows))
        return self.number(atom.relation, list(zip(*used, strict=True)) if used else [()] * len(rows))
