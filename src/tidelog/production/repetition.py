"""Whether production rules have come back to a state they were in.

Brent's way: one earlier state is remembered, at first the first one, then the one after 1, 2, 4, 8 … cycles. Each fact
has a number, and as long as those that came and those that went since then do not come to the same sum, the state is
another one. Where they do, what came and went is taken into relations of the backend, each fact once, so that no state
is ever copied. When nothing is left there, the state is the remembered one. Rules choose by the state alone, so they
would go round for ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tidelog.backends.protocol import Backend, Facts
from tidelog.kernels import jit
from tidelog.kernels.hashing import sum_of_rows
from tidelog.maintain.journal import Net
from tidelog.plan.nodes import Version
from tidelog.production.ids import ids_of
from tidelog.production.late.nets import together
from tidelog.schema import Schema

MANY_CYCLES = 1024
"""Cycles whose changes are put aside until they are taken into relations."""

_WORD = (1 << 64) - 1


class Repetition:
    """The difference between the state now and a remembered one, of the relations given."""

    def __init__(self, backend: Backend, schemas: Sequence[Schema]) -> None:
        self._backend = backend
        self._names = [name for schema in schemas for name in (_came(schema.relation), _went(schema.relation))]
        backend.declare(
            {
                name: replace(schema, relation=name)
                for schema in schemas
                for name in (_came(schema.relation), _went(schema.relation))
            }
        )
        self._age = 0
        self._most = 1
        self._seeds = {schema.relation: np.uint64(number) for number, schema in enumerate(schemas)}
        self._sum = 0
        self._aside: list[Mapping[str, Net]] = []

    def length_after(self, nets: Mapping[str, Net]) -> int | None:
        """How many cycles ago the state was the same as after this one, which changed `nets`; None if it is new."""
        self._age += 1
        self._aside.append(nets)
        for relation, net in nets.items():
            seed = self._seeds[relation]
            self._sum = (self._sum + _number(net.came, seed) - _number(net.went, seed)) & _WORD
        if not self._sum and self._is_remembered():
            return self._age
        if len(self._aside) == MANY_CYCLES:
            self._take_aside()
        if self._age == self._most:
            self._remember()
        return None

    def _is_remembered(self) -> bool:
        """Whether nothing is different, after all that was put aside."""
        self._take_aside()
        statistics = self._backend.statistics()
        return not any(statistics.rows(name, Version.FULL) for name in self._names)

    def _take_aside(self) -> None:
        for relation, net in together(self._aside).items():
            self._take(net.came, _came(relation), _went(relation))
            self._take(net.went, _went(relation), _came(relation))
        self._aside.clear()

    def _remember(self) -> None:
        """Makes the state now the remembered one."""
        for name in self._names:
            self._backend.clear(name)
        self._aside.clear()
        self._sum = 0
        self._age, self._most = 0, 2 * self._most

    def _take(self, facts: Facts, same: str, opposite: str) -> None:
        """Facts that undo what is in `opposite` take it away there; the others are added to `same`."""
        if len(facts):
            undone = self._backend.stored(opposite, facts)
            self._backend.exchange(opposite, undone.none(), undone)
            new = facts.minus(undone)
            self._backend.exchange(same, new, new.none())


def _number(facts: Facts, seed: np.uint64) -> int:
    jit.work(len(facts))
    return int(sum_of_rows(ids_of(facts), seed)) if len(facts) else 0


def _came(relation: str) -> str:
    return f"{relation}@came"


def _went(relation: str) -> str:
    return f"{relation}@went"
