"""Rules that together compute a closure. Takes the rules of a stratum, returns the groups that form one.

Recognised for a relation R with columns x and y to close over and any columns that stay the same:

* composition of R with itself: `R(x, z) :- R(x, y), R(y, z).`, in either order of the atoms;
* symmetry `R(y, x) :- R(x, y).`, with which the arguments of a composition may stand either way round;
* extension by an edge relation at either end: `R(x, z) :- R(x, y), E(y, z).` or `R(x, z) :- E(x, y), R(y, z).`, the
  columns of E in any order, when `R(x, y) :- E(x, y).` is where all of R begins; with several such E, each of them.

A closure replaces compositions, symmetry and extensions. The rules where R begins stay: their rows are what is closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from tidelog.analysis.checked import ClosureGroup, ClosureKind, SimpleRule
from tidelog.language.syntax_tree import Atom, Variable

Columns: TypeAlias = tuple[str, ...]
"""The names of the variables at the columns of an atom."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation read as edges: `columns` says at which of its columns each column of R stands."""

    relation: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """`R(x, y) :- E(x, y).`"""

    edge: Edge


@dataclass(frozen=True, slots=True)
class Symmetry:
    """`R(y, x) :- R(x, y).`"""


@dataclass(frozen=True, slots=True)
class Composition:
    """`R(x, z) :- R(x, y), R(y, z).`"""


@dataclass(frozen=True, slots=True)
class TurnedComposition:
    """A composition with the arguments of one or both atoms turned round, such as `R(x, z) :- R(x, y), R(z, y).`"""


@dataclass(frozen=True, slots=True)
class RightExtension:
    """`R(x, z) :- R(x, y), E(y, z).`"""

    edge: Edge


@dataclass(frozen=True, slots=True)
class LeftExtension:
    """`R(x, z) :- E(x, y), R(y, z).`"""

    edge: Edge


Shape: TypeAlias = Start | Symmetry | Composition | TurnedComposition | RightExtension | LeftExtension


def find_closures(
    relations: Sequence[str], rules: Sequence[SimpleRule], filled_from_outside: frozenset[str]
) -> tuple[ClosureGroup, ...]:
    """The closures among the rules of a stratum, at most one for each relation.

    `filled_from_outside` are the relations that may begin with rows from elsewhere.
    """
    uses = Counter(rule.id for rule in rules)
    found: list[ClosureGroup] = []
    for relation in relations:
        own = [rule for rule in rules if rule.head.relation == relation]
        arity = len(own[0].head.arguments) if own else 0
        for source, target in combinations(range(arity), 2):
            shapes = [(rule.id, shape_of(rule, source, target)) for rule in own]
            group = _closure(relation, arity, source, target, shapes, uses, relation in filled_from_outside)
            if group:
                found.append(group)
                break
    return tuple(found)


def shape_of(rule: SimpleRule, source: int, target: int) -> Shape | None:
    """What `rule` does for a closure over the columns `source` and `target` of its head; None for anything else."""
    head = _columns(rule.head)
    body = [(atom.relation, _columns(atom)) for atom in rule.body if isinstance(atom, Atom)]
    if head is None or len(body) != len(rule.body) or len(body) > 2:
        return None
    relation = rule.head.relation
    match body:
        case [(name, columns)] if columns is not None:
            if name != relation:
                edge = _edge(name, columns, head)
                return Start(edge) if edge else None
            return Symmetry() if columns == _put(head, source, head[target], target, head[source]) else None
        case [(one_name, one), (other_name, other)] if one is not None and other is not None:
            if one_name == relation and other_name == relation:
                return _composition(head, one, other, source, target)
            if one_name == relation:
                return _extension(head, one, other_name, other, source, target)
            if other_name == relation:
                return _extension(head, other, one_name, one, source, target)
    return None


def _columns(atom: Atom) -> Columns | None:
    """The variables of an atom, when it has nothing else and each once."""
    names = tuple(term.name for term in atom.arguments if isinstance(term, Variable))
    return names if len(set(names)) == len(atom.arguments) else None


def _put(columns: Columns, source: int, first: str, target: int, second: str) -> Columns:
    """`columns` with other names at `source` and `target`."""
    changed = list(columns)
    changed[source], changed[target] = first, second
    return tuple(changed)


