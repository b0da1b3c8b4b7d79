"""Aggregates and ranges under names. Takes a body, returns it with `x = count …` before other uses of the count."""

from __future__ import annotations

from dataclasses import replace

from tidelog.analysis.traversal import MARK, Body, Change, change_own, change_own_literal
from tidelog.language.syntax_tree import (
    Aggregate,
    Call,
    Comparison,
    ComparisonOperator,
    Disjunction,
    Literal,
    Term,
    Variable,
)
from tidelog.schema import Kind

VALUE_MARK = f"{MARK}v"


def names_value(name: str) -> bool:
    """Whether a variable only names an aggregate or a range: it is none of the variables that an aggregate counts."""
    return VALUE_MARK in name


class Namer:
    """Makes the variables of one rule, called after the function (`count#v1`), and enters their kinds into `kinds`."""

    def __init__(self, kinds: dict[str, Kind]) -> None:
        self.kinds = kinds
        self.made = 0

    def body(self, body: Body) -> Body:
        """`body`, where aggregates and ranges are one side of an equation whose other side is a variable."""
        return tuple(part for literal in body for part in self._literal(literal))

    def _literal(self, literal: Literal) -> Body:
        before: list[Literal] = []
        change = self._naming(before)
        match literal:
            case Comparison(ComparisonOperator.EQUAL, Variable(), right) if _has_many_parts(right):
                changed: Literal = replace(literal, right=self._inside(right, change))
            case Comparison(ComparisonOperator.EQUAL, left, Variable()) if _has_many_parts(left):
                changed = replace(literal, left=self._inside(left, change))
            case Disjunction(alternatives=parts):
                changed = replace(literal, alternatives=tuple(self.body(part) for part in parts))
            case _:
                changed = change_own_literal(literal, change)
        return (*before, changed)

    def _naming(self, before: list[Literal]) -> Change:
        """The change that puts a variable in place of each aggregate and range, and its equation into `before`."""

        def change(term: Term) -> Term:
            if not _has_many_parts(term):
                return term
            assert isinstance(term, Aggregate | Call)
            assert term.kind is not None
            function = term.function if isinstance(term, Call) else term.function.value
            self.made += 1
            variable = Variable(f"{function}{VALUE_MARK}{self.made}", term.span)
            self.kinds[variable.name] = term.kind
            value = self._inside(term, change)
            before.append(Comparison(ComparisonOperator.EQUAL, variable, value, term.span, term.kind))
            return variable

        return change

    def _inside(self, term: Term, change: Change) -> Term:
        """An aggregate or range that keeps its place, with what stands inside it named."""
        match term:
            case Aggregate(target=target, body=body):
                within: list[Literal] = []
                named = None if target is None else change_own(target, self._naming(within))
                return replace(term, target=named, body=(*self.body(body), *within))
            case Call(arguments=arguments):
                return replace(term, arguments=tuple(change_own(argument, change) for argument in arguments))
            case _:
                return term


def _has_many_parts(term: Term) -> bool:
    return isinstance(term, Aggregate) or (isinstance(term, Call) and term.function == "range")
