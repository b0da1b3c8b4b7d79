"""Retained joins as derived relations: takes a program, returns one whose production rules read what is retained.

What is retained is then kept true as every derived relation is, by what came and went. RETE retains every join of each
body and its instances, TREAT the instances, COSMA what its analysis says, and NONE nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tidelog.analysis.checked import CheckedProgram, ProductionRule, SimpleRule, Stratum
from tidelog.analysis.traversal import own_names
from tidelog.language.syntax_tree import Atom, Constant, Literal, Semantics, Variable, Wildcard
from tidelog.plan.retention.annotate import annotate
from tidelog.plan.retention.expressions import body_expression
from tidelog.plan.retention.profitable import Retained
from tidelog.schema import Attribute, Schema


class Retention(Enum):
    """Which joins of production rules are kept from cycle to cycle. Answers never depend on it."""

    NONE = "none"
    TREAT = "treat"
    RETE = "rete"
    COSMA = "cosma"


@dataclass(frozen=True, slots=True)
class Node:
    """A retained join: the rule that derives it, and the relation it is kept in."""

    schema: Schema
    rule: SimpleRule

    @property
    def atom(self) -> Atom:
        return self.rule.head


def with_retained_joins(checked: CheckedProgram, retention: Retention) -> CheckedProgram:
    """The same program, its production rules reading what `retention` keeps for them."""
    nodes: list[Node] = []
    productions: list[ProductionRule] = []
    retained = _by_cosma(checked) if retention is Retention.COSMA else {}
    for rule in checked.productions:
        bodies = []
        for number, body in enumerate(rule.bodies):
            match retention:
                case _ if not body:
                    made: list[Node] = []
                case Retention.NONE:
                    made = []
                case Retention.TREAT:
                    made = _whole(rule, number, body, [])
                case Retention.RETE:
                    made = _every_join(rule, number, body)
                case Retention.COSMA:
                    made = _producers(rule, number, body, retained[rule.id, number])
            nodes += made
            bodies.append(_over(body, made, retention))
        productions.append(replace(rule, bodies=tuple(bodies)))
    schemas = {**checked.schemas, **{node.schema.relation: node.schema for node in nodes}}
    strata = tuple(Stratum((node.schema.relation,), (node.rule,), recursive=False) for node in nodes)
    return replace(checked, schemas=schemas, strata=(*checked.strata, *strata), productions=tuple(productions))


def _by_cosma(checked: CheckedProgram) -> dict[tuple[int, int], tuple[Retained, ...]]:
    """What the analysis retains for each alternative of each rule."""
    semantics = checked.semantics.semantics if checked.semantics is not None else Semantics.SET
    found: dict[tuple[int, int], tuple[Retained, ...]] = {}
    annotations = iter(annotate(checked.productions, semantics))
    for rule in checked.productions:
        for number in range(len(rule.bodies)):
            found[rule.id, number] = next(annotations).retained
    return found


def _over(body: Sequence[Literal], nodes: Sequence[Node], retention: Retention) -> tuple[Literal, ...]:
    """`body` with what is retained in place of the literals it is made of."""
    if not nodes:
        return tuple(body)
    if retention is not Retention.COSMA:
        return (nodes[-1].atom,)
    covered = [literal for node in nodes for literal in node.rule.body]
    return (*(node.atom for node in nodes), *(literal for literal in body if literal not in covered))


def _whole(rule: ProductionRule, number: int, body: Sequence[Literal], before: Sequence[Node]) -> list[Node]:
    """The instances, and what they are made of."""
    names = [name for name in rule.variables if name in own_names(body)]
    covered = list(before[-1:])
    read: list[Literal] = [node.atom for node in covered]
    inside = [literal for node in before for literal in node.rule.body]
    read += [literal for literal in body if literal not in inside]
    return [*before, _node(rule, f"{rule.id}.{number}@all", names, read)]


def _every_join(rule: ProductionRule, number: int, body: Sequence[Literal]) -> list[Node]:
    """The join of the first two atoms, of that with the third, and so on, and then the instances."""
    plain = [literal for literal in body if isinstance(literal, Atom) and _is_plain(literal)]
    nodes: list[Node] = []
    for end in range(2, len(plain) + 1):
        read: list[Literal] = [nodes[-1].atom, plain[end - 1]] if nodes else list(plain[:2])
        nodes.append(_node(rule, f"{rule.id}.{number}@{end}", _names(rule, plain[:end]), read))
    return _whole(rule, number, body, nodes)


def _producers(rule: ProductionRule, number: int, body: Sequence[Literal], retained: Iterable[Retained]) -> list[Node]:
    """The producers of COSMA, as far as they are in the body; filters are looked up when the rule is tried."""
    nodes = []
    for place, each in enumerate(retained):
        atoms = [occurrence.atom for occurrence in each.producer]
        read = [literal for literal in body if _atom_of(literal) in atoms]
        bound = own_names(literal for literal in read if isinstance(literal, Atom))
        if len(read) > 1 and own_names(read) <= bound and all(_is_plain(atom) for atom in atoms):
            nodes.append(_node(rule, f"{rule.id}.{number}@T{place + 1}", _names(rule, read), read))
    return nodes


def _node(rule: ProductionRule, name: str, names: Iterable[str], body: Sequence[Literal]) -> Node:
    columns = tuple(Attribute(each, rule.kinds[each].value, rule.kinds[each]) for each in names)
    head = Atom(name, tuple(Variable(column.name) for column in columns), rule.span)
    return Node(Schema(name, columns), SimpleRule(rule.id, head, tuple(body), rule.kinds, rule.span, rule.text))


def _names(rule: ProductionRule, literals: Sequence[Literal]) -> Iterator[str]:
    """The variables of `literals`, those that inlining brought in too, in a fixed order."""
    names = own_names(literals)
    yield from (name for name in rule.variables if name in names)
    yield from sorted(names.difference(rule.variables))


def _is_plain(atom: Atom) -> bool:
    return all(isinstance(term, Variable | Wildcard | Constant) for term in atom.arguments)


def _atom_of(literal: Literal) -> Atom | None:
    found = body_expression([literal]).occurrences
    return found[0].atom if found else None
