"""The plan: relational algebra whose columns are named by the variables of the rule, over frozen nodes.

A node gives a bag of rows. Two columns of the same name are the same variable, so joins are natural joins.
Terms inside nodes are `Variable`, `Constant`, `Call` and `Cast` of the syntax tree, with their kinds filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from tidelog.analysis.checked import ClosureGroup
from tidelog.language.syntax_tree import AggregateFunction, Comparison, Constant, Term, Test
from tidelog.schema import Kind, Schema, Value
from tidelog.span import NOWHERE, Span


class Version(Enum):
    """Which rows of a relation a scan reads. FULL is OLD and DELTA together.

    MARKED are rows that a question is about, whether they are stored or not. A scan of them may have one column more
    than the relation, the age of the row: a number that is less for rows that came before, in whichever relation. A
    scan of what is OLDER or YOUNGER has that column too: it reads the rows whose age is less or more than what is bound
    there.
    """

    FULL = "full"
    OLD = "old"
    DELTA = "delta"
    MARKED = "marked"
    OLDER = "older"
    YOUNGER = "younger"


AGE = "~age"
"""The name of the column that a scan of MARKED, OLDER or YOUNGER rows has behind those of the relation."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a relation: a name binds a column, the same name twice or a constant filters, None ignores."""

    relation: str
    columns: tuple[str | Constant | None, ...]
    version: Version = Version.FULL
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unit:
    """One row without columns."""


@dataclass(frozen=True, slots=True)
class Values:
    """Rows that stand in the text. `kinds` are the kinds of the columns."""

    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows that agree on all shared names; the product when there is none."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Antijoin:
    """Rows of `left` that agree with no row of `right` on the shared names."""

    left: Node
    right: Node
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Select:
    """Rows of `input` for which `condition` holds."""

    input: Node
    condition: Comparison | Test
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Extend:
    """Rows of `input` with one more column, `name` = `value`."""

    input: Node
    name: str
    value: Term
    kind: Kind
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Range:
    """Each row of `input` once for every value from `start` up to but not including `end`, counted by `step`."""

    input: Node
    name: str
    start: Term
    end: Term
    step: Term | None
    kind: Kind
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class GroupJoin:
    """Rows of `left` with one more column: `function` of `value` over the rows of `right` that agree with it on `keys`.

    Where no row agrees: 0 for count and sum, and the row of `left` is dropped for min, max and mean. `right` is a bag:
    equal rows count each.
    """

    left: Node
    right: Node
    keys: tuple[str, ...]
    function: AggregateFunction
    value: Term | None
    name: str
    kind: Kind
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Distinct:
    """The different values of `columns` among the rows of `input`."""

    input: Node
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """The different values of `columns` among the rows of any of the `inputs`."""

    inputs: tuple[Node, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """For each row of `input`, the row of these terms: what a rule's head asks for."""

    input: Node
    columns: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Node: TypeAlias = (
    Scan | Unit | Values | Join | Antijoin | Select | Extend | Range | GroupJoin | Distinct | Union | Project
)


@dataclass(frozen=True, slots=True)
class RulePlan:
    """How a rule, or one delta version of it, adds to `head`. `id`, `span` and `text` are those of the user's rule."""

    id: int
    head: str
    node: Node
    span: Span
    text: str
    kinds: Mapping[str, Kind] = field(compare=False, repr=False)
    order: tuple[int, ...] | None = None
    """The order of atoms that a `.plan` asks for, counted from 0 in text order; None leaves it to `order_joins`."""
    ahead_below: int = 0
    """How few rows it may have derived to take them up at once, not in the next round: 0, never, unless nothing it
    reads changes in a round but its own head."""


@dataclass(frozen=True, slots=True)
class ClosedRelation:
    """A relation that is the closure of the rows of `edges`. Where `is_written_out`, its rows are stored as others'.

    Where other rules of its stratum follow from it and lead to it, `taking` is the rule that stores what the closure
    gained in a round: its rows are MARKED.
    """

    closure: ClosureGroup
    edges: str
    is_written_out: bool
    taking: RulePlan | None = None


@dataclass(frozen=True, slots=True)
class StratumPlan:
    """`once` runs first; `rounds` (one plan for each delta version) run until nothing new comes.

    `first` has the rules of `rounds` with every scan FULL: it runs before the rounds when the relations had rows at the
    start, because those rows are in no delta. `given` takes over what was given to a derived relation from outside.
    Where `closed`, there are no rules: a module computes the one relation. `modules` compute relations among others:
    after each round they close over what came.
    """

    relations: tuple[str, ...]
    once: tuple[RulePlan, ...]
    rounds: tuple[RulePlan, ...]
    closures: tuple[ClosureGroup, ...] = ()
    first: tuple[RulePlan, ...] = ()
    given: tuple[RulePlan, ...] = ()
    closed: ClosedRelation | None = None
    modules: tuple[ClosedRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`hidden` are the schemas of relations that only the engine knows."""

    schemas: Mapping[str, Schema]
    strata: tuple[StratumPlan, ...]
    size_limits: Mapping[str, int]
    hidden: Mapping[str, Schema] = field(default_factory=dict)
