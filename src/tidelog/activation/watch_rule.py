"""Takes checked rules, returns them as watch rules: literals, comparisons and a head of variables and constants."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from tidelog.analysis.checked import SimpleRule
from tidelog.errors import Diagnostic
from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Disjunction,
    Literal,
    Negation,
    Term,
    Test,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.schema import Kind
from tidelog.span import Span

PlainTerm: TypeAlias = Variable | Constant | Wildcard

ORDERED = frozenset(
    {
        ComparisonOperator.LESS,
        ComparisonOperator.LESS_EQUAL,
        ComparisonOperator.GREATER,
        ComparisonOperator.GREATER_EQUAL,
    }
)
COMPARE: Mapping[ComparisonOperator, Callable[[Any, Any], Any]] = {
    ComparisonOperator.EQUAL: operator.eq,
    ComparisonOperator.NOT_EQUAL: operator.ne,
    ComparisonOperator.LESS: operator.lt,
    ComparisonOperator.LESS_EQUAL: operator.le,
    ComparisonOperator.GREATER: operator.gt,
    ComparisonOperator.GREATER_EQUAL: operator.ge,
}
INSTEAD = "derive it with a rule of the program and watch the relation that rule fills"


@dataclass(frozen=True, slots=True)
class WatchLiteral:
    """An atom of the body, as it stands or negated."""

    relation: str
    terms: tuple[PlainTerm, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class WatchComparison:
    """`left operator right`, both variables of the body or constants."""

    operator: ComparisonOperator
    left: PlainTerm
    right: PlainTerm


@dataclass(frozen=True, slots=True)
class WatchRule:
    """A rule to be told of. Equations are gone: what they make equal has one name. `kinds` has every variable."""

    id: int
    head: str
    terms: tuple[PlainTerm, ...]
    literals: tuple[WatchLiteral, ...]
    comparisons: tuple[WatchComparison, ...]
    kinds: Mapping[str, Kind]
    span: Span
    text: str

    @property
    def relations(self) -> frozenset[str]:
        """The relations that its body reads."""
        return frozenset(literal.relation for literal in self.literals)


def watch_rule(rule: SimpleRule) -> WatchRule | None:
    """`rule` as a watch rule; None when its constants alone make it false. `cannot_watch` has found nothing in it."""
    names: dict[str, PlainTerm] = {}
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.operator is ComparisonOperator.EQUAL:
            left, right = _resolved(_plain(literal.left), names), _resolved(_plain(literal.right), names)
            if isinstance(left, Variable):
                if left != right:
                    names[left.name] = right
            elif isinstance(right, Variable):
                names[right.name] = left
            elif not _holds(WatchComparison(ComparisonOperator.EQUAL, left, right)):
                return None
    comparisons = tuple(_comparisons(rule, names))
    if not all(map(_holds, comparisons)):
        return None
    return WatchRule(
        id=rule.id,
        head=rule.head.relation,
        terms=_terms(rule.head, names),
        literals=tuple(_literals(rule, names)),
        comparisons=tuple(comparison for comparison in comparisons if not _is_constant(comparison)),
        kinds=rule.kinds,
        span=rule.span,
        text=rule.text,
    )


def cannot_watch(rule: SimpleRule) -> Iterator[Diagnostic]:
    """A diagnostic for each part of `rule` that an arriving tuple cannot decide by itself."""
    if not any(isinstance(literal, Atom) for literal in rule.body):
        yield Diagnostic(
            "D800",
            "a watch rule needs a relation in its body that is not negated",
            rule.span,
            "name the relation whose tuples complete the rule",
        )
    for literal in rule.body:
        yield from _cannot_watch_literal(literal, rule.kinds)
    for term in rule.head.arguments:
        yield from _cannot_watch_term(term)


def _cannot_watch_literal(literal: Literal, kinds: Mapping[str, Kind]) -> Iterator[Diagnostic]:
    match literal:
        case Atom(arguments=arguments) | Negation(atom=Atom(arguments=arguments)):
            for term in arguments:
                yield from _cannot_watch_term(term)
        case Comparison(compared, left, right, span):
            yield from _cannot_watch_term(left)
            yield from _cannot_watch_term(right)
            if compared in ORDERED and Kind.SYMBOL in (_kind(left, kinds), _kind(right, kinds)):
                yield Diagnostic("D802", "a watch rule cannot compare the order of symbols", span, INSTEAD)
        case Test(function, span=span):
            yield Diagnostic("D801", f"a watch rule cannot call '{function}'", span, INSTEAD)
        case Truth() | Disjunction():
            raise AssertionError("a simple rule has these only inside aggregates")
        case _:
            assert_never(literal)


def _cannot_watch_term(term: Term) -> Iterator[Diagnostic]:
    match term:
        case Variable() | Wildcard() | Constant():
            return
        case Cast(inner):
            yield from _cannot_watch_term(inner)
        case Call(function, span=span):
            yield Diagnostic("D801", f"a watch rule cannot compute '{function}'", span, INSTEAD)
        case Aggregate(function, span=span):
            yield Diagnostic("D801", f"a watch rule cannot aggregate ('{function.value}')", span, INSTEAD)
        case _:
            assert_never(term)


def _kind(term: Term, kinds: Mapping[str, Kind]) -> Kind | None:
    match term:
        case Variable(name):
            return kinds.get(name)
        case Wildcard():
            return None
        case _:
            return getattr(term, "kind", None)


def _literals(rule: SimpleRule, names: Mapping[str, PlainTerm]) -> Iterator[WatchLiteral]:
    for literal in rule.body:
        match literal:
            case Atom():
                yield WatchLiteral(literal.relation, _terms(literal, names), negated=False)
            case Negation(atom):
                yield WatchLiteral(atom.relation, _terms(atom, names), negated=True)


def _comparisons(rule: SimpleRule, names: Mapping[str, PlainTerm]) -> Iterator[WatchComparison]:
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.operator is not ComparisonOperator.EQUAL:
            left, right = (_resolved(_plain(side), names) for side in (literal.left, literal.right))
            yield WatchComparison(literal.operator, left, right)


def _holds(comparison: WatchComparison) -> bool:
    """False where two constants say so."""
    match comparison:
        case WatchComparison(compared, Constant(left), Constant(right)):
            return bool(COMPARE[compared](left, right))
        case _:
            return True


def _is_constant(comparison: WatchComparison) -> bool:
    return isinstance(comparison.left, Constant) and isinstance(comparison.right, Constant)


def _terms(atom: Atom, names: Mapping[str, PlainTerm]) -> tuple[PlainTerm, ...]:
    return tuple(_resolved(_plain(term), names) for term in atom.arguments)


def _plain(term: Term) -> PlainTerm:
    match term:
        case Constant(value, _, span, kind):
            return Constant(value, kind, span, kind)  # constants of two kinds are never the same
        case Variable() | Wildcard():
            return term
        case Cast(inner):
            return _plain(inner)
        case _:
            raise AssertionError(f"not a plain term: {term}")


def _resolved(term: PlainTerm, names: Mapping[str, PlainTerm]) -> PlainTerm:
    while isinstance(term, Variable) and term.name in names:
        term = names[term.name]
    return term
