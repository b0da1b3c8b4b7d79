"""Takes a body of a production rule, returns literals as steps need them: what must be computed has a name.

What a kernel cannot decide is `Beyond` it: text, floats, ranges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tidelog.analysis.checked import ProductionRule
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Literal,
    Negation,
    Term,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.plan.lower_body import variables_in
from tidelog.schema import Kind, Schema

CALCULATED = ("+", "-", "*", "/", "%", "neg")
"""Functions of numbers that a kernel computes."""

EQUALITIES = (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL)
"""Comparisons of text: a kernel does not know its order."""


class Beyond(Exception):
    """A kernel cannot do this."""


@dataclass(frozen=True, slots=True)
class Group:
    """`name` is the value of an aggregate over `body`, for each choice of the `outer` variables."""

    name: str
    function: AggregateFunction
    target: Term | None
    body: tuple[Part, ...]
    outer: frozenset[str]


Part: TypeAlias = Atom | Negation | Comparison | Group
"""Arguments of atoms are variables, constants and `_`; sides of comparisons have no aggregates."""


class Body:
    """Makes parts of the literals of a rule."""

    def __init__(self, rule: ProductionRule, number: int, schemas: Mapping[str, Schema]) -> None:
        heads = [head.atom for head in rule.heads]
        self._occurrences = Counter(name for part in (*heads, *rule.bodies[number]) for name in variables_in(part))
        self._schemas = schemas
        self._names = 0
        self.parts = tuple(self.parts_of(rule.bodies[number]))

    def parts_of(self, literals: Sequence[Literal]) -> Iterator[Part]:
        """The parts that say what the literals say."""
        for literal in literals:
            match literal:
                case Atom():
                    yield from self._atom_parts(literal)
                case Negation(atom=atom):
                    *equalities, plain_atom = self._atom_parts(atom)
                    assert isinstance(plain_atom, Atom)
                    yield from (*equalities, replace(literal, atom=plain_atom))
                case Comparison():
                    yield from self._comparison_parts(literal)
                case Truth(value=True):
                    pass
                case _:
                    raise Beyond

    def _atom_parts(self, atom: Atom) -> Iterator[Part]:
        """The atom, behind an equality for each argument that must be computed."""
        arguments: list[Term] = []
        for argument, kind in zip(atom.arguments, self._schemas[atom.relation].kinds, strict=True):
            match plain(argument):
                case Variable() | Wildcard() as term:
                    arguments.append(term)
                case Constant() as term:
                    arguments.append(replace(term, kind=kind))
                case term:
                    name = self._fresh()
                    yield Comparison(ComparisonOperator.EQUAL, name, checked_term(term), atom.span, Kind.NUMBER)
                    arguments.append(name)
        yield replace(atom, arguments=tuple(arguments))

    def _comparison_parts(self, literal: Comparison) -> Iterator[Part]:
        left, right = plain(literal.left), plain(literal.right)
        if literal.operator is ComparisonOperator.EQUAL and isinstance(right, Variable):
            left, right = right, left
        if literal.operator is ComparisonOperator.EQUAL and isinstance(left, Variable) and isinstance(right, Aggregate):
            yield self._group(left.name, right)
            return
        groups: list[Group] = []
        sides: list[Term] = []
        for side in (left, right):
            if isinstance(side, Aggregate):
                name = self._fresh()
                groups.append(self._group(name.name, side))
                sides.append(name)
            else:
                sides.append(checked_term(side))
        if literal.kind is not Kind.NUMBER and (literal.kind is not Kind.SYMBOL or literal.operator not in EQUALITIES):
            raise Beyond
        yield from groups
        yield replace(literal, left=sides[0], right=sides[1])

    def _group(self, name: str, aggregate: Aggregate) -> Group:
        if aggregate.function is AggregateFunction.MEAN or aggregate.kind is not Kind.NUMBER:
            raise Beyond
        inside = Counter(variables_in(aggregate))
        outer = frozenset(each for each, count in inside.items() if self._occurrences[each] > count)
        target = None if aggregate.target is None else checked_term(plain(aggregate.target))
        return Group(name, aggregate.function, target, tuple(self.parts_of(aggregate.body)), outer)

    def _fresh(self) -> Variable:
        """A name that no rule can use."""
        self._names += 1
        return Variable(f"#{self._names}")


def plain(term: Term) -> Term:
    """`term` without casts around it."""
    return plain(term.term) if isinstance(term, Cast) else term


def checked_term(term: Term) -> Term:
    """`term`, if a kernel can compute it, without casts."""
    match plain(term):
        case Variable() | Constant() as simple:
            return simple
        case Call(function=function, arguments=arguments, kind=Kind.NUMBER) as call if function in CALCULATED:
            return replace(call, arguments=tuple(map(checked_term, arguments)))
        case _:
            raise Beyond


def names_in(terms: Iterable[Term]) -> frozenset[str]:
    """The variables of terms."""
    return frozenset(name for term in terms for name in variables_in(term))
