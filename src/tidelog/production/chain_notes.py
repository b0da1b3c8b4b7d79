"""What came and went in the cycles of a run, on the way to chains: takes facts, returns chains of rows.

Turning facts into rows takes a while however few they are, so that those of many cycles are turned at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from tidelog.backends.protocol import Backend, Facts
from tidelog.facts.chain import Chains
from tidelog.language.syntax_tree import Sign

MANY_ROWS = 4096
"""Facts that wait at most until they are turned into rows."""


class ChainNotes:
    """The chains of a run so far, and facts that wait to become part of them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._chains = Chains()
        self._waiting: dict[tuple[str, Sign], list[tuple[int, Facts, tuple[str, ...]]]] = defaultdict(list)
        self._rows: Counter[tuple[str, Sign]] = Counter()

    def note(self, cycle: int, relation: str, sign: Sign, facts: Facts, asking: tuple[str, ...]) -> None:
        """Takes facts that came or went in a cycle, and the names of the rules that asked for that."""
        key = relation, sign
        if len(facts) >= MANY_ROWS:
            self._take(relation, sign)
        self._waiting[key].append((cycle, facts, asking))
        self._rows[key] += len(facts)
        if self._rows[key] >= MANY_ROWS:
            self._take(relation, sign)

    def chains(self) -> Chains:
        """The chains of all that was noted."""
        for relation, sign in tuple(self._waiting):
            self._take(relation, sign)
        return self._chains

    def _take(self, relation: str, sign: Sign) -> None:
        """Puts what waits into the chains. Facts of several cycles are turned at once if none is there twice."""
        waiting = self._waiting.pop((relation, sign), [])
        total = self._rows.pop((relation, sign), 0)
        if not waiting:
            return
        together = waiting[0][1].union(*(facts for _, facts, _ in waiting[1:]))
        if len(together) < total:
            for cycle, facts, asking in waiting:
                rows = self._backend.table(relation, facts)
                self._chains.note(cycle, relation, sign is Sign.INSERT, rows, asking)
            return
        rows, begin = self._backend.table(relation, together), 0
        for cycle, facts, asking in waiting:
            self._chains.note(cycle, relation, sign is Sign.INSERT, rows.slice(begin, len(facts)), asking)
            begin += len(facts)
