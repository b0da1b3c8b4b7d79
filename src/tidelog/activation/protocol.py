"""What an activation index takes and returns: tuples in, the matches that begin and end out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidelog.activation.codes import CodeArray
from tidelog.activation.watch_rule import WatchRule
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Tuples in order: rows[i] belongs to relations[i]; signs[i] is 1 where it comes, -1 where it goes.

    Rows hold codes and are as wide as the widest relation; what lies behind a row's own columns is not looked at.
    """

    relations: npt.NDArray[np.int32]
    signs: npt.NDArray[np.int8]
    rows: CodeArray


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches in order of arrival: heads[m] begins (signs[m] is 1) or ends (-1) with arrival arrivals[m].

    The columns behind those of a rule's own head mean nothing.
    """

    rules: npt.NDArray[np.int32]
    arrivals: npt.NDArray[np.int32]
    signs: npt.NDArray[np.int32]
    heads: CodeArray

    def __len__(self) -> int:
        return self.rules.size

    def first(self, count: int) -> Matches:
        """The first of them."""
        return Matches(self.rules[:count], self.arrivals[:count], self.signs[:count], self.heads[:count])


@dataclass(frozen=True, slots=True)
class Accesses:
    """What was touched: indexes searched for a key, entries of indexes read, stored tuples read but the arriving one.

    Finding out whether a tuple is stored already is the same for every index, and not counted. `activations` says for
    how many arrivals and literals joining was begun; each of them reads the arriving tuple.
    """

    searches: int
    entries: int
    tuples: int
    activations: int


@dataclass(frozen=True, slots=True)
class IndexSize:
    """How much an index keeps besides the tuples themselves."""

    entries: int
    bytes: int


class ActivationIndex(Protocol):
    """Finds the matches that a tuple completes. Relations and rules are numbered in the order they are added."""

    def add_relation(self, schema: Schema) -> int:
        """The number of a relation whose tuples will arrive; the one it has if it is known."""

    def add_rule(self, rule: WatchRule) -> int:
        """The number of a rule to watch, over the relations that its body reads; it sees the tuples stored by now."""

    def remove_rule(self, rule: int) -> None:
        """Ends a rule: it has no matches any more."""

    def apply(self, arrivals: Arrivals) -> Matches:
        """The matches that begin and end with each of the arrivals, which are taken one after the other."""

    def matches(self, rule: int) -> Matches:
        """Every match of a rule that there is now, as if it began with arrival 0."""

    def accesses(self) -> Accesses:
        """What all arrivals have touched so far."""

    def size(self) -> IndexSize:
        """How large the index is now."""
