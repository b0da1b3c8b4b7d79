"""Programs for clingo, a second and unrelated judge: takes a checked program and facts, returns clingo's rows.

Clingo can say positive and negative literals, comparisons, + - *, and count, sum, min, max over atoms. It cannot say
floats, functions of text, nested aggregates and 64-bit numbers: those raise Untranslatable. It silently drops what has
no value, so only programs without errors can be compared. An aggregate of clingo ranges over a set of tuples, so every
variable of the body goes into the tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count

import clingo

from plain_form import all_nodes, choices, names, own_nodes
from tidelog.analysis.checked import CheckedProgram
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Disjunction,
    Literal,
    Negation,
    Rule,
    Term,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.schema import Kind, Row, Schema, Value

SMALL = 2**31
ORDERS = {
    ComparisonOperator.LESS,
    ComparisonOperator.LESS_EQUAL,
    ComparisonOperator.GREATER,
    ComparisonOperator.GREATER_EQUAL,
}


class Untranslatable(Exception):
    """Clingo has no way of saying this."""


def rows_by_clingo(checked: CheckedProgram, facts: Mapping[str, Iterable[Row]]) -> dict[str, set[Row]]:
    """The rows of every relation according to clingo."""
    control = clingo.Control(["--warn=none"])
    control.add("base", [], translate(checked, facts))
    control.ground([("base", [])])
    found: dict[str, set[Row]] = {declaration.name: set() for declaration in checked.program.relations}
    with control.solve(yield_=True) as handle:
        model = handle.model()
        assert model is not None, "a stratified program has a model"
        for symbol in model.symbols(atoms=True):
            found[symbol.name.removeprefix("r_")].add(tuple(map(value_of, symbol.arguments)))
    return found


def value_of(symbol: clingo.Symbol) -> Value:
    """A value of clingo's as a value of ours."""
    return symbol.number if symbol.type is clingo.SymbolType.Number else symbol.string


def translate(checked: CheckedProgram, facts: Mapping[str, Iterable[Row]]) -> str:
    """The text of the program with its facts in clingo's language. Raises Untranslatable."""
    for schema in checked.schemas.values():
        if not set(schema.kinds) <= {Kind.NUMBER, Kind.SYMBOL}:
            raise Untranslatable(f"the kinds of {schema}")
    lines = [line for relation, rows in facts.items() for line in fact_lines(checked.schemas[relation], rows)]
    lines += [line for rule in checked.program.rules for line in rule_lines(rule)]
    lines += [line for one in checked.program.relations if "eqrel" in one.qualifiers for line in laws(one.name)]
    return "\n".join(lines)


