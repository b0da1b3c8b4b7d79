"""The steps of rules over one store: takes a plan, returns its body, translated when the plan is first seen."""

from __future__ import annotations

from tidelog.backends.local.body import Body
from tidelog.backends.local.store import Store
from tidelog.backends.local.translate import translate
from tidelog.plan.nodes import Node, RulePlan
from tidelog.plan.walk import relations_read


class Bodies:
    """Bodies that are known so far. It is apart from the backend so that what asks for them does not hold the backend:
    then its memory is free as soon as nobody needs it any more, and what follows finds it again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, tuple[Node, Body, frozenset[str]]] = {}

    def of(self, rule: RulePlan) -> Body:
        """The steps of `rule`."""
        known = self._known.get(id(rule.node))
        if known is None or known[0] is not rule.node:
            known = (rule.node, translate(rule, self._store), relations_read(rule.node))
            self._known[id(rule.node)] = known
        return known[1]

    def forget(self, relation: str) -> None:
        """Forgets the steps of rules that read a relation."""
        self._known = {key: known for key, known in self._known.items() if relation not in known[2]}
