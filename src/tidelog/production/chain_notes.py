"""What came and went in the cycles of a run, on the way to chains: takes facts, returns chains of rows.

Most runs are never asked for a chain. So facts are kept as ids, and turned into rows when somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.backends.protocol import Backend, Facts
from tidelog.facts.chain import Chains
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Rows
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.production.ids import ids_of


class ChainNotes:
    """What came and went so far. `backend` can read the facts; it lives as long as somebody may ask."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._noted: list[tuple[int, str, Sign, Rows, tuple[str, ...]]] = []
        self._chains = Chains()

    def note(self, cycle: int, relation: str, sign: Sign, facts: Facts, asking: tuple[str, ...]) -> None:
        """Takes facts that came or went in a cycle, and the names of the rules that asked for that."""
        self._noted.append((cycle, relation, sign, ids_of(facts), asking))

    def note_nets(self, cycle: int, nets: Mapping[str, Net], asking: tuple[str, ...]) -> None:
        """Takes all that came and went in a cycle, of which the same rules asked for everything."""
        for relation, net in nets.items():
            for sign, facts in ((Sign.INSERT, net.came), (Sign.DELETE, net.went)):
                if len(facts):
                    self.note(cycle, relation, sign, facts, asking)

    def chains(self) -> Chains:
        """The chains of all that was noted."""
        for cycle, relation, sign, rows, asking in self._noted:
            table = self._backend.table(relation, FactSet(rows))
            self._chains.note(cycle, relation, sign is Sign.INSERT, table, asking)
        self._noted.clear()
        return self._chains
