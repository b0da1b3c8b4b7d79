"""The course of a run: the chains of its facts, and how much each iteration did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidelog.analysis.checked import ProductionRule
from tidelog.maintain.journal import Net
from tidelog.production.late.chain_columns import Chains, Column, Flags, Numbers, moves
from tidelog.production.late.nets import Nets, net_of


@dataclass(frozen=True, slots=True)
class Course:
    """Everything that is kept of a run, as it was or as late news has made it. It never changes.

    Iteration i, counted from 0, is cycle i + 1 of the user; `moved[i]` is how many facts came and went in it.
    `derivations[i, r]` counts those of the r-th rule that held before iteration i, and has one row more. `last_news` is
    the last iteration with operations that no rule asked for, -1 if there is none: the run does not end before it.
    """

    chains: Mapping[str, Chains]
    moved: Numbers
    derivations: Numbers
    last_news: int = -1

    @property
    def cycles(self) -> int:
        return self.moved.size

    def fired(self, iteration: int, rules: Sequence[ProductionRule]) -> Iterator[ProductionRule]:
        """Those of the rules that have derivations in an iteration."""
        return (rule for rule, count in zip(rules, self.derivations[iteration], strict=True) if count)

    def nets(self) -> list[Nets]:
        """What each iteration changed."""
        nets: list[dict[str, Net]] = [{} for _ in range(self.cycles)]
        for relation, chains in self.chains.items():
            rows, is_first, records = chains.everything()
            facts, iterations, comes = moves(is_first, records)
            order = np.argsort(iterations, kind="stable")
            numbers, begins = np.unique(iterations[order], return_index=True)
            for number, some in zip(numbers.tolist(), np.split(order, begins)[1:], strict=True):
                nets[number][relation] = net_of(rows[facts[some]], comes[some])
        return list(nets)


class Repetition:
    """Whether a state comes back: what is different from a remembered one, the one after 1, 2, 4, 8 … iterations."""

    def __init__(self) -> None:
        self._differs: dict[str, Flags] = {}
        self._count = 0
        self._age = 0
        self._most = 1

    def length_after(self, moved: Mapping[str, Numbers]) -> int | None:
        """How many iterations ago the state was the same as it is after facts `moved`; None if it is new."""
        for relation, facts in moved.items():
            if facts.size:
                differs = padded(self._differs.get(relation, np.zeros(0, np.bool_)), int(facts.max()) + 1)
                differs[facts] ^= True
                self._count += 2 * int(np.count_nonzero(differs[facts])) - facts.size
                self._differs[relation] = differs
        self._age += 1
        if not self._count:
            return self._age
        if self._age == self._most:
            self._differs, self._count, self._age, self._most = {}, 0, 0, 2 * self._most
        return None


def padded(values: Column, size: int) -> Column:
    """`values`, and 0 or False for more, if that many are wanted."""
    missing = size - values.shape[0]
    return np.concatenate([values, np.zeros((missing, *values.shape[1:]), values.dtype)]) if missing > 0 else values
