"""Fact chains: when each fact of a run came and went, and by which rules. A record is kept where something changed.

Wolfson, Dewan, Stolfo and Yemini 1991, section 4, without counts: a record says that the fact is in or out from then
on. Rows are kept as columns, with the number of the cycle beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

CycleNumbers: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ChainRecord:
    """From `cycle` on the fact `is_there`, or is not; `rules` are the names of those that asked for it.

    Cycle 0 is the start, which no rule has made.
    """

    cycle: int
    is_there: bool
    rules: tuple[str, ...] = ()


class Chains:
    """The chains of all facts of one run."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[str, bool], list[tuple[int, pa.Table]]] = {}
        self._joined: dict[tuple[str, bool], tuple[CycleNumbers, pa.Table]] = {}
        self._rules: dict[tuple[int, str, bool], tuple[str, ...]] = {}

    def note(self, cycle: int, relation: str, is_there: bool, rows: pa.Table, rules: tuple[str, ...]) -> None:
        """Takes rows of `relation` that came or went in a cycle, and who asked for that; cycles come in order."""
        self._pieces.setdefault((relation, is_there), []).append((cycle, rows))
        self._joined.pop((relation, is_there), None)
        self._rules[cycle, relation, is_there] = rules

    def chain(self, relation: str, row: pa.Table) -> tuple[ChainRecord, ...]:
        """The records of the fact in `row`, which has one; none when nothing was ever different about it."""
        found = sorted(
            (int(cycle), is_there) for is_there in (True, False) for cycle in self._cycles(relation, is_there, row)
        )
        if not found:
            return ()
        start = ChainRecord(0, not found[0][1])
        return (start, *(ChainRecord(cycle, there, self._rules[cycle, relation, there]) for cycle, there in found))

    def _cycles(self, relation: str, is_there: bool, row: pa.Table) -> CycleNumbers:
        """The cycles in which the fact in `row` came, or went."""
        key = relation, is_there
        if key not in self._pieces:
            return np.empty(0, np.int32)
        if key not in self._joined:
            self._joined[key] = _join(self._pieces[key])
        cycles, rows = self._joined[key]
        agrees = np.ones(cycles.size, np.bool_)
        for name in rows.column_names:
            agrees &= pc.equal(rows[name], row[name][0]).to_numpy(zero_copy_only=False)
        return cycles[agrees]


def _join(pieces: list[tuple[int, pa.Table]]) -> tuple[CycleNumbers, pa.Table]:
    """All rows, and the cycle of each."""
    numbers = np.array([cycle for cycle, _ in pieces], np.int32)
    counts = [rows.num_rows for _, rows in pieces]
    return np.repeat(numbers, counts), pa.concat_tables([rows for _, rows in pieces])
