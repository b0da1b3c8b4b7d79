"""What production rules do: the net effect of what they ask for, the order in which they are tried, what a run tells.

Fabret, Regnier and Simon 1993, section 2, for `set` and `instance`; Wolfson and others 1991, section 2, for `parallel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.protocol import Backend, Facts, OwnRows
from tidelog.facts.chain import Chains
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.production.firing import Switch


@dataclass(frozen=True, slots=True)
class Result:
    """What a run did: the number of cycles, how the facts at the end differ from the start, what reads their chains.

    `retained` is how many rows of joins were kept at the end, `switches` what costs have overturned.
    """

    cycles: int
    came: Mapping[str, OwnRows] = field(default_factory=dict)
    went: Mapping[str, OwnRows] = field(default_factory=dict)
    read_chains: Callable[[], Chains] = Chains
    retained: int = 0
    switches: tuple[Switch, ...] = ()


def in_order(rules: Sequence[ProductionRule]) -> tuple[ProductionRule, ...]:
    """`rules` in the order in which they are tried: text order, but none before one that has priority over it."""
    ordered: list[ProductionRule] = []
    waiting = sorted(rules, key=lambda rule: rule.id)
    while waiting:
        chosen = next(rule for rule in waiting if not any(rule.id in other.over for other in waiting))
        ordered.append(chosen)
        waiting.remove(chosen)
    return tuple(ordered)


class Asked:
    """The facts of one relation that rules insert and delete at once; a fact of both stays as it is."""

    __slots__ = ("_deleted", "_inserted")

    def __init__(self, none: Facts) -> None:
        self._inserted = self._deleted = none

    def take(self, sign: Sign, facts: Facts) -> None:
        """Adds what is asked for."""
        if sign is Sign.INSERT:
            self._inserted = self._inserted.union(facts) if len(self._inserted) else facts
        else:
            self._deleted = self._deleted.union(facts) if len(self._deleted) else facts

    def cancelled(self) -> Facts:
        """Takes out the facts that are both inserted and deleted; returns them."""
        inserted = self._inserted.minus(self._deleted)
        if len(inserted) == len(self._inserted):
            return inserted.none()
        both = self._inserted.minus(inserted)
        self._inserted, self._deleted = inserted, self._deleted.minus(both)
        return both

    def net(self, relation: str, backend: Backend) -> Net:
        """What it changes; none is both inserted and deleted any more."""
        return Net(backend.unknown(relation, self._inserted), backend.stored(relation, self._deleted))


def net_effect(effects: Iterable[tuple[str, Sign, Facts]], backend: Backend) -> dict[str, Net]:
    """What carrying out all of `effects` at once changes; a fact both inserted and deleted stays as it is."""
    asked: dict[str, Asked] = {}
    for relation, sign, facts in effects:
        asked.setdefault(relation, Asked(facts.none())).take(sign, facts)
    for each in asked.values():
        each.cancelled()
    return nets_of(asked, backend)


def nets_of(asked: Mapping[str, Asked], backend: Backend) -> dict[str, Net]:
    """What `asked` changes, where that is something; nothing in it cancels."""
    nets = ((relation, each.net(relation, backend)) for relation, each in asked.items())
    return {relation: net for relation, net in nets if net}
