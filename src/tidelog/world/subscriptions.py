"""Who wants to hear when a relation changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tidelog.world.delta import Delta, RelationDelta
from tidelog.world.listener import Listener

Callback: TypeAlias = Callable[[RelationDelta], object]


class Subscription(Listener):
    """One callback for one relation, until `cancel` or the end of its `with` block."""

    def __init__(self, relation: str, callback: Callback, forget: Callable[[Subscription], None]) -> None:
        super().__init__(forget)
        self._relation = relation
        self._callback = callback

    @property
    def relation(self) -> str:
        return self._relation

    def tell(self, delta: Delta) -> None:
        """Calls back with what `delta` says of the relation."""
        self._callback(delta[self._relation])

    def __repr__(self) -> str:
        return f"<subscription to {self._relation}>"


class Subscriptions:
    """The subscriptions of a session, in the order they were made."""

    def __init__(self) -> None:
        self._all: list[Subscription] = []

    def add(self, relation: str, callback: Callback) -> Subscription:
        """A new subscription, told after those that are there."""
        subscription = Subscription(relation, callback, self._remove)
        self._all.append(subscription)
        return subscription

    def tell(self, delta: Delta, told: list[Subscription]) -> None:
        """Tells everyone whose relation changed; `told` gets those whose callback returned."""
        for subscription in tuple(self._all):
            if subscription.relation in delta and subscription in self._all:
                subscription.tell(delta)
                told.append(subscription)

    def _remove(self, subscription: Subscription) -> None:
        if subscription in self._all:
            self._all.remove(subscription)


def tell_taken_back(told: list[Subscription], delta: Delta, reason: BaseException) -> None:
    """Tells the opposite of `delta` to those who had been told, the last first.

    What they raise becomes a note of `reason`, which is on its way to the caller.
    """
    for subscription in reversed(told):
        try:
            subscription.tell(delta.inverse())
        except Exception as problem:  # the first error is the one to report
            reason.add_note(f"{subscription!r} was told that the change is taken back, and raised: {problem!r}")
