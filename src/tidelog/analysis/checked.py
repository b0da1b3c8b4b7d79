"""What a check hands on: a program known to be right, in the simple form that plans are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tidelog.errors import Diagnostic
from tidelog.language.syntax_tree import (
    Atom,
    Directive,
    Literal,
    OrderHint,
    Pragma,
    ProductionDeclaration,
    Program,
    Sign,
)
from tidelog.schema import Kind, Schema
from tidelog.span import Span


@dataclass(frozen=True, slots=True)
class SimpleRule:
    """One head, inlined relations replaced, every constant and call with its kind.

    Several simple rules may come from one rule of the user's: they share its `id` and `span`. Disjunctions, `true` and
    `false` stand only inside aggregates, where they cannot become rules: an assignment that two alternatives allow
    counts once. Variables local to an aggregate have names no other part of the rule uses. `kinds` has every variable
    of the rule, aggregates included. What the qualifier `eqrel` stands for are rules with an `id` below 0.
    """

    id: int
    head: Atom
    body: tuple[Literal, ...]
    kinds: Mapping[str, Kind]
    span: Span
    text: str
    plan: OrderHint | None = None


class ClosureKind(Enum):
    TRANSITIVE = "transitive"
    SYMMETRIC = "symmetric-transitive"


@dataclass(frozen=True, slots=True)
class ClosureGroup:
    """Rules that together say: `relation` is closed transitively (and symmetrically) in two of its columns.

    `source` and `target` are the column numbers closed over, `group` the columns that stay the same. `rules` are the
    ids of the rules that the closure replaces; `edges` is the relation followed in linear form, None where the
    relation closes over itself.
    """

    relation: str
    kind: ClosureKind
    source: int
    target: int
    group: tuple[int, ...]
    rules: tuple[int, ...]
    edges: str | None = None


@dataclass(frozen=True, slots=True)
class Stratum:
    """Relations that depend on one another, with the rules that define them. Strata come in order of evaluation."""

    relations: tuple[str, ...]
    rules: tuple[SimpleRule, ...]
    recursive: bool
    closures: tuple[ClosureGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class SignedHead:
    """What a production rule does with the rows of an atom."""

    sign: Sign
    atom: Atom


@dataclass(frozen=True, slots=True)
class ProductionRule:
    """A rule that acts. `bodies` are its alternatives in simple form, one of which must hold; `kinds` as in SimpleRule.

    `variables` are those that an instance of the rule binds: the named ones outside aggregates, as the body has them in
    text order. `over` has the ids of the rules that it has priority over. `name` is the one given, or counts the rule.
    """

    id: int
    name: str
    heads: tuple[SignedHead, ...]
    bodies: tuple[tuple[Literal, ...], ...]
    variables: tuple[str, ...]
    kinds: Mapping[str, Kind]
    over: frozenset[int]
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program without errors.

    `program` is as written, with kinds filled in; `strata` hold the same rules in simple form. Facts of the text are
    simple rules with an empty body. Production rules are in `productions` instead, and fire as `semantics` says. The
    `inlined` relations have a schema, and no rows.
    """

    program: Program
    schemas: Mapping[str, Schema]
    strata: tuple[Stratum, ...]
    inputs: tuple[Directive, ...]
    outputs: tuple[Directive, ...]
    size_limits: Mapping[str, int]
    pragmas: tuple[Pragma, ...]
    warnings: tuple[Diagnostic, ...]
    productions: tuple[ProductionRule, ...] = ()
    semantics: ProductionDeclaration | None = None
    inlined: frozenset[str] = frozenset()

    @property
    def texts(self) -> Mapping[str, str]:
        return dict(self.program.texts)
