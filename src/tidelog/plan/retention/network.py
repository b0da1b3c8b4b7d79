"""What is retained for a production rule: takes a program, returns its bodies over the joins that a strategy keeps.

RETE retains every join of each body and its instances, TREAT the instances, A-TREAT selections, COSMA what its
analysis says, and NONE nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tidelog.analysis.checked import CheckedProgram, ProductionRule, SimpleRule
from tidelog.analysis.traversal import own_names
from tidelog.language.syntax_tree import Atom, Comparison, Constant, Literal, Term, Variable, Wildcard
from tidelog.plan.retention.annotate import Annotation, annotate_program
from tidelog.plan.retention.expressions import body_expression
from tidelog.plan.retention.profitable import Retained
from tidelog.schema import Attribute, Schema


class Retention(Enum):
    """Which joins of production rules are kept from cycle to cycle. Answers never depend on it."""

    NONE = "none"
    TREAT = "treat"
    RETE = "rete"
    ATREAT = "atreat"
    COSMA = "cosma"


class Reading(Enum):
    """How a rule that is tried again finds what to do: in all its instances, or in what has changed since then."""

    ALL = "all"
    SINCE = "since"


@dataclass(frozen=True, slots=True)
class Node:
    """A retained join or selection: the rule that derives it, and the relation it is kept in."""

    schema: Schema
    rule: SimpleRule

    @property
    def relation(self) -> str:
        return self.schema.relation

    @property
    def atom(self) -> Atom:
        return self.rule.head


@dataclass(frozen=True, slots=True)
class Way:
    """A way to try one alternative of a rule: what is retained for it, later nodes over earlier ones, and `body`, the
    alternative with that in place of the literals it is made of."""

    nodes: tuple[Node, ...]
    body: tuple[Literal, ...]
    reading: Reading

    def without(self, left_out: Sequence[Node]) -> Way:
        """The same, with the literals of these nodes in their place."""
        literals: Mapping[Literal, tuple[Literal, ...]] = {node.atom: node.rule.body for node in left_out}
        body = tuple(part for literal in self.body for part in literals.get(literal, (literal,)))
        return Way(tuple(node for node in self.nodes if node not in left_out), body, self.reading)


def ways_to_try(checked: CheckedProgram, retention: Retention) -> Mapping[tuple[int, int], tuple[Way, ...]]:
    """For each alternative of each rule, by rule id and number: the ways to try it, the one to begin with first."""
    annotations = iter(annotate_program(checked))
    return {
        (rule.id, number): _ways(rule, number, retention, next(annotations))
        for rule in checked.productions
        for number in range(len(rule.bodies))
    }


def _ways(rule: ProductionRule, number: int, retention: Retention, annotation: Annotation) -> tuple[Way, ...]:
    body = rule.bodies[number]
    plain = Way((), body, Reading.ALL)
    match retention:
        case _ if not body:
            return (plain,)
        case Retention.NONE:
            return (plain,)
        case Retention.TREAT:
            return (_over_instances(rule, number, body, ()),)
        case Retention.RETE:
            return (_over_instances(rule, number, body, _every_join(rule, number, body)),)
        case Retention.ATREAT:
            return (_over(body, selections(rule, number)),)
        case Retention.COSMA:
            nodes = _producers(rule, number, body, annotation.profitable)
            with_joins, without = _over(body, nodes), _over(body, ())
            if not nodes:
                return (without,)
            return (with_joins, without) if annotation.retained else (without, with_joins)


def _over(body: Sequence[Literal], nodes: Sequence[Node]) -> Way:
    """`body` with `nodes` in place of the literals they are made of, read from what has changed."""
    covered = [literal for node in nodes for literal in node.rule.body]
    left = (literal for literal in body if literal not in covered)
    return Way(tuple(nodes), (*(node.atom for node in nodes), *left), Reading.SINCE)


def _over_instances(rule: ProductionRule, number: int, body: Sequence[Literal], joins: Sequence[Node]) -> Way:
    """The instances retained, made of the last of `joins` and what that does not cover, if it does not cover all."""
    names = [name for name in rule.variables if name in own_names(body)]
    covered = [literal for node in joins for literal in node.rule.body]
    read = [*(node.atom for node in joins[-1:]), *(literal for literal in body if literal not in covered)]
    if len(read) == 1 and joins and {*names} == {*joins[-1].schema.names}:
        return Way((*joins,), (joins[-1].atom,), Reading.ALL)
    instances = _node(rule, f"{rule.id}.{number}@all", names, read)
    return Way((*joins, instances), (instances.atom,), Reading.ALL)


def _every_join(rule: ProductionRule, number: int, body: Sequence[Literal]) -> list[Node]:
    """The join of the first two atoms, of that with the third, and so on."""
    plain = [literal for literal in body if isinstance(literal, Atom) and _is_plain(literal.arguments)]
    nodes: list[Node] = []
    for end in range(2, len(plain) + 1):
        read: list[Literal] = [nodes[-1].atom, plain[end - 1]] if nodes else list(plain[:2])
        nodes.append(_node(rule, f"{rule.id}.{number}@{end}", _names(rule, plain[:end]), read))
    return nodes


def selections(rule: ProductionRule, number: int) -> list[Node]:
    """The alpha memories of an alternative: for each atom with conditions of its own, the rows that meet them."""
    body = rule.bodies[number]
    nodes: list[Node] = []
    taken: list[Literal] = []
    for place, literal in enumerate(body):
        if isinstance(literal, Atom) and _is_plain(literal.arguments):
            own = [each for each in body if each not in taken and _is_plain_condition(each, [literal])]
            if own or len(own_names([literal])) < sum(not isinstance(term, Wildcard) for term in literal.arguments):
                taken += own
                nodes.append(_node(rule, f"{rule.id}.{number}@S{place + 1}", _names(rule, [literal]), [literal, *own]))
    return nodes


def _producers(rule: ProductionRule, number: int, body: Sequence[Literal], retained: Iterable[Retained]) -> list[Node]:
    """The producers of COSMA, as far as they are in the body; filters are looked up when the rule is tried."""
    nodes = []
    for place, each in enumerate(retained):
        atoms = [occurrence.atom for occurrence in each.producer]
        read = [literal for literal in body if _atom_of(literal) in atoms]
        bound = own_names(literal for literal in read if isinstance(literal, Atom))
        if len(read) > 1 and own_names(read) <= bound and all(_is_plain(atom.arguments) for atom in atoms):
            read += [literal for literal in body if _is_plain_condition(literal, read)]
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


def _is_plain(terms: Iterable[Term]) -> bool:
    return all(isinstance(term, Variable | Wildcard | Constant) for term in terms)


def _is_plain_condition(literal: Literal, others: Sequence[Literal]) -> bool:
    """Whether it only compares what `others` bind: nothing in it can be without a value."""
    is_comparison = isinstance(literal, Comparison) and _is_plain((literal.left, literal.right))
    return is_comparison and own_names([literal]) <= own_names(others)


def _atom_of(literal: Literal) -> Atom | None:
    found = body_expression([literal]).occurrences
    return found[0].atom if found else None
