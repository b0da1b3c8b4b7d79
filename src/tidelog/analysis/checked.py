"""What a check hands on: a program known to be right, in the simple form that plans are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tidelog.errors import Diagnostic
from tidelog.language.syntax_tree import Atom, Directive, Literal, OrderHint, Pragma, Program
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
class CheckedProgram:
    """A program without errors.

    `program` is as written, with kinds filled in; `strata` hold the same rules in simple form. Facts of the text are
    simple rules with an empty body.
    """

    program: Program
    schemas: Mapping[str, Schema]
    strata: tuple[Stratum, ...]
    inputs: tuple[Directive, ...]
    outputs: tuple[Directive, ...]
    size_limits: Mapping[str, int]
    pragmas: tuple[Pragma, ...]
    warnings: tuple[Diagnostic, ...]

    @property
    def texts(self) -> Mapping[str, str]:
        return dict(self.program.texts)
