"""Terms and conditions as source text over ids and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from tidelog.codegen.operands import Identity, Interning, Numbers
from tidelog.codegen.writer import Writer
from tidelog.language.syntax_tree import (
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Term,
    Test,
    Variable,
)
from tidelog.schema import Kind

CANNOT_FAIL = {"band": "&", "bor": "|", "bxor": "^"}

CHECKED = {
    Kind.NUMBER: {
        "+": "add_numbers",
        "-": "subtract_numbers",
        "*": "multiply_numbers",
        "/": "divide_numbers",
        "%": "remainder_of_numbers",
        "min": "least_number",
        "max": "greatest_number",
    },
    Kind.FLOAT: {
        "+": "add_floats",
        "-": "subtract_floats",
        "*": "multiply_floats",
        "/": "divide_floats",
        "min": "least_float",
        "max": "greatest_float",
    },
}
"""Kernels of `kernels.arithmetic`: each gives the value and whether there is one."""

_OPERATORS = {
    ComparisonOperator.EQUAL: "==",
    ComparisonOperator.NOT_EQUAL: "!=",
    ComparisonOperator.LESS: "<",
    ComparisonOperator.LESS_EQUAL: "<=",
    ComparisonOperator.GREATER: ">",
    ComparisonOperator.GREATER_EQUAL: ">=",
}


class Unsayable(Exception):
    """The generator has no code for this."""


@dataclass(slots=True)
class Terms:
    """Writes what terms need in front of the place where they are used."""

    writer: Writer
    kinds: Mapping[str, Kind]

    def identity(self, term: Term) -> str:
        """Text for the id of a term."""
        match term:
            case Variable(name):
                return self.writer.variable(name)
            case Constant(value, kind=Kind() as kind):
                return self.writer.operand(Identity(kind, value))[0]
            case Cast(inner):
                return self.identity(inner)
            case Call(kind=Kind() as kind):
                number = self.number(term)
                slots, values, count = self.writer.operand(Interning(kind))
                result = self.writer.fresh("identity")
                word = self.writer.call("word_of_number" if kind is Kind.NUMBER else "word_of_float", number)
                call = self.writer.call("intern_word", word, slots, values, count)
                self.writer.line(f"{result} = {call}")
                self.writer.line(f"if {result} < 0:")
                self.writer.line("    return row")
                return result
            case _:
                raise Unsayable(f"the term {term}")

    def number(self, term: Term) -> str:
        """Text for the number that a term is."""
        match term:
            case Variable(name):
                (numbers,) = self.writer.operand(Numbers(_computable(self.kinds[name])))
                return f"{numbers}[{self.writer.variable(name)}]"
            case Constant(value, kind=Kind() as kind):
                _computable(kind)
                if isinstance(value, float) and not isfinite(value):
                    raise Unsayable("an infinite number")
                return f"np.int64({value})" if kind is Kind.NUMBER else f"np.float64({value!r})"
            case Cast(inner):
                return self.number(inner)
            case Call(function, (left, right), kind=Kind() as kind, operands=operands) if operands[0] is kind:
                return self._call(function, kind, left, right)
            case Call(function):
                raise Unsayable(f"the function {function}")
            case _:
                raise Unsayable(f"the term {term}")

    def condition(self, condition: Comparison | Test) -> str:
        """Text for whether a condition holds."""
        match condition:
            case Comparison(operator, left, right):
                if operator in (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL) and _are_ids(left, right):
                    return f"{self.identity(left)} {_OPERATORS[operator]} {self.identity(right)}"
                return f"{self.number(left)} {_OPERATORS[operator]} {self.number(right)}"
            case Test(function):
                raise Unsayable(f"the test {function}")

    def _call(self, function: str, kind: Kind, left: Term, right: Term) -> str:
        _computable(kind)
        first, second = self.number(left), self.number(right)
        if kind is Kind.NUMBER and function in CANNOT_FAIL:
            return f"({first} {CANNOT_FAIL[function]} {second})"
        if function not in CHECKED[kind]:
            raise Unsayable(f"the function {function} of kind {kind.value}")
        value, good = self.writer.fresh("value"), self.writer.fresh("good")
        self.writer.line(f"{value}, {good} = {self.writer.call(CHECKED[kind][function], first, second)}")
        self.writer.line(f"if not {good}:")
        self.writer.line("    return ~row")
        return value


def _computable(kind: Kind) -> Kind:
    if kind not in CHECKED:
        raise Unsayable(f"computing with a {kind.value}")
    return kind


def _are_ids(*terms: Term) -> bool:
    return all(
        isinstance(term, Variable | Constant) or (isinstance(term, Cast) and _are_ids(term.term)) for term in terms
    )