def _edge(name: str, columns: Columns, like: Columns) -> Edge | None:
    """How the relation `name` has, at its columns, the variables of `like`."""
    if set(columns) != set(like):
        return None
    return Edge(name, tuple(columns.index(variable) for variable in like))


def _composition(head: Columns, one: Columns, other: Columns, source: int, target: int) -> Shape | None:
    middle = (set(one) & set(other)) - set(head)
    if len(middle) != 1:
        return None
    (between,) = middle
    first = _put(head, source, head[source], target, between)
    second = _put(head, source, between, target, head[target])
    if {one, other} == {first, second}:
        return Composition()
    turned_first = _put(head, source, between, target, head[source])
    turned_second = _put(head, source, head[target], target, between)
    for left, right in ((one, other), (other, one)):
        if left in (first, turned_first) and right in (second, turned_second):
            return TurnedComposition()
    return None


def _extension(
    head: Columns, own: Columns, name: str, edges: Columns, source: int, target: int
) -> RightExtension | LeftExtension | None:
    middle = set(own) - set(head)
    if len(middle) != 1:
        return None
    (between,) = middle
    if own == _put(head, source, head[source], target, between):
        edge = _edge(name, edges, _put(head, source, between, target, head[target]))
        return RightExtension(edge) if edge else None
    if own == _put(head, source, between, target, head[target]):
        edge = _edge(name, edges, _put(head, source, head[source], target, between))
        return LeftExtension(edge) if edge else None
    return None


def _closure(
    relation: str,
    arity: int,
    source: int,
    target: int,
    shapes: Sequence[tuple[int, Shape | None]],
    uses: Counter[int],
    begins_elsewhere: bool,
) -> ClosureGroup | None:
    # A rule of the user's that became several simple rules cannot be replaced by its id.
    alone = [(number, shape) for number, shape in shapes if uses[number] == 1]
    symmetric = any(isinstance(shape, Symmetry) for _, shape in alone)
    composed = any(
        isinstance(shape, Composition) or (symmetric and isinstance(shape, TurnedComposition)) for _, shape in alone
    )
    starts = {shape.edge for _, shape in shapes if isinstance(shape, Start)}
    right = {shape.edge for _, shape in alone if isinstance(shape, RightExtension)}
    left = {shape.edge for _, shape in alone if isinstance(shape, LeftExtension)}
    ways = starts
    if symmetric:
        ways = starts | _turned(starts, source, target)
        # R = R turned round, so what extends R at one end extends it, turned round, at the other.
        right, left = right | _turned(left, source, target), left | _turned(right, source, target)
    replaced = [number for number, shape in alone if _is_replaced(shape, symmetric, ways)]
    if not composed:
        # Without a composition a row of R is no edge, so that R may have no other rows than the edges and their paths.
        all_known = all(isinstance(shape, Start) or number in replaced for number, shape in shapes)
        linear = bool(starts) and right | left <= ways and ways in (right, left)
        if begins_elsewhere or not all_known or not linear:
            return None
    followed = [shape.edge.relation for _, shape in alone if isinstance(shape, RightExtension | LeftExtension)]
    return ClosureGroup(
        relation,
        ClosureKind.SYMMETRIC if symmetric else ClosureKind.TRANSITIVE,
        source,
        target,
        tuple(column for column in range(arity) if column not in (source, target)),
        tuple(replaced),
        None if composed else ", ".join(dict.fromkeys(followed)),
    )


def _turned(edges: set[Edge], source: int, target: int) -> set[Edge]:
    """The same edges the other way round."""

    def turn(edge: Edge) -> Edge:
        columns = list(edge.columns)
        columns[source], columns[target] = columns[target], columns[source]
        return Edge(edge.relation, tuple(columns))

    return {turn(edge) for edge in edges}


def _is_replaced(shape: Shape | None, symmetric: bool, ways: set[Edge]) -> bool:
    match shape:
        case Composition() | Symmetry():
            return True
        case TurnedComposition():
            return symmetric
        case RightExtension(edge) | LeftExtension(edge):
            return edge in ways
        case _:
            return False
