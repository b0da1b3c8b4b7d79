"""What has come and gone so far in an update: the net change of each relation, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.backends.protocol import Backend, Facts
from tidelog.maintain.materialize import close
from tidelog.plan.nodes import ClosedRelation, Version


@dataclass(frozen=True, slots=True)
class Net:
    """Facts of one relation that came and that went; none is in both."""

    came: Facts
    went: Facts

    def __bool__(self) -> bool:
        return bool(len(self.came) or len(self.went))

    def then(self, came: Facts, went: Facts) -> Net:
        """Both changes, one after the other: only what is there goes, and only what is not comes."""
        return Net(
            self.came.minus(went).beside(came.minus(self.went)), self.went.minus(came).beside(went.minus(self.came))
        )


class Journal:
    """Everything that an update stores and removes goes through it, so that it can be taken back."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._nets: dict[str, Net] = {}
        self._cleared: dict[str, Facts] = {}
        self._restarted: list[ClosedRelation] = []
        self._closures: list[tuple[ClosedRelation, Facts, Facts]] = []
        self._modules: dict[str, ClosedRelation] = {}

    @property
    def nets(self) -> Mapping[str, Net]:
        """The relations that are not as they were."""
        return {relation: net for relation, net in self._nets.items() if net}

    def store(self, relation: str, facts: Facts) -> None:
        """Stores `facts`, which are not stored yet."""
        self._backend.exchange(relation, facts, facts.none())
        self.note(relation, facts, facts.none())

    def remove(self, relation: str, facts: Facts) -> None:
        """Removes `facts`, which are stored."""
        self._backend.exchange(relation, facts.none(), facts)
        self.note(relation, facts.none(), facts)

    def close(self, closed: ClosedRelation, came: Facts, went: Facts) -> None:
        """Takes edges that came and went into a closure."""
        appeared, vanished = close(self._backend, closed, came, went)
        self._closures.append((closed, came, went))
        self.note(closed.closure.relation, appeared, vanished)

    def close_again(self, closed: ClosedRelation) -> None:
        """Computes a closure anew from all its edges."""
        relation = closed.closure.relation
        before = self._backend.clear(relation)
        self._restarted.append(closed)
        after = _closed_anew(closed, self._backend)
        self.note(relation, after.minus(before), before.minus(after))

    def uses(self, module: ClosedRelation) -> None:
        """Notes that a module of a larger stratum may take in edges."""
        self._modules[module.closure.relation] = module

    def clear(self, relation: str) -> Facts:
        """Removes all facts of `relation`; returns those it had at the start. Then it is filled again."""
        held = self._backend.clear(relation)
        self._cleared.setdefault(relation, self._before(relation, held))
        return self._cleared[relation]

    def refilled(self, relation: str) -> None:
        """Notes what is different in a relation that was cleared and has been filled again."""
        before = self._cleared[relation]
        went = self._backend.unknown(relation, before)
        kept = len(before) - len(went)
        after = self._backend.statistics().rows(relation, Version.FULL)
        came = self._backend.facts(relation).minus(before) if kept < after else before.none()
        self._nets[relation] = Net(came, went)

    def refilled_with_less(self, relation: str) -> None:
        """As `refilled`, where nothing can have come."""
        before = self._cleared[relation]
        self._nets[relation] = Net(before.none(), self._backend.lacking(relation, before))

    def note(self, relation: str, came: Facts, went: Facts) -> None:
        """Notes what was stored and removed."""
        net = self._nets.get(relation)
        self._nets[relation] = Net(came, went) if net is None else net.then(came, went)

    def take_back(self) -> frozenset[str]:
        """Makes every relation what it was at the start; returns those that were touched.

        What is stored again is younger now than what was derived from it.
        """
        touched = frozenset((*self._nets, *self._cleared))
        for relation, facts in self._cleared.items():
            self._backend.clear(relation)
            if relation in self._modules:
                continue
            self._backend.exchange(relation, facts, facts.none())
        closed = {each.closure.relation for each in (*(done for done, _, _ in self._closures), *self._restarted)}
        for each, came, went in reversed(self._closures):
            self._backend.close(each, went, came)
        for relation, net in self._nets.items():
            if relation not in self._cleared and relation not in closed and relation not in self._modules:
                self._backend.exchange(relation, net.went, net.came)
        for each in self._restarted:
            _closed_anew(each, self._backend)
        for relation, module in self._modules.items():
            facts = _closed_anew(module, self._backend)
            self._backend.exchange(relation, facts, facts.none())
        self._restarted.clear()
        self._nets.clear()
        self._cleared.clear()
        self._closures.clear()
        self._modules.clear()
        return touched

    def _before(self, relation: str, held: Facts) -> Facts:
        net = self._nets.get(relation)
        return held if net is None else held.minus(net.came).union(net.went)


def _closed_anew(closed: ClosedRelation, backend: Backend) -> Facts:
    backend.clear(closed.closure.relation)
    edges = backend.facts(closed.edges)
    return backend.close(closed, edges, edges.none())[0]
