"""The engine of a flow whose program has production rules.

The facts given are kept beside what the rules leave of them: a change is one of the facts given, and what it leads to
is what running the rules again on them would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.protocol import OwnRows
from tidelog.facts.change import Change, Outcome
from tidelog.pipeline.config import Tier
from tidelog.pipeline.engine import Engine, Rows, Taken, ToOwn
from tidelog.pipeline.production.runs import Runs
from tidelog.pipeline.production.strategy import ProductionReduction
from tidelog.plan.reduction import Reduction
from tidelog.production.support import relations_needed, supporting
from tidelog.world.late_news import LateNews
from tidelog.world.model import Model, Step

Tables = Mapping[str, OwnRows]


class ProductionEngine(Engine):
    """As `Engine`. What rules act on counts as derived: its rows are not the facts given to it."""

    def __init__(
        self,
        checked: CheckedProgram,
        tier: Tier,
        model: Model,
        to_own: ToOwn,
        runs: Runs,
        choices: Sequence[Reduction] = (),
    ) -> None:
        super().__init__(checked, tier, model, to_own, choices)
        self._acted_on = frozenset(head.atom.relation for rule in checked.productions for head in rule.heads)
        self._needed = relations_needed(checked)
        self._followed = frozenset(name for stratum in supporting(checked).strata for name in stratum.relations)
        self.derived |= self._acted_on
        self._runs = runs
        self._backend = runs.backend
        self._given: Tables = {}
        self._late: LateNews | None = None
        self._before: tuple[Tables, LateNews | None] = {}, None
        self._changes = 0

    @property
    def production(self) -> ProductionReduction | None:
        return self._runs.last

    def materialize(self) -> None:
        self._given = {name: super(ProductionEngine, self).given(name) for name in self._acted_on}
        change = self._runs.run(self._inputs())
        for relation, rows in change.inserted.items():
            self._model.load(relation, rows)
        for relation, rows in change.retracted.items():
            self._model.unload(relation, rows)
        super().materialize()

    def take(self, inserted: Mapping[str, Rows], retracted: Mapping[str, Rows]) -> Taken:
        change = self._net(Change(self._all_own(inserted), self._all_own(retracted)))
        concerned, others = _parts(change, self._needed)
        given = {**self._given, **{name: self._after(name, concerned) for name in self._touched(concerned)}}
        ends, late = self._ends(concerned, given)
        step = Step(
            self.checked,
            self.checked,
            Change({**others.inserted, **ends.inserted}, {**others.retracted, **ends.retracted}),
        )
        done, outcome = self._model.take(step)
        self._before = self._given, self._late
        taken = self._told(outcome, given, concerned)
        self._given, self._late = given, late
        self._changes += 1
        return Taken(taken, self._counts(change, taken), done)

    def take_back(self, taken: Taken) -> None:
        super().take_back(taken)
        self._given, self._late = self._before

    def given(self, relation: str) -> Any:
        return self._given[relation] if relation in self._given else super().given(relation)

    def _inputs(self) -> Tables:
        """The facts that the production rules start from."""
        return {name: self.given(name) for name in self._needed}

    def _ends(self, change: Change, given: Tables) -> tuple[Change, LateNews | None]:
        """How a change of the facts given changes what rules leave, and the run from then on."""
        touched = {*change.inserted, *change.retracted}
        if not touched:
            return Change(), self._late
        # A run that keeps chains takes longer than one that does not, so one is made for the second change only.
        if self._changes and not touched & self._followed:
            late = self._late or self._runs.remembered(self._inputs())
            if late is not None:
                result, late = late.revised(change, 0)
                return Change(result.came, result.went), late
        read_only = {name: self._after(name, change) for name in touched - self._acted_on}
        inputs = {**self._inputs(), **given, **read_only}
        done = self._runs.run(inputs)
        ends = {name: self._end(name, inputs[name], done) for name in self._acted_on}
        inserted = {name: came for name, (came, _) in ends.items()}
        retracted = {name: went for name, (_, went) in ends.items()}
        _, others = _parts(change, self._acted_on)
        return Change({**others.inserted, **inserted}, {**others.retracted, **retracted}), None

    def _end(self, relation: str, start: OwnRows, done: Change) -> tuple[OwnRows, OwnRows]:
        """What is there at the end of a run and is not now, and the other way round."""
        backend = self._backend
        end = backend.facts(relation, start)
        if relation in done.retracted:
            end = end.minus(backend.facts(relation, done.retracted[relation]))
        if relation in done.inserted:
            end = end.union(backend.facts(relation, done.inserted[relation]))
        now = backend.facts(relation, super().given(relation))
        return backend.table(relation, end.minus(now)), backend.table(relation, now.minus(end))

    def _touched(self, change: Change) -> frozenset[str]:
        return self._acted_on & {*change.inserted, *change.retracted}

    def _after(self, relation: str, change: Change) -> OwnRows:
        """The facts given to a relation after a change."""
        backend = self._backend
        facts = backend.facts(relation, self.given(relation))
        if relation in change.retracted:
            facts = facts.minus(backend.facts(relation, change.retracted[relation]))
        if relation in change.inserted:
            facts = facts.union(backend.facts(relation, change.inserted[relation]))
        return backend.table(relation, facts)

    def _told(self, outcome: Outcome, given: Tables, change: Change) -> Outcome:
        """`outcome` with the facts given whose presence changed, where the model has what rules left of them."""
        backend = self._backend
        inserted = {name: rows for name, rows in outcome.inserted.items() if name not in self._acted_on}
        retracted = {name: rows for name, rows in outcome.retracted.items() if name not in self._acted_on}
        for name in self._touched(change):
            before, after = (backend.facts(name, rows) for rows in (self._given[name], given[name]))
            for facts, told in ((after.minus(before), inserted), (before.minus(after), retracted)):
                if len(facts):
                    told[name] = backend.table(name, facts)
        return Outcome(inserted, retracted, outcome.deltas)


def _parts(change: Change, relations: frozenset[str]) -> tuple[Change, Change]:
    """What of a change is about `relations`, and the rest."""
    sides = (change.inserted, change.retracted)
    about = Change(*({name: rows for name, rows in side.items() if name in relations} for side in sides))
    rest = Change(*({name: rows for name, rows in side.items() if name not in relations} for side in sides))
    return about, rest
