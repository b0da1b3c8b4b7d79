"""What is known about a rule before its text is written: which names are asked for where, and how ids are pushed."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.codegen.atoms import Surroundings
from tidelog.language.syntax_tree import Comparison, Constant, Term, Variable
from tidelog.plan.nodes import Extend, RulePlan, Scan, Select, Version
from tidelog.plan.parts import Part, names_of
from tidelog.plan.walk import names_in


class Shape:
    """The parts of a rule and the terms of its head."""

    def __init__(self, rule: RulePlan, parts: Sequence[Part], head: Sequence[Term], surroundings: Surroundings) -> None:
        self._rule = rule
        self._parts = parts
        self._head = head
        self._surroundings = surroundings

    @property
    def firsts(self) -> frozenset[str]:
        """The names in the first column of the head."""
        return names_in(self._head[0]) if self._head else frozenset()

    def last_of_head(self) -> str | None:
        """The variable in the second column of a head of pairs, if the first is not the same."""
        if self._surroundings.width(self._rule.head) != 2 or len(self._head) != 2:
            return None
        second = self._head[1]
        if isinstance(second, Variable) and second.name not in self.firsts:
            return second.name
        return None

    def may_fail(self) -> bool:
        """Whether a row may have no value: then rows are taken one at a time."""
        return any(isinstance(part, Extend | Select) and not _is_plain(part) for part in self._parts) or not all(
            isinstance(term, Variable | Constant) for term in self._head
        )

    def is_used(self, name: str, parts: Sequence[Part]) -> bool:
        """Whether some of these parts ask for a name."""
        return any(name in names_of(part) for part in parts)

    def is_needed(self, name: str, rest: Sequence[Part]) -> bool:
        """Whether what comes behind a part asks for a name, or the head does."""
        return self.is_used(name, rest) or any(name in names_in(term) for term in self._head)

    def is_recursive(self, relation: str) -> bool:
        """Whether the rows of a relation of pairs are known to grow while the rule is in use."""
        return self._surroundings.width(relation) == 2 and (
            relation == self._rule.head
            or any(
                isinstance(part, Scan) and part.relation == relation and part.version in (Version.OLD, Version.DELTA)
                for part in self._parts
            )
        )

    def has_words(self, relation: str, key: int) -> bool:
        """Whether some atom of the rule pushes the ids of a key of this relation as words."""
        last = self.last_of_head()
        return self.is_recursive(relation) and any(
            isinstance(part, Scan) and part.relation == relation and last is not None and part.columns[1 - key] == last
            for part in self._parts
            if not isinstance(part, Scan) or part.version is not Version.YOUNGER
        )

    def takes_runs(self, scan: Scan) -> bool:
        """Whether rows of a delta of pairs with the same first id are taken together: what follows from all of them is
        gathered then, and pushed to heads whose first column the other ids have no say in, or are."""
        names, last = scan.columns, self.last_of_head()
        if scan.version is not Version.DELTA or len(names) != 2 or self.may_fail() or last is None or last in names:
            return False
        first, other = names
        rest = self._parts[1:]
        if not isinstance(first, str) or not isinstance(other, str) or first == other or not rest:
            return False
        givers = [names_of(part) for part in rest if names_of(part) >= self.firsts | {first}]
        gives = (
            self.firsts <= {first}
            or (self.firsts == {other} and len(rest) > 1 and not self.is_used(other, rest))
            or any(other not in names for names in givers)
        )
        return gives and all(isinstance(part, Scan) for part in rest) and self.is_gathered(rest[-1])

    def is_gathered(self, part: Part) -> bool:
        """Whether the ids that an atom of pairs gives to the last column of the head are gathered before they are
        pushed: those that are words anyway, and those that many heads get, where few words hold them."""
        last = self.last_of_head()
        if not isinstance(part, Scan) or len(part.columns) != 2 or last not in part.columns:
            return False
        column = part.columns.index(last)
        return self.is_recursive(part.relation) or (
            self._has_many_heads() and self._surroundings.has_few_ids(part.relation, column)
        )

    def _has_many_heads(self) -> bool:
        """Whether the first column of the head has several ids for what else is bound: those of the second column of
        the delta to start from, or those of an atom of pairs with several rows for a key."""
        start, *rest = self._parts
        if names_of(start) & self.firsts:
            is_other = isinstance(start, Scan) and start.columns[1:] == tuple(self.firsts)
            return is_other and not any(self.is_used(name, rest) for name in self.firsts)
        for part in rest:
            if isinstance(part, Scan) and len(part.columns) == 2 and self.firsts & names_of(part):
                gives = [number for number in (0, 1) if part.columns[number] in self.firsts]
                return len(gives) == 1 and self._surroundings.has_several(part.relation, 1 - gives[0])
        return False


def _is_plain(part: Extend | Select) -> bool:
    """Whether a part has a value for every row."""
    match part:
        case Extend(value=value):
            return isinstance(value, Variable | Constant)
        case Select(condition=Comparison(_, left, right)):
            return isinstance(left, Variable | Constant) and isinstance(right, Variable | Constant)
        case _:
            return False
