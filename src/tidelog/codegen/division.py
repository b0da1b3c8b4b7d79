"""Text by which each of several threads pushes only the pairs that begin with its own ids.

All threads go through all rows then, and no two of them write to the same place. Ids are told apart as early as they
are known: where they come as words of bits, all of a word at once.
"""

from __future__ import annotations

from tidelog.codegen.writer import Writer
from tidelog.language.syntax_tree import Term, Variable


class Division:
    """Writes what leaves out ids of others from the first column of a head, `first`; None where nothing is divided.
    `bound` are the names that have a value by then."""

    def __init__(self, writer: Writer, bound: set[str], first: Term | None) -> None:
        self._writer = writer
        self._bound = bound
        self._first = first
        self._is_open = first is not None

    @property
    def parameters(self) -> tuple[str, ...]:
        """What tells a thread its own ids: the last parameter of the code, and of what it pushes by."""
        return () if self._first is None else ("mine",)

    def own_bits(self, name: str, word: str, bits: str) -> str:
        """Text for those `bits` of a word that `name` is to be bound to."""
        if not self._is_open or self._first != Variable(name):
            return bits
        self._is_open = False
        return f"{bits} & {self._writer.call('mine_of', word, 'mine')}"

    def take_bound(self) -> bool:
        """Goes on only with own ids, if the first column has a value; whether it has."""
        if not isinstance(self._first, Variable) or self._first.name not in self._bound:
            return False
        self.take(self._writer.variable(self._first.name))
        return True

    def take(self, first: str) -> None:
        """Goes on only if the id in the first column, which is that text, is an own one."""
        if self._is_open:
            self._is_open = False
            self._writer.open(f"if {self._writer.call('is_mine', first, 'mine')}:")
