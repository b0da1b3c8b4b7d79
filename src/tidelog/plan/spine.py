"""The body of a rule as a heap of parts, and bodies built from such parts in a chosen order.

A part is a node without what it stands on: `Unit` is in the place of its input. Sources bring rows (scans, rows of the
text, ranges); the other parts test or compute and can stand anywhere above the sources that bind their names. An
equality is free in direction: it filters where both its sides are bound and gives a name its value where one is not.
Only the name of a group or a range is never given by an equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from tidelog.language.syntax_tree import (
    AggregateFunction,
    Call,
    Comparison,
    ComparisonOperator,
    Term,
    Test,
    Variable,
)
from tidelog.plan.nodes import (
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Join,
    Node,
    Project,
    Range,
    Scan,
    Select,
    Union,
    Unit,
    Values,
    Version,
)
from tidelog.plan.walk import columns_of, names_in, operands_of, terms_of
from tidelog.schema import Kind

Source: TypeAlias = Scan | Values | Distinct | Union | Range
Operation: TypeAlias = Select | Extend | Antijoin | GroupJoin

UNIT = Unit()

OWN = "@"
"""How names start that only a group or a range gives, where an equality also speaks of them."""


@dataclass(frozen=True, slots=True)
class Spine:
    """The parts of a body: sources and all others, each in text order."""

    sources: tuple[Source, ...]
    others: tuple[Operation, ...]


def flatten(node: Node) -> Spine:
    """The parts of `node`; `assemble(spine.sources, spine.others)` gives its rows again."""
    match node:
        case Unit():
            return Spine((), ())
        case Scan() | Values() | Distinct() | Union():
            return Spine((node,), ())
        case Project():
            raise AssertionError("a Project stands on top of a body, never in it")
        case Join(left, right):
            before, after = flatten(left), flatten(right)
            return Spine(before.sources + after.sources, before.others + after.others)
        case Range(source):
            spine = flatten(source)
            return Spine((*spine.sources, replace(node, input=UNIT)), spine.others)
        case Select(source) | Extend(source):
            spine = flatten(source)
            return Spine(spine.sources, (*spine.others, replace(node, input=UNIT)))
        case Antijoin(left) | GroupJoin(left):
            spine = flatten(left)
            return Spine(spine.sources, (*spine.others, replace(node, left=UNIT)))
        case _:
            assert_never(node)


def with_inner(spine: Spine, rewrite: Callable[[Node], Node]) -> Spine:
    """`spine` with the bodies that stand inside its parts rewritten: of aggregates, and below different values."""

    def of_source(source: Source) -> Source:
        match source:
            case Distinct(inner):
                return replace(source, input=rewrite(inner))
            case Union(inputs):
                return replace(source, inputs=tuple(map(rewrite, inputs)))
            case _:
                return source

    def of_operation(part: Operation) -> Operation:
        return replace(part, right=rewrite(part.right)) if isinstance(part, GroupJoin) else part

    return Spine(tuple(map(of_source, spine.sources)), tuple(map(of_operation, spine.others)))


def assemble(sources: Iterable[Source], others: Iterable[Operation]) -> Node:
    """The sources joined in the order given, with every other part as low as its names allow.

    A source that waits for names (a range) moves up until they are bound. Nothing stands below a scan of marked rows
    that comes first: they are read, never looked up.
    """
    node: Node = UNIT
    waiting, remaining = tuple(others), tuple(sources)
    if remaining and is_marked(remaining[0]):
        node, remaining = remaining[0], remaining[1:]
    node, waiting = place(node, waiting, remaining)
    while remaining:
        bound = frozenset(columns_of(node))
        chosen = next(source for source in remaining if needs(source) <= bound)
        remaining = tuple(source for source in remaining if source is not chosen)
        node, waiting = place(join(node, chosen), waiting, remaining)
    return settle(node, waiting)


def is_marked(source: Source) -> bool:
    """Whether `source` reads marked rows: a question starts from them."""
    return isinstance(source, Scan) and source.version is Version.MARKED


def join(node: Node, source: Source) -> Node:
    """`source` on top of `node`."""
    if isinstance(source, Range):
        return replace(source, input=node)
    return source if isinstance(node, Unit) else Join(node, source)


def place(node: Node, waiting: tuple[Operation, ...], later: tuple[Source, ...]) -> tuple[Node, tuple[Operation, ...]]:
    """`node` with every part that can stand on it now, cheap ones first, and the parts that still wait."""
    bound = frozenset(columns_of(node))
    while ready := [part for part in waiting if is_ready(part, bound) and is_useful(part, bound, waiting, later)]:
        chosen = min(ready, key=lambda part: rank_on(part, bound))
        waiting = tuple(part for part in waiting if part is not chosen)
        node = put(chosen, node, bound)
        bound = frozenset(columns_of(node))
    return node, waiting


def settle(node: Node, waiting: tuple[Operation, ...]) -> Node:
    """`node` with the parts that only the head of the rule asks for."""
    while waiting:
        bound = frozenset(columns_of(node))
        ready = [part for part in waiting if is_ready(part, bound)]
        chosen = min(ready, key=lambda part: rank_on(part, bound))
        waiting = tuple(part for part in waiting if part is not chosen)
        node = put(chosen, node, bound)
    return node


def needs(source: Source) -> frozenset[str]:
    """The names that must be bound before `source` can be read."""
    return names_in(*terms_of(source)) if isinstance(source, Range) else frozenset()


def is_ready(part: Operation, bound: Set[str]) -> bool:
    """Whether `part` can stand on columns named `bound`."""
    match part:
        case Antijoin(right=negated):
            return bound >= set(columns_of(negated))
        case GroupJoin(keys=keys):
            return bound >= set(keys)
        case Select() | Extend():
            equal = equality(part)
            if equal is None:
                return names_in(*terms_of(part)) <= bound
            left, right, _ = equal
            return gives(left, right, bound) or gives(right, left, bound) or names_in(left, right) <= bound
        case _:
            assert_never(part)


def is_useful(part: Operation, bound: Set[str], waiting: tuple[Operation, ...], later: tuple[Source, ...]) -> bool:
    """Whether `part` filters rows now or computes what another part or source will read."""
    match put(part, UNIT, bound):
        case GroupJoin(function=AggregateFunction.MIN | AggregateFunction.MAX | AggregateFunction.MEAN):
            return True  # a group without rows has no value
        case Extend(name=name) | GroupJoin(name=name):
            return any(name in columns_of(source) or name in needs(source) for source in later) or any(
                name in reads(other) for other in waiting if other is not part
            )
        case _:
            return True


def reads(part: Operation) -> frozenset[str]:
    """Every name that `part` reads or could give."""
    match part:
        case Antijoin(right=right):
            return frozenset(columns_of(right))
        case GroupJoin(keys=keys):
            return frozenset(keys)
        case Extend(name=name):
            return names_in(*terms_of(part)) | {name}
        case Select():
            return names_in(*terms_of(part))
        case _:
            assert_never(part)


def put(part: Operation, node: Node, bound: Set[str]) -> Node:
    """`part` on top of `node`; an equality filters or gives a name its value, as `bound` asks."""
    if isinstance(part, Antijoin | GroupJoin):
        return replace(part, left=node)
    equal = equality(part)
    if equal is None:
        return replace(part, input=node)
    left, right, kind = equal
    for name, value in ((left, right), (right, left)):
        if isinstance(name, Variable) and gives(name, value, bound):
            return Extend(node, name.name, value, kind, part.span)
    return Select(node, Comparison(ComparisonOperator.EQUAL, left, right, part.span, kind), part.span)


def gives(name: Term, value: Term, bound: Set[str]) -> bool:
    """Whether the equality of the two gives an unbound variable its value."""
    if not isinstance(name, Variable) or name.name in bound or name.name.startswith(OWN):
        return False
    return names_in(value) <= bound


def equality(part: Operation) -> tuple[Term, Term, Kind] | None:
    """The sides of a part that says two terms are equal, one of them at least a variable, and their kind."""
    match part:
        case Extend(name=name, value=value, kind=kind):
            return Variable(name), value, kind
        case Select(condition=Comparison(ComparisonOperator.EQUAL, left, right, kind=Kind() as kind)) if isinstance(
            left, Variable
        ) or isinstance(right, Variable):
            return left, right, kind
        case _:
            return None


def rank_on(part: Operation, bound: Set[str]) -> int:
    """What to do first among parts that are ready, by what each is on columns named `bound`."""
    placed = put(part, UNIT, bound)
    assert isinstance(placed, Select | Extend | Antijoin | GroupJoin)
    return rank(placed)


def rank(part: Operation) -> int:
    """What to do first among parts that are ready: plain comparisons, computing, patterns, lookups, groups."""
    match part:
        case Select(condition=condition):
            if isinstance(condition, Test):
                return 3
            return 1 if any(isinstance(term, Call) for term in operands_of(condition)) else 0
        case Extend():
            return 2
        case Antijoin():
            return 4
        case GroupJoin():
            return 5
        case _:
            assert_never(part)
