"""Cycles of a run from the log of a kernel: takes the log, returns facts and chains of rows when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tidelog.analysis.checked import ProductionRule
from tidelog.facts.fact_set import FactSet
from tidelog.facts.values import Values
from tidelog.kernels import firing_tables as table
from tidelog.kernels.firing import read_log
from tidelog.maintain.journal import Net
from tidelog.production.at_once.encoding import EncodedRules
from tidelog.production.at_once.words import Words, ids_of_words

MOST_WORDS_KEPT = 1 << 21


class LentLog:
    """The log of a run, which is put among `unused` ones when it goes: a copy, or pages of the system for a new one,
    would take longer than much of what it tells of."""

    __slots__ = ("_unused", "words")

    def __init__(self, words: Words, unused: list[Words]) -> None:
        self.words = words
        self._unused = unused

    def __del__(self) -> None:
        if not self._unused and self.words.size <= MOST_WORDS_KEPT:
            self._unused.append(self.words)


@dataclass(frozen=True, slots=True, eq=False)
class LoggedCycles:
    """What rules did in some cycles, which `began` at that time. It `is_over` when none is firable any more; `nets` is
    what is different after all.

    The first `words` of `lent` have what came and went, `fired` the rule of each cycle and where its part of them ends.
    """

    encoded: EncodedRules
    values: Values
    is_over: bool
    began: float
    rows_came: int
    nets: Mapping[str, Net]
    lent: LentLog
    words: int
    fired: Words

    @property
    def cycles(self) -> int:
        """How many cycles there were."""
        return len(self.fired)

    def each(self) -> Iterator[tuple[ProductionRule, Mapping[str, Net]]]:
        """The rule that fired in each cycle, and what came and went by that."""
        log = self.lent.words
        changes = np.empty((self.words // 2 + 1, 4), np.int64)
        changes = changes[: read_log(self.encoded.relation_rows, log, self.fired, changes)]
        found: list[dict[str, Net]] = [{} for _ in range(self.cycles)]
        for number, schema in enumerate(self.encoded.relations[: self.encoded.acted_on]):
            some = changes[changes[:, 1] == number]
            if len(some):
                rows = log[some[:, 3, None] + np.arange(schema.arity)]
                ids = ids_of_words(rows, schema.kinds, self.values)
                begins = np.flatnonzero(np.diff(some[:, 0], prepend=0)).tolist()
                for begin, end in zip(begins, [*begins[1:], len(some)], strict=True):
                    came = some[begin:end, 2] == table.CAME
                    net = Net(FactSet(ids[begin:end][came]), FactSet(ids[begin:end][~came]))
                    found[some[begin, 0] - 1][schema.relation] = net
        for (rule, _), nets in zip(self.fired.tolist(), found, strict=True):
            yield self.encoded.order[rule], nets
