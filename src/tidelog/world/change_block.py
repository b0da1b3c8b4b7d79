"""What `db.change()` gives: a block that collects insertions and retractions and applies them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType

import pyarrow as pa

from tidelog.connectors.frames import to_table
from tidelog.errors import UsageError
from tidelog.facts.change import Change, joined, net_change
from tidelog.schema import Schema
from tidelog.world.delta import Delta

Rows = Iterable[Sequence[object]] | object
"""Tuples, dictionaries, frames, or anything that speaks Arrow."""

RowsByRelation = Mapping[str, Rows]


def change_of(insert: RowsByRelation, retract: RowsByRelation, schema_of: Callable[[str], Schema]) -> Change:
    """The change that inserts and retracts these rows; InputError names the relation and the row that is wrong."""
    return net_change(Change(_tables(insert, schema_of), _tables(retract, schema_of)))


def _tables(rows: RowsByRelation, schema_of: Callable[[str], Schema]) -> dict[str, pa.Table]:
    if not isinstance(rows, Mapping):
        raise UsageError(f'expected rows by relation, such as {{"edge": [(1, 2)]}}, found {type(rows).__name__}')
    return {relation: to_table(given, schema_of(relation)) for relation, given in rows.items()}


class ChangeBlock:
    """Insertions and retractions that are applied together where the `with` block ends; nothing if it raises.

    The order of calls does not matter: a fact that is inserted and retracted in one block is there afterwards.
    """

    def __init__(self, schema_of: Callable[[str], Schema], apply: Callable[[Change], Delta]) -> None:
        self._schema_of = schema_of
        self._apply = apply
        self._inserted: dict[str, list[pa.Table]] = {}
        self._retracted: dict[str, list[pa.Table]] = {}
        self._is_open = False
        self._delta: Delta | None = None

    def insert(self, relation: str, rows: Rows) -> None:
        """Adds facts to the change."""
        self._add(self._inserted, relation, rows)

    def retract(self, relation: str, rows: Rows) -> None:
        """Adds facts to those that the change takes away."""
        self._add(self._retracted, relation, rows)

    @property
    def delta(self) -> Delta:
        """What the change did, once its block has ended."""
        if self._delta is None:
            raise UsageError("there is no delta yet: the change is applied where its with block ends without an error")
        return self._delta

    def __enter__(self) -> ChangeBlock:
        if self._is_open or self._delta is not None:
            raise UsageError("a change is made once: call change() again for another one")
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if kind is None:
            inserted = {relation: joined(tables) for relation, tables in self._inserted.items()}
            retracted = {relation: joined(tables) for relation, tables in self._retracted.items()}
            self._delta = self._apply(net_change(Change(inserted, retracted)))

    def _add(self, tables: dict[str, list[pa.Table]], relation: str, rows: Rows) -> None:
        if not self._is_open:
            raise UsageError("the change is not open: call insert and retract inside its with block")
        table = to_table(rows, self._schema_of(relation))
        tables.setdefault(relation, []).append(table)
