"""Whether production rules have come back to a state they were in.

Brent's way: one earlier state is remembered, at first the first one, then the one after 1, 2, 4, 8 … cycles. What has
come and gone since then is kept in relations of the backend, so that each firing costs what it changes, and no state is
ever copied or hashed. When nothing is left there, the state is the remembered one. Rules choose by the state alone, so
they would go round for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidelog.backends.protocol import Backend, Facts
from tidelog.maintain.journal import Net
from tidelog.plan.nodes import Version
from tidelog.schema import Schema


class Repetition:
    """The difference between the state now and a remembered one, of the relations given."""

    def __init__(self, backend: Backend, schemas: Iterable[Schema]) -> None:
        self._backend = backend
        self._relations = [schema.relation for schema in schemas]
        backend.declare(
            {
                name: replace(schema, relation=name)
                for schema in schemas
                for name in (_came(schema.relation), _went(schema.relation))
            }
        )
        self._age = 0
        self._most = 1

    def length_after(self, nets: Mapping[str, Net]) -> int | None:
        """How many cycles ago the state was the same as after this one, which changed `nets`; None if it is new."""
        for relation, net in nets.items():
            self._take(net.came, _came(relation), _went(relation))
            self._take(net.went, _went(relation), _came(relation))
        self._age += 1
        statistics = self._backend.statistics()
        names = [name for relation in self._relations for name in (_came(relation), _went(relation))]
        if not any(statistics.rows(name, Version.FULL) for name in names):
            return self._age
        if self._age == self._most:
            for name in names:
                self._backend.clear(name)
            self._age, self._most = 0, 2 * self._most
        return None

    def _take(self, facts: Facts, same: str, opposite: str) -> None:
        """Facts that undo what is in `opposite` take it away there; the others are added to `same`."""
        if len(facts):
            undone = self._backend.stored(opposite, facts)
            self._backend.exchange(opposite, undone.none(), undone)
            new = facts.minus(undone)
            self._backend.exchange(same, new, new.none())


def _came(relation: str) -> str:
    return f"{relation}@came"


def _went(relation: str) -> str:
    return f"{relation}@went"
