"""Rules that are watched: after each change of a session, the rows of their heads that begin and end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeAlias

import pyarrow as pa

from tidelog.activation.watch_text import WatchText
from tidelog.activation.watcher import Match, Watcher
from tidelog.errors import UsageError
from tidelog.schema import Row, Schema
from tidelog.world.delta import Delta
from tidelog.world.listener import Listener

OnMatch: TypeAlias = Callable[["WatchMatch"], object]


class OnError(Enum):
    """What becomes of the other matches of a change when a callback raises; the change stays in any case."""

    STOP = "stop"
    CONTINUE = "continue"


class WatchMatch:
    """A row of a watched head that begins or ends with a change."""

    __slots__ = ("begins", "relation", "row")

    def __init__(self, relation: str, row: Row, begins: bool) -> None:
        self.relation, self.row, self.begins = relation, row, begins

    def __repr__(self) -> str:
        return f"<{'begins' if self.begins else 'ends'}: {self.relation}{self.row!r}>"


class Watch(Listener):
    """A rule that is watched, until `cancel` or the end of its `with` block."""

    def __init__(self, text: WatchText, on_match: OnMatch, on_error: OnError, forget: Callable[[Watch], None]) -> None:
        super().__init__(forget)
        self.text = text
        self.on_error = on_error
        self._on_match = on_match

    @property
    def schema(self) -> Schema:
        """What the rows of its head hold."""
        return self.text.schema

    def tell(self, match: Match) -> None:
        """Calls back with a match; what the callback raises says which rule and row it was."""
        found = WatchMatch(self.schema.relation, match.row, match.begins)
        try:
            self._on_match(found)
        except Exception as reason:
            reason.add_note(f"raised for {found!r} by the callback of {self!r}; the change behind it stays applied")
            raise

    def __repr__(self) -> str:
        return f"<watch: {' '.join(dict.fromkeys(rule.text for rule in self.text.rules))}>"


class Watches:
    """The watches of a session: one index for all of them, kept up to date with every relation they read."""

    def __init__(self) -> None:
        self._watcher = Watcher()
        self._all: dict[int, Watch] = {}
        self._alive: set[Watch] = set()
        self._waiting: deque[list[tuple[Watch, Match]]] = deque()
        self._is_telling = False

    def add(
        self,
        text: WatchText,
        on_match: OnMatch,
        on_error: OnError,
        schemas: Mapping[str, Schema],
        table: Callable[[str], pa.Table],
    ) -> Watch:
        """A new watch; `table` gives the rows that a relation has by now."""
        if any(self._is_indexed_otherwise(name, schemas[name]) for name in relations_of(text)):
            self._begin_again(schemas, table)
        watch = Watch(text, on_match, on_error, self._remove)
        self._index(watch, schemas, table)
        self._alive.add(watch)
        return watch

    def check(self, schemas: Mapping[str, Schema]) -> None:
        """UsageError where a relation that is watched would be declared otherwise by `schemas`."""
        for watch in self._alive:
            for name in sorted(relations_of(watch.text)):
                if name in schemas and self._is_indexed_otherwise(name, schemas[name]):
                    raise UsageError(
                        f"{watch!r} reads {self._schema(name)}, which would become {schemas[name]}: cancel it first"
                    )

    def tell(self, delta: Delta) -> None:
        """Tells each watch what begins and ends with a change as a whole.

        What a change leads to that a callback makes is told behind what was to be told by then. An error of a callback
        ends the telling, or is raised once everyone has heard, as the watch asks for.
        """
        self._waiting.append(self._net(delta))
        if self._is_telling:
            return
        errors: list[Exception] = []
        self._is_telling = True
        try:
            while self._waiting:
                for watch, match in self._waiting.popleft():
                    if watch in self._alive:
                        errors += _told(watch, match)
        finally:
            self._waiting.clear()
            self._is_telling = False
        if errors:
            raise ExceptionGroup("callbacks of watches raised; the change stays applied", errors)

    def _net(self, delta: Delta) -> list[tuple[Watch, Match]]:
        """What begins and ends, without what did both."""
        net: dict[tuple[int, Row], Match] = {}
        for relation in delta:
            if relation in self._watcher.index.relations:
                changed = delta[relation]
                if self._is_indexed_otherwise(relation, changed.schema):
                    continue
                for rows, sign in ((changed.vanished, -1), (changed.appeared, 1)):
                    arrivals = self._watcher.arrivals(relation, rows.to_arrow(), sign)
                    for match in self._watcher.read(self._watcher.apply(arrivals)):
                        if net.pop((match.watch, match.row), None) is None:
                            net[match.watch, match.row] = match
        ordered = sorted(net.values(), key=lambda match: match.begins)
        return [(self._all[match.watch], match) for match in ordered if match.watch in self._all]

    def _schema(self, relation: str) -> Schema:
        """What the index takes the rows of `relation` for."""
        return self._watcher.index.schemas[self._watcher.index.relations[relation]]

    def _is_indexed_otherwise(self, relation: str, schema: Schema) -> bool:
        """Whether it was declared with other columns when a watch read it first."""
        return relation in self._watcher.index.relations and self._schema(relation).kinds != schema.kinds

    def _index(self, watch: Watch, schemas: Mapping[str, Schema], table: Callable[[str], pa.Table]) -> None:
        for relation in sorted(relations_of(watch.text)):
            if relation not in self._watcher.index.relations:
                self._watcher.add_relation(schemas[relation], table(relation))
        self._all[self._watcher.add_watch(watch.text.rules, watch.schema.kinds)] = watch

    def _begin_again(self, schemas: Mapping[str, Schema], table: Callable[[str], pa.Table]) -> None:
        """Another index for the watches there are; none of them reads the relation that was declared anew."""
        watches, before = list(self._all.values()), self._watcher.index.schemas
        self._watcher, self._all = Watcher(), {}
        for schema in before:
            if schema.relation not in schemas and any(schema.relation in relations_of(one.text) for one in watches):
                self._watcher.add_relation(schema)  # it has gone, and may come back
        for watch in watches:
            self._index(watch, schemas, table)

    def _remove(self, watch: Watch) -> None:
        self._alive.discard(watch)
        for number, known in list(self._all.items()):
            if known is watch:
                self._watcher.remove_watch(number)
                del self._all[number]
        if not self._alive:
            self._watcher = Watcher()


def relations_of(text: WatchText) -> set[str]:
    """The relations that the rules of a watch read."""
    return {name for rule in text.rules for name in rule.relations}


def _told(watch: Watch, match: Match) -> list[Exception]:
    """What the callback raised, where the telling is to go on."""
    try:
        watch.tell(match)
    except Exception as reason:  # a user's callback may raise anything
        if watch.on_error is OnError.STOP:
            raise
        return [reason]
    return []
