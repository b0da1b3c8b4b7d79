"""The kind of every term of a rule, by unification. Takes a rule over known names, returns it with kinds filled in.

Each variable and each other term has a node; a node has the set of kinds it may still be of. Atoms, comparisons, calls,
casts and aggregates make nodes equal or narrow them. A plain integer may be of any numeric kind and takes that of its
place; where nothing decides, it is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from tidelog.analysis.overloads import PendingCall, settle, solve
from tidelog.analysis.traversal import Body
from tidelog.analysis.unify import ANY, NUMERIC, Nodes
from tidelog.analysis.wording import advice, name_of, with_article
from tidelog.errors import Diagnostic, Note
from tidelog.language.functions import FUNCTIONS, RANGES, TESTS
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    Call,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Literal,
    Negation,
    Rule,
    Term,
    Test,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.schema import Kind, Schema


@dataclass(frozen=True, slots=True)
class TypedRule:
    """A rule with kinds filled in, and the kind of each of its variables."""

    rule: Rule
    kinds: Mapping[str, Kind]


def infer_kinds(
    rule: Rule, schemas: Mapping[str, Schema], types: Mapping[str, Kind]
) -> tuple[TypedRule, list[Diagnostic]]:
    """`rule` with the kind of every term, and a diagnostic for each place where kinds do not fit."""
    inference = _Inference(schemas, types)
    body = inference.body(rule.body)
    heads = [inference.atom(head) for head in rule.heads]
    inference.solve()
    typed = replace(rule, body=body(), heads=tuple(build() for build in heads))
    kinds = {name: inference.nodes.kind(node) for name, node in inference.variables.items()}
    return TypedRule(typed, kinds), inference.diagnostics


def fit_constant(constant: Constant, kind: Kind) -> tuple[Constant, Diagnostic | None]:
    """`constant` as a value of `kind`, and a diagnostic when it is outside the range."""
    value = constant.value
    if kind is Kind.FLOAT:
        try:
            value = float(value) + 0.0
        except OverflowError:
            return constant, _out_of_range(constant, kind)
    elif kind is not Kind.SYMBOL:
        least, greatest = RANGES[kind]
        assert isinstance(value, int)
        if not least <= value <= greatest:
            return replace(constant, kind=kind), _out_of_range(constant, kind)
    return Constant(value, constant.spelled, constant.span, kind), None


def _out_of_range(constant: Constant, kind: Kind) -> Diagnostic:
    if kind is Kind.FLOAT:
        hint = "write it with an exponent, such as 1e300"
    else:
        least, greatest = RANGES[kind]
        hint = f"a{'n' if kind is Kind.UNSIGNED else ''} {kind.value} lies between {least} and {greatest}"
    return Diagnostic("D302", f"{constant.value} is outside the range of {kind.value}", constant.span, hint)


@dataclass(frozen=True, slots=True)
class _Sketch:
    """A term under inference: its node, and how to build it anew once all kinds are known."""

    node: int
    build: Callable[[], Term]


class _Inference:
    """The nodes of one rule, its calls that still wait for a signature, and what was found wrong."""

    def __init__(self, schemas: Mapping[str, Schema], types: Mapping[str, Kind]) -> None:
        self.schemas, self.types = schemas, types
        self.nodes = Nodes()
        self.variables: dict[str, int] = {}
        self.calls: list[PendingCall] = []
        self.diagnostics: list[Diagnostic] = []

    def solve(self) -> None:
        """Decides what the rule leaves open, calls first."""
        self.diagnostics += solve(self.calls, self.nodes)

    def body(self, body: Body) -> Callable[[], Body]:
        # Atoms first: they fix the kinds of variables, so that a report blames the expression and not the atom.
        ordered = sorted(range(len(body)), key=lambda position: not isinstance(body[position], Atom | Negation))
        builds = {position: self.literal(body[position]) for position in ordered}
        return lambda: tuple(builds[position]() for position in range(len(body)))

    def literal(self, literal: Literal) -> Callable[[], Literal]:
        match literal:
            case Atom():
                return self.atom(literal)
            case Negation(atom=atom):
                build = self.atom(atom)
                return lambda: replace(literal, atom=build())
            case Comparison():
                return self.comparison(literal)
            case Test(function=function, arguments=arguments):
                sketches = [self.term(argument) for argument in arguments]
                for argument, sketch, kind in zip(arguments, sketches, TESTS[function].operands, strict=True):
                    self.require(argument, sketch, kind, f"'{function}' takes {with_article(frozenset({kind}))} here")
                return lambda: replace(literal, arguments=tuple(sketch.build() for sketch in sketches))
            case Truth():
                return lambda: literal
            case Disjunction(alternatives=alternatives):
                bodies = [self.body(alternative) for alternative in alternatives]
                return lambda: replace(literal, alternatives=tuple(body() for body in bodies))
            case _:
                assert_never(literal)

    def atom(self, atom: Atom) -> Callable[[], Atom]:
        sketches = [self.term(argument) for argument in atom.arguments]
        for argument, sketch, attribute in zip(
            atom.arguments, sketches, self.schemas[atom.relation].attributes, strict=True
        ):
            wants = f"attribute '{attribute.name}' of '{atom.relation}' is {with_article(frozenset({attribute.kind}))}"
            self.require(argument, sketch, attribute.kind, wants)
        return lambda: replace(atom, arguments=tuple(sketch.build() for sketch in sketches))

    def comparison(self, comparison: Comparison) -> Callable[[], Comparison]:
        left, right = self.term(comparison.left), self.term(comparison.right)
        if not self.nodes.unify(left.node, right.node):
            one, other = self.nodes.allowed(left.node), self.nodes.allowed(right.node)
            self.diagnostics.append(
                Diagnostic(
                    "D301",
                    f"{name_of(comparison.left)} is {with_article(one)} and {name_of(comparison.right)} is "
                    f"{with_article(other)}: they cannot be compared",
                    comparison.span,
                    advice(comparison.right, other, one) or advice(comparison.left, one, other),
                    notes=(*self.notes(comparison.left, left), *self.notes(comparison.right, right)),
                )
            )
            self.nodes.give_up(left.node, right.node)
        return lambda: replace(comparison, left=left.build(), right=right.build(), kind=self.nodes.kind(left.node))

    def require(self, term: Term, sketch: _Sketch, kind: Kind, wants: str) -> None:
        """Narrows a term to `kind`; reports a misfit as: `wants`, but the term is something else."""
        if self.nodes.narrow(sketch.node, frozenset({kind}), term.span):
            return
        found = self.nodes.allowed(sketch.node)
        self.diagnostics.append(
            Diagnostic(
                "D301",
                f"{wants}, but {name_of(term)} is {with_article(found)}",
                term.span,
                advice(term, found, frozenset({kind})),
                notes=self.notes(term, sketch),
            )
        )
        self.nodes.give_up(sketch.node)

    def notes(self, term: Term, sketch: _Sketch) -> tuple[Note, ...]:
        """Where a variable got its kind."""
        place = self.nodes.place(sketch.node)
        if not isinstance(term, Variable) or place is None or place == term.span:
            return ()
        return (Note(f"{name_of(term)} is {with_article(self.nodes.allowed(sketch.node))} here", place),)

    def term(self, term: Term) -> _Sketch:
        match term:
            case Variable(name=name):
                node = self.variables.get(name)
                if node is None:
                    node = self.variables[name] = self.nodes.new(ANY)
                return _Sketch(node, lambda: term)
            case Wildcard():
                return _Sketch(self.nodes.new(ANY), lambda: term)
            case Constant(spelled=spelled):
                node = self.nodes.new(NUMERIC if spelled is None else frozenset({spelled}), term.span)
                return _Sketch(node, lambda: self.constant(term, node))
            case Call():
                return self.call(term)
            case Cast(term=inner, type=name):
                return self.cast(term, self.term(inner), self.types.get(name))
            case Aggregate():
                return self.aggregate(term)
            case _:
                assert_never(term)

    def constant(self, constant: Constant, node: int) -> Constant:
        if self.nodes.gave_up(node):
            return constant
        fitted, problem = fit_constant(constant, self.nodes.kind(node))
        if problem:
            self.diagnostics.append(problem)
        return fitted

    def call(self, call: Call) -> _Sketch:
        sketches = [self.term(argument) for argument in call.arguments]
        result = self.nodes.new(ANY)
        operands = tuple(sketch.node for sketch in sketches)
        self.calls.append(PendingCall(call, operands, result, FUNCTIONS[call.function].takes(len(operands))))
        # What can be said at once is said at once, so that later reports can build on it.
        self.calls, found = settle(self.calls, self.nodes)
        self.diagnostics += found
        return _Sketch(
            result,
            lambda: replace(
                call,
                arguments=tuple(sketch.build() for sketch in sketches),
                kind=self.nodes.kind(result),
                operands=tuple(self.nodes.kind(node) for node in operands),
            ),
        )

    def cast(self, cast: Cast, inner: _Sketch, kind: Kind | None) -> _Sketch:
        if kind is not None and not self.nodes.narrow(inner.node, frozenset({kind}), cast.span):
            found = self.nodes.allowed(inner.node)
            self.diagnostics.append(
                Diagnostic(
                    "D306",
                    f"'{cast.type}' is a type of {kind.value}s, but {name_of(cast.term)} is {with_article(found)}",
                    cast.span,
                    advice(cast.term, found, frozenset({kind})) or "'as' changes the type of a value, not its kind",
                )
            )
            self.nodes.give_up(inner.node)
        return _Sketch(inner.node, lambda: replace(cast, term=inner.build(), kind=self.nodes.kind(inner.node)))

    def aggregate(self, aggregate: Aggregate) -> _Sketch:
        body = self.body(aggregate.body)
        target = None if aggregate.target is None else self.term(aggregate.target)
        match aggregate.function:
            case AggregateFunction.COUNT:
                node = self.nodes.new(frozenset({Kind.NUMBER}), aggregate.span)
            case AggregateFunction.MEAN:
                node = self.nodes.new(frozenset({Kind.FLOAT}), aggregate.span)
            case _:
                node = self.nodes.new(ANY) if target is None else target.node
        if target is not None and aggregate.function in (AggregateFunction.SUM, AggregateFunction.MEAN):
            self.require_numeric(aggregate, target)
        return _Sketch(
            node,
            lambda: replace(
                aggregate,
                target=None if target is None else target.build(),
                body=body(),
                kind=self.nodes.kind(node),
            ),
        )

    def require_numeric(self, aggregate: Aggregate, target: _Sketch) -> None:
        assert aggregate.target is not None
        if self.nodes.narrow(target.node, NUMERIC, aggregate.target.span):
            return
        found = f"{name_of(aggregate.target)} is {with_article(self.nodes.allowed(target.node))}"
        self.diagnostics.append(
            Diagnostic(
                "D308",
                f"'{aggregate.function.value}' needs numbers, but {found}",
                aggregate.target.span,
                "convert it with to_number, or use count, min or max",
                notes=self.notes(aggregate.target, target),
            )
        )
        self.nodes.give_up(target.node)
