"""What came and went since somebody last looked: the delta relations of deferred propagation.

Fabret, Regnier and Simon 1993, section 5.4: changes are logged, only those that somebody needs, and brought into what
is retained for a rule when the rule is tried.
"""

from __future__ import annotations

from collections import Counter
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
        self._needed = needed
        self._opaque = opaque
        self._concerned = opaque.union(trigger.relation for trigger in needed)
        self._forget_changes()
        self.is_lost = True

    def note(self, nets: Mapping[str, Net]) -> None:
        """Takes note of what came and went."""
        if self.is_lost or self._concerned.isdisjoint(nets):
            return
        for relation, net in nets.items():
            for sign, facts in ((Sign.INSERT, net.came), (Sign.DELETE, net.went)):
                if not len(facts):
                    continue
                if self._signs.setdefault(relation, sign) is not sign:
                    self._both_ways.add(relation)
                trigger = Trigger(relation, sign)
                if trigger in self._needed:
                    self._parts.setdefault(trigger, []).append(facts)
                    self._rows[trigger] += len(facts)
                    self.is_lost |= self._is_much(trigger)
            self.is_lost |= relation in self._opaque
        if self.is_lost:
            self.forget()

    def take(self) -> list[tuple[Trigger, Facts]]:
        """What has changed and still is so. Whoever takes it when it is lost looks at everything: then all is known."""
        parts, both_ways = self._parts, self._both_ways
        self._forget_changes()
        self.is_lost = False
        taken = []
        for trigger, some in parts.items():
            facts = some[0].union(*some[1:])
            if trigger.relation in both_ways:
                is_so = self._backend.stored if trigger.sign is Sign.INSERT else self._backend.unknown
                facts = is_so(trigger.relation, facts)
            if len(facts):
                taken.append((trigger, facts))
        return taken

    def forget(self) -> None:
        """From now on nothing is known."""
        self._forget_changes()
        self.is_lost = True

    def _forget_changes(self) -> None:
        self._parts: dict[Trigger, list[Facts]] = {}
        self._rows: Counter[Trigger] = Counter()
        self._signs: dict[str, Sign] = {}
        self._both_ways: set[str] = set()

    def __bool__(self) -> bool:
        return self.is_lost or bool(self._parts)

    def _is_much(self, trigger: Trigger) -> bool:
        changed = self._rows[trigger]
        now = self._backend.statistics().rows(trigger.relation, Version.FULL)
        return changed > MUCH * (now if trigger.sign is Sign.INSERT else now + changed)
