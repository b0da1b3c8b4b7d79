"""Symbolic facts: what is known about a fact before there are rows (section 5.2 of the Push paper).

`unify` is a most general unifier of a symbolic fact with a literal: names of the rule give way to program variables,
both give way to constants, and what only rows can decide is left as checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.language.printer import print_constant
from tidelog.language.syntax_tree import Constant
from tidelog.plan.nodes import Scan
from tidelog.schema import Kind, Value


@dataclass(frozen=True, slots=True)
class ProgramVariable:
    """A variable of the generated code. The paper writes v3_X for X of rule 3, which is the only rule that sets it."""

    owner: str  # the label of the rule that sets it, or `_p`: then it is a column of p, and every rule for p sets it
    name: str  # the name in that rule, or of that column
    kind: Kind  # what its values are made of

    def __str__(self) -> str:
        return f"v{self.owner}_{self.name}"


@dataclass(frozen=True, slots=True)
class Known:
    """A value that is known from the text of the program."""

    value: Value
    kind: Kind

    @property
    def constant(self) -> Constant:
        """The same value as it stands in plans."""
        return Constant(self.value, self.kind, kind=self.kind)

    def __str__(self) -> str:
        return print_constant(self.constant)


SymbolicTerm: TypeAlias = ProgramVariable | Known


@dataclass(frozen=True, slots=True)
class SymbolicFact:
    """A relation with a program variable or a known value for each column."""

    relation: str
    terms: tuple[SymbolicTerm, ...]

    @property
    def variables(self) -> frozenset[ProgramVariable]:
        """The program variables that hold a row of it."""
        return frozenset(term for term in self.terms if isinstance(term, ProgramVariable))

    def __str__(self) -> str:
        return f"{self.relation}({', '.join(map(str, self.terms))})"


@dataclass(frozen=True, slots=True)
class Check:
    """A part of a unification that is left for run time: the rule applies only where both are equal."""

    variable: ProgramVariable
    equals: SymbolicTerm

    def __str__(self) -> str:
        return f"{self.variable} = {self.equals}"


@dataclass(frozen=True, slots=True)
class Unifier:
    """`names` has what stands for each name of the literal; `checks` what has to hold besides (V = Vθ)."""

    names: Mapping[str, SymbolicTerm]
    checks: tuple[Check, ...]


def unify(literal: Scan, fact: SymbolicFact) -> Unifier | None:
    """The most general unifier of a literal with a symbolic fact of its relation; None where no row can match."""
    classes = Classes()
    for column, term in zip(literal.columns, fact.terms, strict=True):
        match column:
            case None:
                continue
            case str():
                agrees = classes.join(column, term)
            case Constant(value=value):
                agrees = classes.join(Known(value, term.kind), term)
        if not agrees:
            return None
    names = {column: classes.instead(column) for column in literal.columns if isinstance(column, str)}
    return Unifier(names, tuple(classes.checks()))


Member: TypeAlias = str | SymbolicTerm


class Classes:
    """Names, variables and values that must be equal, and for each class what stands for it."""

    def __init__(self) -> None:
        self._members: dict[Member, list[Member]] = {}

    def join(self, one: Member, other: Member) -> bool:
        """Whether both can be equal; if so, they are from now on."""
        left, right = (self._members.setdefault(member, [member]) for member in (one, other))
        if left is right:
            return True
        left += right
        for member in right:
            self._members[member] = left
        return sum(isinstance(member, Known) for member in left) <= 1

    def instead(self, member: Member) -> SymbolicTerm:
        """The known value that `member` equals or, where there is none, the first program variable."""
        found = [each for each in self._members[member] if not isinstance(each, str)]
        return next((each for each in found if isinstance(each, Known)), found[0])

    def checks(self) -> Iterator[Check]:
        """For each program variable that something else stands for: that both are equal."""
        for member in self._members:
            if isinstance(member, ProgramVariable) and (instead := self.instead(member)) != member:
                yield Check(member, instead)
