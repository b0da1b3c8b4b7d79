"""Nodes that stand for the kinds of terms: which of them are equal, and what each may still be."""

from __future__ import annotations

from tidelog.schema import Kind
from tidelog.span import Span

ANY = frozenset(Kind)
NUMERIC = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT})


class Nodes:
    """Sets of equal nodes (union-find), each with the kinds it may be of and the place that last narrowed it.

    A node that was part of a mistake is given up: from then on it agrees with everything.
    """

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._allowed: list[frozenset[Kind]] = []
        self._place: list[Span | None] = []
        self._gave_up: list[bool] = []

    def new(self, allowed: frozenset[Kind], place: Span | None = None) -> int:
        """A node of its own."""
        self._parent.append(len(self._parent))
        self._allowed.append(allowed)
        self._place.append(place)
        self._gave_up.append(False)
        return len(self._parent) - 1

    def allowed(self, node: int) -> frozenset[Kind]:
        """The kinds `node` may be of."""
        root = self._root(node)
        return ANY if self._gave_up[root] else self._allowed[root]

    def kind(self, node: int) -> Kind:
        """The kind of `node`; where several are possible, the first in the order of `Kind`."""
        allowed = self.allowed(node)
        return next(kind for kind in Kind if kind in allowed)

    def place(self, node: int) -> Span | None:
        """What narrowed `node`, if anything did."""
        return self._place[self._root(node)]

    def narrow(self, node: int, kinds: frozenset[Kind], place: Span | None) -> bool:
        """Whether `node` may be of one of `kinds`; if so, it is from now on."""
        root = self._root(node)
        if self._gave_up[root]:
            return True
        shared = self._allowed[root] & kinds
        if not shared:
            return False
        if shared != self._allowed[root]:
            self._allowed[root] = shared
            self._place[root] = place or self._place[root]
        return True

    def unify(self, one: int, other: int) -> bool:
        """Whether the nodes may be of one kind; if so, they are equal from now on."""
        left, right = self._root(one), self._root(other)
        if left == right or self._gave_up[left] or self._gave_up[right]:
            return True
        shared = self._allowed[left] & self._allowed[right]
        if not shared:
            return False
        if shared == self._allowed[right]:
            left, right = right, left
        self._parent[right] = left
        self._allowed[left] = shared
        self._place[left] = self._place[left] or self._place[right]
        return True

    def give_up(self, *nodes: int) -> None:
        """Lets the nodes agree with everything."""
        for node in nodes:
            self._gave_up[self._root(node)] = True

    def gave_up(self, node: int) -> bool:
        return self._gave_up[self._root(node)]

    def _root(self, node: int) -> int:
        while self._parent[node] != node:
            self._parent[node] = self._parent[self._parent[node]]
            node = self._parent[node]
        return node