def fact_lines(schema: Schema, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield f"r_{schema.relation}({', '.join(map(spelled, row))})."


def laws(relation: str) -> Iterator[str]:
    """The laws of an equivalence relation, each as a rule."""
    yield f"r_{relation}(X, X) :- r_{relation}(X, _)."
    yield f"r_{relation}(X, X) :- r_{relation}(_, X)."
    yield f"r_{relation}(Y, X) :- r_{relation}(X, Y)."
    yield f"r_{relation}(X, Z) :- r_{relation}(X, Y), r_{relation}(Y, Z)."


def rule_lines(rule: Rule) -> Iterator[str]:
    """One rule of clingo's for each head and each choice among disjunctions."""
    scope = names(own_nodes((*rule.heads, *rule.body)))
    for head in rule.heads:
        for body in choices(rule.body):
            literals = [part for literal in body for part in spelled_literal(literal, scope)]
            new: list[str] = []
            target = spelled_atom(head, new)
            yield f"{target} :- {', '.join([*literals, *new])}." if literals or new else f"{target}."


def spelled_literal(literal: Literal, scope: frozenset[str]) -> list[str]:
    """The literal as one or more of clingo's."""
    match literal:
        case Atom():
            new: list[str] = []
            atom = spelled_atom(literal, new)
            return [*new, atom]
        case Negation(atom):
            return [f"not r_{atom.relation}({', '.join(map(spelled_term, atom.arguments))})"]
        case Comparison(operator, left, Aggregate() as aggregate):
            return spelled_aggregate(operator.value, left, aggregate, scope)
        case Comparison(operator, left, right, kind=kind):
            if kind is Kind.SYMBOL and operator in ORDERS:
                raise Untranslatable("the order of symbols")
            return [f"{spelled_term(left)} {operator.value} {spelled_term(right)}"]
        case Truth(value):
            return ["#true" if value else "#false"]
        case _:
            raise Untranslatable(f"{type(literal).__name__}")


def spelled_atom(atom: Atom, new: list[str]) -> str:
    """The atom with plain arguments; an expression becomes a variable whose equation goes to `new`.

    Clingo would solve `p(x + 1)` for x, which gives the same rows, but it refuses `p(x * y)`.
    """
    arguments = []
    for position, argument in enumerate(atom.arguments):
        if isinstance(argument, Call):
            name = f"E_{id(argument)}_{position}"
            new.append(f"{name} = {spelled_term(argument)}")
            arguments.append(name)
        else:
            arguments.append(spelled_term(argument))
    return f"r_{atom.relation}({', '.join(arguments)})"


def spelled_aggregate(operator: str, left: Term, aggregate: Aggregate, scope: frozenset[str]) -> list[str]:
    """`left operator aggregate`, with the target and then every variable of the body as the tuple."""
    if any(isinstance(node, Aggregate | Disjunction) for node in all_nodes(aggregate.body)):
        raise Untranslatable("an aggregate or a disjunction inside an aggregate")
    if aggregate.function is AggregateFunction.MEAN:
        raise Untranslatable("mean")
    plain = with_named_wildcards(aggregate.body)
    local = sorted(names(all_nodes(plain)) - scope)
    body = [part for literal in plain for part in spelled_literal(literal, scope)]
    target = "0" if aggregate.target is None else spelled_term(aggregate.target)
    elements = ", ".join([target, *map(spelled_variable, local)])
    result = f"A_{id(aggregate)}"
    return [
        f"{result} = #{aggregate.function.value} {{ {elements} : {', '.join(body)} }}",
        f"{result} != #sup",  # the least of nothing
        f"{result} != #inf",  # the greatest of nothing
        f"{spelled_term(left)} {operator} {result}",
    ]


def with_named_wildcards(body: Iterable[Literal]) -> list[Literal]:
    """The body with a variable of its own for each wildcard of an atom."""
    numbers = count()
    return [
        replace(literal, arguments=tuple(named_wildcard(argument, numbers) for argument in literal.arguments))
        if isinstance(literal, Atom)
        else literal
        for literal in body
    ]


def named_wildcard(term: Term, numbers: Iterator[int]) -> Term:
    return Variable(f"wildcard_{next(numbers)}") if isinstance(term, Wildcard) else term


def spelled_term(term: Term) -> str:
    match term:
        case Variable(name):
            return spelled_variable(name)
        case Wildcard():
            return "_"
        case Constant(value):
            return spelled(value)
        case Cast(inner):
            return spelled_term(inner)
        case Call("+" | "-" | "*" as function, (left, right)):
            return f"({spelled_term(left)} {function} {spelled_term(right)})"
        case Call("neg", (operand,)):
            return f"(-{spelled_term(operand)})"
        case Call(function):
            raise Untranslatable(f"the function {function}")
        case Aggregate():
            raise Untranslatable("an aggregate inside an expression")


def spelled_variable(name: str) -> str:
    """A variable of clingo's; the check writes `x#1` for a second local `x`."""
    return f"V_{name.replace('#', '__')}"


def spelled(value: Value) -> str:
    """A constant of clingo's."""
    if isinstance(value, str):
        if any(letter in value for letter in '"\\\n'):
            raise Untranslatable(f"the text {value!r}")
        return f'"{value}"'
    if not isinstance(value, int) or not -SMALL < value < SMALL:
        raise Untranslatable(f"the value {value}")
    return str(value)
