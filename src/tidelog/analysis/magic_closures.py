"""A closure as a search. Takes the rules of a closure and what is bound, returns rules that follow edges from there.

Composing paths with paths, or extending them at the end that is not bound, would compute the paths between all that is
reached. With `R(x, z) :- R(x, y), E(y, z)` where x is bound, and `R(x, z) :- E(x, y), R(y, z)` where z is, the answers
to a question are found in time proportional to what is reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidelog.analysis.adornment import Adornment, given_to
from tidelog.analysis.checked import ClosureGroup, ClosureKind, SimpleRule
from tidelog.analysis.closures import Composition, Edge, Start, TurnedComposition, shape_of
from tidelog.analysis.magic_bodies import atoms_read
from tidelog.language.syntax_tree import Atom, Variable
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class SearchForm:
    """The rules of a closure followed from one end. `adornment` is what they use of what is bound.

    `start` are rules for a relation of first steps, where these are not rows of other relations as they are.
    """

    relation: str
    adornment: Adornment
    rules: tuple[SimpleRule, ...]
    start: tuple[SimpleRule, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A relation whose rows are edges, how its columns stand, and the rule that says so."""

    edge: Edge
    rule: SimpleRule


def search_form(
    group: ClosureGroup, rules: Sequence[SimpleRule], schema: Schema, adornment: Adornment, has_facts: bool
) -> SearchForm | None:
    """The closure `group` as a search; None where its rules say more than that.

    `has_facts` says that the relation has explicit facts of its own. They are edges only where paths are composed.
    """
    replaced = [rule for rule in rules if rule.id in group.rules]
    begin = [rule for rule in rules if rule.id not in group.rules]
    if has_facts and not is_composed(group, rules):
        return None
    if any(_reads(rule, group.relation) for rule in begin):
        return None
    ways, start = _ways(group, begin, schema, replaced[0], has_facts)
    if group.kind is ClosureKind.SYMMETRIC:
        ways += [replace(way, edge=_turned(way.edge, group)) for way in ways]
    from_source = adornment[group.source] or not adornment[group.target]
    end = group.target if from_source else group.source
    used = tuple(is_bound and column != end for column, is_bound in enumerate(adornment))
    made = tuple(rule for way in ways for rule in _search_rules(group, way, schema, replaced[0], from_source))
    return SearchForm(group.relation, used, made, tuple(start))


def is_composed(group: ClosureGroup, rules: Sequence[SimpleRule]) -> bool:
    """Whether a rule of the closure joins its relation with itself, so that every row of it is an edge."""
    shapes = [shape_of(rule, group.source, group.target) for rule in rules if rule.id in group.rules]
    is_symmetric = group.kind is ClosureKind.SYMMETRIC
    return any(
        isinstance(shape, Composition) or (is_symmetric and isinstance(shape, TurnedComposition)) for shape in shapes
    )


def _reads(rule: SimpleRule, relation: str) -> bool:
    return any(atom.relation == relation for atom in atoms_read(rule.body))


def _ways(
    group: ClosureGroup, begin: Sequence[SimpleRule], schema: Schema, closing: SimpleRule, has_facts: bool
) -> tuple[list[Way], list[SimpleRule]]:
    """Where edges come from, and the rules of those that only rules can tell."""
    ways: list[Way] = []
    start: list[SimpleRule] = []
    straight = tuple(range(schema.arity))
    name = f"{group.relation}@start"
    for rule in begin:
        shape = shape_of(rule, group.source, group.target)
        if isinstance(shape, Start):
            ways.append(Way(shape.edge, rule))
        else:
            start.append(replace(rule, head=replace(rule.head, relation=name)))
    if start:
        ways.append(Way(Edge(name, straight), closing))
    if has_facts:
        ways.append(Way(Edge(given_to(group.relation), straight), closing))
    return ways, start


def _turned(edge: Edge, group: ClosureGroup) -> Edge:
    """The same edges the other way round."""
    columns = list(edge.columns)
    columns[group.source], columns[group.target] = columns[group.target], columns[group.source]
    return Edge(edge.relation, tuple(columns))


def _search_rules(
    group: ClosureGroup, way: Way, schema: Schema, closing: SimpleRule, from_source: bool
) -> Iterator[SimpleRule]:
    """Paths of one edge, and paths with one more edge at the end that is not bound."""
    names = list(schema.names)
    between = "via"
    while between in names:
        between += "_"
    first, second = list(names), list(names)
    first[group.target] = second[group.source] = between
    kinds = {**dict(zip(schema.names, schema.kinds, strict=True)), between: schema.kinds[group.source]}
    head = _atom(group.relation, names)
    path, edge = (first, second) if from_source else (second, first)
    yield replace(way.rule, head=head, body=(_edge_atom(way.edge, names),), kinds=kinds, plan=None)
    body = (_atom(group.relation, path), _edge_atom(way.edge, edge))
    yield replace(closing, head=head, body=body, kinds=kinds, plan=None)


def _atom(relation: str, names: Sequence[str]) -> Atom:
    return Atom(relation, tuple(map(Variable, names)))


def _edge_atom(edge: Edge, names: Sequence[str]) -> Atom:
    """The atom of the edge relation that has, for each column of the closure, the variable `names` has there."""
    columns = [""] * len(names)
    for column, place in enumerate(edge.columns):
        columns[place] = names[column]
    return _atom(edge.relation, columns)
