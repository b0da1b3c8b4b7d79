"""What came and went since somebody last looked: the delta relations of deferred propagation.

Fabret, Regnier and Simon 1993, section 5.4: changes are logged, only those that somebody needs, and brought into what
is retained for a rule when the rule is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.backends.protocol import Backend, Facts
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.plan.nodes import Version

MUCH = 0.5
"""The share of a relation from which on it is no less work to follow its changes than to look at all of it."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Rows of a relation come (INSERT) or go (DELETE)."""

    relation: str
    sign: Sign


class Since:
    """The changes of what is `needed`, since they were last taken. It starts as `is_lost`: nothing is known yet.

    It is lost, too, when a relation that is `opaque` changes, which cannot be followed, or so much has changed that
    looking at everything is no more work. Rows that came and went again are left out only when they are taken.
    """

    def __init__(self, backend: Backend, needed: frozenset[Trigger], opaque: frozenset[str]) -> None:
        self._backend = backend
        self._opaque = opaque
        relations = dict.fromkeys(trigger.relation for trigger in needed)
        self._changes = {name: _Changes(*(Trigger(name, sign) in needed for sign in _SIGNS)) for name in relations}
        self.is_lost = True

    def note(self, nets: Mapping[str, Net]) -> None:
        """Takes note of what came and went."""
        if self.is_lost:
            return
        for relation, net in nets.items():
            if relation in self._opaque:
                self.forget()
                return
            changes = self._changes.get(relation)
            if changes is not None:
                changes.note(net)
                if changes.are_much(self._backend.statistics().rows(relation, Version.FULL)):
                    self.forget()
                    return

    def take(self) -> list[tuple[Trigger, Facts]]:
        """What has changed and still is so. Whoever takes it when it is lost looks at everything: then all is known."""
        self.is_lost = False
        taken = []
        for relation, changes in self._changes.items():
            if changes:
                for sign, parts in zip(_SIGNS, (changes.came, changes.went), strict=True):
                    facts = self._still_so(relation, sign, parts, changes.are_both_ways) if parts else None
                    if facts is not None and len(facts):
                        taken.append((Trigger(relation, sign), facts))
            changes.clear()
        return taken

    def forget(self) -> None:
        """From now on nothing is known."""
        for changes in self._changes.values():
            changes.clear()
        self.is_lost = True

    def __bool__(self) -> bool:
        return self.is_lost or any(self._changes.values())

    def _still_so(self, relation: str, sign: Sign, parts: list[Facts], are_both_ways: bool) -> Facts:
        """The facts of all parts; if the relation has changed both ways, those that are still so."""
        facts = parts[0].union(*parts[1:])
        if not are_both_ways:
            return facts
        return (self._backend.stored if sign is Sign.INSERT else self._backend.unknown)(relation, facts)


_SIGNS = (Sign.INSERT, Sign.DELETE)


class _Changes:
    """What came and went in one relation, as far as it is needed, and whether it has changed both ways."""

    __slots__ = ("_came_rows", "_has_come", "_has_gone", "_needs_came", "_needs_went", "_went_rows", "came", "went")

    def __init__(self, needs_came: bool, needs_went: bool) -> None:
        self._needs_came = needs_came
        self._needs_went = needs_went
        self.clear()

    def note(self, net: Net) -> None:
        came, went = len(net.came), len(net.went)
        if came:
            self._has_come = True
            if self._needs_came:
                self.came.append(net.came)
                self._came_rows += came
        if went:
            self._has_gone = True
            if self._needs_went:
                self.went.append(net.went)
                self._went_rows += went

    def are_much(self, now: int) -> bool:
        """Whether it is no less work to look at all of a relation that has so many rows now."""
        return self._came_rows > MUCH * now or self._went_rows > MUCH * (now + self._went_rows)

    @property
    def are_both_ways(self) -> bool:
        return self._has_come and self._has_gone

    def clear(self) -> None:
        self.came: list[Facts] = []
        self.went: list[Facts] = []
        self._came_rows = self._went_rows = 0
        self._has_come = self._has_gone = False

    def __bool__(self) -> bool:
        return bool(self.came or self.went)
