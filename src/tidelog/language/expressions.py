"""Terms and literals built with Python's operators. They wrap nodes of the syntax tree, which stay plain data."""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NoReturn, TypeAlias

from tidelog.errors import UsageError
from tidelog.language.logic import disjunction, negate
from tidelog.language.numbers import GREATEST_UNSIGNED, LEAST_NUMBER
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
    Sign,
    Term,
    Test,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.language.words import FUNCTIONS, KEYWORDS, TESTS, nearest
from tidelog.schema import Kind
from tidelog.span import Span

OWN_FILES = frozenset([__name__, "tidelog.language.embedded"])

NAME = re.compile(r"[A-Za-z_?][A-Za-z0-9_?]*")


class Expression:
    """A term: a variable, or what operators and functions make of variables and values."""

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term

    def __repr__(self) -> str:
        return f"Expression({self.term!r})"

    def __bool__(self) -> NoReturn:
        raise UsageError("an expression of a rule has no truth value in Python; use it inside p.rule(…)")

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: Operand) -> Condition:  # type: ignore[override]
        return compare("=", self, other)

    def __ne__(self, other: Operand) -> Condition:  # type: ignore[override]
        return compare("!=", self, other)

    def __lt__(self, other: Operand) -> Condition:
        return compare("<", self, other)

    def __le__(self, other: Operand) -> Condition:
        return compare("<=", self, other)

    def __gt__(self, other: Operand) -> Condition:
        return compare(">", self, other)

    def __ge__(self, other: Operand) -> Condition:
        return compare(">=", self, other)

    def __neg__(self) -> Expression:
        return call("neg", self)

    def __invert__(self) -> Expression:
        return call("bnot", self)

    def __add__(self, other: Operand) -> Expression:
        return call("+", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return call("+", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return call("-", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return call("-", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return call("*", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return call("*", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return call("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return call("/", other, self)

    def __mod__(self, other: Operand) -> Expression:
        return call("%", self, other)

    def __rmod__(self, other: Operand) -> Expression:
        return call("%", other, self)

    def __pow__(self, other: Operand) -> Expression:
        return call("^", self, other)

    def __rpow__(self, other: Operand) -> Expression:
        return call("^", other, self)

    def __and__(self, other: Operand) -> Expression:
        return call("band", self, other)

    def __or__(self, other: Operand) -> Expression:
        return call("bor", self, other)

    def __xor__(self, other: Operand) -> Expression:
        return call("bxor", self, other)

    def __lshift__(self, other: Operand) -> Expression:
        return call("bshl", self, other)

    def __rshift__(self, other: Operand) -> Expression:
        return call("bshr", self, other)


Operand: TypeAlias = Expression | int | float | str


class Condition:
    """Literals that must hold together: `~` negates them, `|` gives an alternative, `&` asks for more."""

    __slots__ = ("literals",)

    def __init__(self, literals: tuple[Literal, ...]) -> None:
        self.literals = literals

    def __repr__(self) -> str:
        return f"Condition({self.literals!r})"

    def __bool__(self) -> NoReturn:
        raise UsageError(
            "a condition of a rule has no truth value in Python; use it inside p.rule(…), with & | ~ and not with "
            "'and', 'or', 'not' or a chain such as 1 < x < 5"
        )

    def __invert__(self) -> Condition:
        return Condition(negate(self.literals, caller_span()))

    def __or__(self, other: Condition | bool) -> Condition:
        return Condition(disjunction([self.literals, literals_of(other)], caller_span()))

    def __and__(self, other: Condition | bool) -> Condition:
        return Condition(self.literals + literals_of(other))

    def __pos__(self) -> Action:
        return Action(Sign.INSERT, single_atom(self, "what a rule inserts"))

    def __neg__(self) -> Action:
        return Action(Sign.DELETE, single_atom(self, "what a rule deletes"))


@dataclass(frozen=True, slots=True)
class Action:
    """A head of a production rule: `+open(x)` inserts, `-closed(x)` deletes."""

    sign: Sign
    atom: Atom


anything = Expression(Wildcard())
"""`_`: any value, a new one at each place."""


def variables(names: str) -> tuple[Expression, ...]:
    """A variable for each name in `names`, which have spaces or commas between them."""
    span = caller_span()
    return tuple(
        Expression(Variable(checked_name(name, "variable"), span)) for name in re.split(r"[\s,]+", names.strip())
    )


def unsigned(value: int) -> Expression:
    """The unsigned constant `value`, written `7u` in text."""
    if not 0 <= value <= GREATEST_UNSIGNED:
        raise UsageError(f"{value} is not an unsigned 64-bit number")
    return Expression(Constant(value, Kind.UNSIGNED, caller_span()))


def cast(value: Operand, type_name: str) -> Expression:
    """`value` seen as another type, written `as(value, type)` in text."""
    span = caller_span()
    return Expression(Cast(as_term(value, span), type_name, span))


def call(function: str, *arguments: Operand) -> Expression:
    """The value of a function or operator by its name."""
    span = caller_span()
    return Expression(Call(function, tuple(as_term(argument, span) for argument in arguments), span))


def compare(sign: str, left: Operand, right: Operand) -> Condition:
    span = caller_span()
    return Condition((Comparison(ComparisonOperator(sign), as_term(left, span), as_term(right, span), span),))


class Functions:
    """The functions of the language as attributes: `fn.cat(x, "a")`, `fn.range(1, 9)`, `fn.match("a.*", x)`."""

    def __getattr__(self, name: str) -> Any:
        if name in TESTS:
            return lambda *arguments: test(name, *arguments)
        known = FUNCTIONS | {"min", "max", "land", "lor", "lxor", "lnot", "bshru"}
        if name in known:
            return lambda *arguments: call(name, *arguments)
        close = nearest(name, [*known, *TESTS])
        raise AttributeError(f"no function '{name}'" + (f"; did you mean '{close}'?" if close else ""))


fn = Functions()


def test(function: str, *arguments: Operand) -> Condition:
    """A test such as `match` by its name."""
    span = caller_span()
    return Condition((Test(function, tuple(as_term(argument, span) for argument in arguments), span=span),))


test.__test__ = False  # type: ignore[attr-defined]  # not a test, whatever pytest thinks


def count(*body: Condition | bool) -> Expression:
    """How many assignments make `body` hold."""
    return aggregate(AggregateFunction.COUNT, None, body)


def sum_(target: Operand, *body: Condition | bool) -> Expression:
    """The sum of `target` over every assignment that makes `body` hold."""
    return aggregate(AggregateFunction.SUM, target, body)


def min_(target: Operand, *body: Condition | bool) -> Expression:
    """The least `target` over every assignment that makes `body` hold."""
    return aggregate(AggregateFunction.MIN, target, body)


def max_(target: Operand, *body: Condition | bool) -> Expression:
    """The greatest `target` over every assignment that makes `body` hold."""
    return aggregate(AggregateFunction.MAX, target, body)


def mean(target: Operand, *body: Condition | bool) -> Expression:
    """The mean of `target` over every assignment that makes `body` hold."""
    return aggregate(AggregateFunction.MEAN, target, body)


def aggregate(function: AggregateFunction, target: Operand | None, body: Sequence[Condition | bool]) -> Expression:
    span = caller_span()
    if not body:
        raise UsageError(f"'{function.value}' needs a body, such as {function.value}(…, edge(x, y))")
    over = None if target is None else as_term(target, span)
    return Expression(Aggregate(function, over, conjunction_of(body), span))


def conjunction_of(conditions: Sequence[Condition | bool]) -> tuple[Literal, ...]:
    """The literals of every condition, in order."""
    return tuple(literal for condition in conditions for literal in literals_of(condition))


def literals_of(condition: Condition | bool) -> tuple[Literal, ...]:
    if isinstance(condition, Condition):
        return condition.literals
    if isinstance(condition, bool):
        return (Truth(condition, caller_span()),)
    raise UsageError(f"{condition!r} is not a condition; use an atom such as edge(x, y) or a comparison")


def single_atom(condition: Condition, use: str) -> Atom:
    """The one atom that `condition` is; an error that names its `use` if it is something else."""
    match condition:
        case Condition(literals=(Atom() as atom,)):
            return atom
        case _:
            raise UsageError(f"{use} must be one atom such as path(x, y), not {condition!r}")


def as_term(value: Operand, span: Span) -> Term:
    """The term that `value` stands for; variables take the place of their use."""
    if isinstance(value, Expression):
        match value.term:
            case Variable() | Wildcard() as term:
                return replace(term, span=span)
            case term:
                return term
    if isinstance(value, bool) or value is None:
        raise UsageError(f"{value!r} is not a value of the language; use numbers, floats and strings")
    if isinstance(value, str):
        return Constant(value, Kind.SYMBOL, span)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(f'{value!r} cannot stand in a rule; use fn.to_float("inf"), and no NaN')
        return Constant(float(value) + 0.0, Kind.FLOAT, span)
    try:
        integer = operator.index(value)
    except TypeError:
        raise UsageError(f"{value!r} is not a value of the language; use numbers, floats and strings") from None
    if not LEAST_NUMBER <= integer <= GREATEST_UNSIGNED:
        raise UsageError(f"{integer} does not fit in 64 bits")
    return Constant(integer, None, span)


def checked_name(name: str, what: str, reserved: frozenset[str] = KEYWORDS) -> str:
    """`name`, if it can be the name of a variable, relation or type in the text of a program."""
    if not NAME.fullmatch(name) or name == "_":
        raise UsageError(f"{name!r} cannot name a {what}; use letters, digits and '_', beginning with a letter")
    if name in reserved:
        raise UsageError(f"'{name}' is a word of the language and cannot name a {what}")
    return name


def caller_span() -> Span:
    """The place in the user's Python file that called into this one."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") in OWN_FILES and frame.f_back is not None:
        frame = frame.f_back
    code = frame.f_code
    positions = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    line, end_line, column, end_column = positions
    if line is None or end_line is None or column is None or end_column is None:
        return Span(code.co_filename, frame.f_lineno, 1, frame.f_lineno, 2)
    return Span(code.co_filename, line, column + 1, end_line, end_column + 1)
