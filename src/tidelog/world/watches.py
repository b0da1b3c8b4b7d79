"""Rules that are watched: after each change of a session, the rows of their heads that begin and end."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

import pyarrow as pa

from tidelog.activation.watch_text import WatchText
from tidelog.activation.watcher import Match, Watcher
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

    def __init__(self, text: WatchText, on_match: OnMatch, forget: Callable[[Watch], None]) -> None:
        super().__init__(forget)
        self._text = text
        self._on_match = on_match

    @property
    def schema(self) -> Schema:
        """What the rows of its head hold."""
        return self._text.schema

    def tell(self, match: Match) -> None:
        """Calls back with a match; what the callback raises says which rule and row it was."""
        found = WatchMatch(self.schema.relation, match.row, match.begins)
        try:
            self._on_match(found)
        except Exception as reason:
            reason.add_note(f"raised for {found!r} by the callback of {self!r}; the change behind it stays applied")
            raise

    def __repr__(self) -> str:
        return f"<watch: {' '.join(rule.text for rule in self._text.rules)}>"


class Watches:
    """The watches of a session: one index for all of them, kept up to date with every relation they read."""

    def __init__(self) -> None:
        self._watcher = Watcher()
        self._all: dict[int, tuple[Watch, OnError]] = {}

    def add(
        self,
        text: WatchText,
        on_match: OnMatch,
        on_error: OnError,
        schemas: Callable[[str], Schema],
        table: Callable[[str], pa.Table],
    ) -> Watch:
        """A new watch; `table` gives the rows that a relation has by now."""
        for relation in sorted({name for rule in text.rules for name in rule.relations}):
            if relation not in self._watcher.index.relations:
                self._watcher.add_relation(schemas(relation), table(relation))
        watch = Watch(text, on_match, self._remove)
        self._all[self._watcher.add_watch(text.rules, text.schema.kinds)] = (watch, on_error)
        return watch

    def tell(self, delta: Delta) -> None:
        """Tells each watch what begins and ends with a change as a whole.

        An error of a callback ends the telling, or is raised once everyone has heard, as the watch asks for.
        """
        errors: list[Exception] = []
        for match in self._net(delta):
            if match.watch not in self._all:
                continue
            watch, on_error = self._all[match.watch]
            try:
                watch.tell(match)
            except Exception as reason:  # a user's callback may raise anything
                if on_error is OnError.STOP:
                    raise
                errors.append(reason)
        if errors:
            raise ExceptionGroup("callbacks of watches raised; the change stays applied", errors)

    def _net(self, delta: Delta) -> list[Match]:
        """What begins and ends, without what did both."""
        net: dict[tuple[int, Row], Match] = {}
        for relation in delta:
            if relation in self._watcher.index.relations:
                for rows, sign in ((delta[relation].vanished, -1), (delta[relation].appeared, 1)):
                    arrivals = self._watcher.arrivals(relation, rows.to_arrow(), sign)
                    for match in self._watcher.read(self._watcher.apply(arrivals)):
                        if net.pop((match.watch, match.row), None) is None:
                            net[match.watch, match.row] = match
        return sorted(net.values(), key=lambda match: match.begins)

    def _remove(self, watch: Watch) -> None:
        for number, (known, _) in list(self._all.items()):
            if known is watch:
                self._watcher.remove_watch(number)
                del self._all[number]
