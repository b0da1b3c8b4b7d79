"""What has come and gone so far in an update: the net change of each relation, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.backends.protocol import Backend, Facts


@dataclass(frozen=True, slots=True)
class Net:
    """Facts of one relation that came and that went; none is in both."""

    came: Facts
    went: Facts

    def __bool__(self) -> bool:
        return bool(len(self.came) or len(self.went))

    def then(self, came: Facts, went: Facts) -> Net:
        """Both changes, one after the other."""
        return Net(
            self.came.minus(went).union(came.minus(self.went)), self.went.minus(came).union(went.minus(self.came))
        )


class Journal:
    """Everything that an update stores and removes goes through it, so that it can be taken back."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._nets: dict[str, Net] = {}
        self._cleared: dict[str, Facts] = {}

    @property
    def nets(self) -> Mapping[str, Net]:
        """The relations that are not as they were."""
        return {relation: net for relation, net in self._nets.items() if net}

    def store(self, relation: str, facts: Facts) -> None:
        """Stores `facts`, which are not stored yet."""
        self._backend.exchange(relation, facts, facts.minus(facts))
        self.note(relation, facts, facts.minus(facts))

    def remove(self, relation: str, facts: Facts) -> None:
        """Removes `facts`, which are stored."""
        self._backend.exchange(relation, facts.minus(facts), facts)
        self.note(relation, facts.minus(facts), facts)

    def clear(self, relation: str) -> Facts:
        """Removes all facts of `relation`; returns them. What is stored next is known when it is noted."""
        held = self._backend.facts(relation)
        self._cleared.setdefault(relation, self._before(relation, held))
        self._backend.clear(relation)
        self.note(relation, held.minus(held), held)
        return held

    def note(self, relation: str, came: Facts, went: Facts) -> None:
        """Notes what was stored and removed."""
        net = self._nets.get(relation)
        self._nets[relation] = Net(came, went) if net is None else net.then(came, went)

    def take_back(self) -> None:
        """Makes every relation what it was at the start."""
        for relation, facts in self._cleared.items():
            self._backend.clear(relation)
            self._backend.exchange(relation, facts, facts.minus(facts))
        for relation, net in self._nets.items():
            if relation not in self._cleared:
                self._backend.exchange(relation, net.went, net.came)
        self._nets.clear()
        self._cleared.clear()

    def _before(self, relation: str, held: Facts) -> Facts:
        net = self._nets.get(relation)
        return held if net is None else held.minus(net.came).union(net.went)
