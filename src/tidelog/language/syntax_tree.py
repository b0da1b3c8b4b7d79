"""The program as it was written: frozen nodes, each with its place.

Equality ignores places and what the checker fills in (`kind`), so that parse after print is the identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from tidelog.schema import Kind, Value
from tidelog.span import NOWHERE, Span


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


def _kind() -> Kind | None:
    return field(default=None, compare=False, repr=False)


# Terms


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: any value, a new one at each place."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Constant:
    """A value in the text. `spelled` is the kind its spelling fixes (`1u`, `1.0`, `"a"`); None for a plain integer,
    which takes the kind of its place. The checker sets `kind` and turns `value` into that kind."""

    value: Value
    spelled: Kind | None
    span: Span = _span()
    kind: Kind | None = _kind()


@dataclass(frozen=True, slots=True)
class Call:
    """A functor or an operator by its name in `language.functions`: `+`, `cat`, `band`, `neg` (unary minus) …

    The checker sets `kind` to the kind of the result and `operands` to the kinds of the arguments."""

    function: str
    arguments: tuple[Term, ...]
    span: Span = _span()
    kind: Kind | None = _kind()
    operands: tuple[Kind, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """`as(term, type)`: the same value seen as another type of the same kind."""

    term: Term
    type: str
    span: Span = _span()
    kind: Kind | None = _kind()


class AggregateFunction(Enum):
    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`sum x : { p(x, y), y > 1 }`: over every assignment of the variables of the body, each `_` one of its own.

    A variable that also occurs outside the braces in the same rule is the outer one. The checker sets `kind` to the
    kind of the result (count: NUMBER, mean: FLOAT, else that of the target)."""

    function: AggregateFunction
    target: Term | None
    body: tuple[Literal, ...]
    span: Span = _span()
    kind: Kind | None = _kind()


Term: TypeAlias = Variable | Wildcard | Constant | Call | Cast | Aggregate


# Literals


@dataclass(frozen=True, slots=True)
class Atom:
    relation: str
    arguments: tuple[Term, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negation:
    atom: Atom
    span: Span = _span()


class ComparisonOperator(Enum):
    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left op right`; the checker sets `kind` to the kind compared."""

    operator: ComparisonOperator
    left: Term
    right: Term
    span: Span = _span()
    kind: Kind | None = _kind()


@dataclass(frozen=True, slots=True)
class Test:
    """`match(pattern, text)`, `contains(part, text)`, or their negation."""

    __test__ = False  # not a test class, whatever pytest thinks

    function: str
    arguments: tuple[Term, ...]
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false` as a literal."""

    value: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`(a, b ; c)`: one of the alternatives holds. The parser has already moved `!` of a group inward."""

    alternatives: tuple[tuple[Literal, ...], ...]
    span: Span = _span()


Literal: TypeAlias = Atom | Negation | Comparison | Test | Truth | Disjunction


# Items of a program


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    """`name: type`, or `@name: type` for the column that says at which node a tuple is stored."""

    name: str
    type: str
    span: Span = _span()
    is_location: bool = False


@dataclass(frozen=True, slots=True)
class RelationDeclaration:
    """`.decl name(attribute: type, …) qualifier …`"""

    name: str
    attributes: tuple[AttributeDeclaration, ...]
    qualifiers: tuple[str, ...] = ()
    span: Span = _span()


class TypeForm(Enum):
    ALIAS = "="  # .type A = B
    SUBTYPE = "<:"  # .type A <: B
    UNION = "|"  # .type A = B | C


@dataclass(frozen=True, slots=True)
class TypeDeclaration:
    name: str
    form: TypeForm
    bases: tuple[str, ...]
    span: Span = _span()


class DirectiveKind(Enum):
    INPUT = "input"
    OUTPUT = "output"
    PRINTSIZE = "printsize"
    LIMITSIZE = "limitsize"


@dataclass(frozen=True, slots=True)
class Directive:
    """`.input edge(filename="e.csv", delimiter=",")`; parameters keep the order they were written in."""

    kind: DirectiveKind
    relations: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...] = ()
    span: Span = _span()

    def parameter(self, name: str, default: str = "") -> str:
        """The value given for `name`, or `default`."""
        return dict(self.parameters).get(name, default)


@dataclass(frozen=True, slots=True)
class Pragma:
    name: str
    value: str = ""
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class OrderHint:
    """`.plan 0:(2,1), 1:(1,2)`: for each version of the rule, the order of its atoms, counted from 1."""

    orders: tuple[tuple[int, tuple[int, ...]], ...]
    span: Span = _span()


class Semantics(Enum):
    """How production rules fire: all instances of one rule, one instance, or all instances of all rules at a time."""

    SET = "set"
    INSTANCE = "instance"
    PARALLEL = "parallel"


@dataclass(frozen=True, slots=True)
class ProductionDeclaration:
    """`.production instance refraction`: the program has rules that act, and this is how they fire."""

    semantics: Semantics
    refraction: bool = False
    span: Span = _span()


class Sign(Enum):
    INSERT = "+"
    DELETE = "-"


@dataclass(frozen=True, slots=True)
class Precedence:
    """`[name a, priority 10, before b, after c]`: what a production rule is called and which rules it goes before.

    `priority` is None where none is written, which counts as 0."""

    name: str = ""
    priority: int | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Rule:
    """`head, … :- body.`; a fact has an empty body. `id` counts the rules of a program from 1 in text order.

    A production rule has a sign for each head, every other rule has none."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...] = ()
    plan: OrderHint | None = None
    span: Span = _span()
    id: int = field(default=0, compare=False)
    signs: tuple[Sign, ...] = ()
    precedence: Precedence | None = None


Item: TypeAlias = RelationDeclaration | TypeDeclaration | Directive | Pragma | ProductionDeclaration | Rule


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed program: its items in text order. `texts` maps each file read to what stood in it, for error reports."""

    items: tuple[Item, ...]
    texts: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def relations(self) -> Iterator[RelationDeclaration]:
        return (item for item in self.items if isinstance(item, RelationDeclaration))

    @property
    def types(self) -> Iterator[TypeDeclaration]:
        return (item for item in self.items if isinstance(item, TypeDeclaration))

    @property
    def directives(self) -> Iterator[Directive]:
        return (item for item in self.items if isinstance(item, Directive))

    @property
    def pragmas(self) -> Iterator[Pragma]:
        return (item for item in self.items if isinstance(item, Pragma))

    @property
    def productions(self) -> Iterator[ProductionDeclaration]:
        return (item for item in self.items if isinstance(item, ProductionDeclaration))

    @property
    def rules(self) -> Iterator[Rule]:
        return (item for item in self.items if isinstance(item, Rule))
