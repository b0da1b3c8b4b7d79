"""The facts at one moment of a run: which derivations hold, and which begin and end when facts come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.protocol import Backend, Facts, OwnRows
from tidelog.maintain.materialization import Materialization
from tidelog.maintain.ordering import Ordering
from tidelog.maintain.protocol import SILENT, Limits, Maintenance
from tidelog.plan.nodes import RulePlan
from tidelog.production.late.derivations import Derivations, changed
from tidelog.production.late.nets import Nets, opposite
from tidelog.production.support import relations_needed, supporting

Found = Mapping[str, Facts]
"""Derivations, by the relation of their rows."""


class State:
    """What is stored in the backend, and what rules without signs derive from it."""

    def __init__(self, checked: CheckedProgram, backend: Backend, given: Mapping[str, OwnRows], limits: Limits) -> None:
        program = supporting(checked)
        self.backend = backend
        self.derived = frozenset(name for stratum in program.strata for name in stratum.relations)
        self.given = relations_needed(checked) - self.derived
        self._facts = Materialization(program, backend, limits, SILENT, Maintenance(modules=False))
        for relation, rows in given.items():
            self._facts.load(relation, rows)
        self._facts.materialize()
        self._ordering = Ordering(backend, SILENT)
        schemas = checked.schemas
        marks = {changed(name): replace(schemas[name], relation=changed(name)) for name in self.given | self.derived}
        backend.declare(marks)

    def all(self, plans: Sequence[Derivations]) -> Found:
        """The derivations that hold."""
        return self.collect([each.all for each in plans])

    def turn(self, nets: Nets, plans: Sequence[Derivations]) -> tuple[Found, Found]:
        """Brings `nets` about; the derivations that begin and end by it, where both may have some that go on."""
        if self.derived:
            found = self.look_ahead(nets, plans)
            self.shift(nets)
            return found
        ended = self._flipped(opposite(nets), plans)
        self.shift(nets)
        return self._flipped(nets, plans), ended

    def look_ahead(self, nets: Nets, plans: Sequence[Derivations]) -> tuple[Found, Found]:
        """As `turn`, but everything stays as it is."""
        everything = self.shift(nets)
        begun = self._flipped(everything, plans)
        self.shift(opposite(nets))
        return begun, self._flipped(opposite(everything), plans)

    def shift(self, nets: Nets) -> Nets:
        """Brings `nets` about, and returns them with what derived relations gained and lost by it."""
        if self.derived:
            return self._facts.exchange(nets) if nets else nets
        for relation, net in nets.items():
            self.backend.exchange(relation, net.came, net.went)
        return nets

    def collect(self, plans: Sequence[RulePlan]) -> dict[str, Facts]:
        """What `plans` derive from what is stored and marked, by head."""
        return dict(self.backend.collect(self.ready(plans)))

    def ready(self, plans: Sequence[RulePlan]) -> Sequence[RulePlan]:
        """`plans` in the order that fits what is stored and marked, ready to be run as long as what is stored stays."""
        ordered = self._ordering.of_those_with_rows(plans)
        self.backend.catch_up(ordered)
        return ordered

    def _flipped(self, nets: Nets, plans: Sequence[Derivations]) -> Found:
        """The derivations that hold now and did not, or will not, without `nets`, which came and went around them."""
        counted = [each for each in plans if not each.aggregated & nets.keys()]
        flips = [flip for each in counted for flip in each.flips if flip.relation in nets]
        found: dict[str, Facts] = {}
        for is_negated in (False, True):
            some = {name: net.went if is_negated else net.came for name, net in nets.items()}
            for relation, facts in some.items():
                self.backend.mark(changed(relation), facts)
            useful = [flip.plan for flip in flips if flip.is_negated is is_negated and len(some[flip.relation])]
            for relation, facts in self.collect(useful).items():
                found[relation] = found[relation].union(facts) if relation in found else facts
        return {**found, **self.all([each for each in plans if each.aggregated & nets.keys()])}
