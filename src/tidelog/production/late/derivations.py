"""Takes production rules, returns plans for their derivations: all, those that a change flips, and what they ask for.

A derivation is an assignment of all variables of a body, one for each `_` of a positive atom included, so that it holds
in one way only: a change of one fact that it uses begins or ends it. What an atom or a head has in place of a variable
gets one too, so that the facts that a derivation uses and asks for are columns of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.analysis.checked import ProductionRule, SimpleRule
from tidelog.analysis.traversal import all_literals, own_names
from tidelog.language.syntax_tree import (
    Atom,
    Comparison,
    ComparisonOperator,
    Literal,
    Negation,
    Sign,
    Term,
    Variable,
    Wildcard,
)
from tidelog.plan.lower import lower_rule
from tidelog.plan.nodes import RulePlan
from tidelog.production.rule_plans import optimized, over_marked
from tidelog.schema import Attribute, Kind, Schema


@dataclass(frozen=True, slots=True)
class Flip:
    """The derivations that use a fact of `relation` that is marked, in one place: an atom, or a negated one.

    The fact has the values of these columns of the derivation; for `!p(x, _)` some are missing.
    """

    relation: str
    is_negated: bool
    plan: RulePlan
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A head: what derivations ask for. The fact has the values of these columns of the derivation."""

    sign: Sign
    relation: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derivations:
    """The derivations of one alternative of `rule`, as rows of `schema`.

    `aggregated` are the relations that aggregates read: when these change, `all` says what holds. `body` has the
    literals, without `_` in its atoms and with a variable for all that is not one, and `kinds` the kinds of variables.
    """

    rule: ProductionRule
    body: tuple[Literal, ...]
    kinds: Mapping[str, Kind]
    schema: Schema
    all: RulePlan
    flips: tuple[Flip, ...]
    asked: tuple[Asked, ...]
    aggregated: frozenset[str]

    @property
    def relation(self) -> str:
        return self.schema.relation


def derivations_of(rule: ProductionRule, schemas: Mapping[str, Schema]) -> Iterator[Derivations]:
    """The plans for each alternative of `rule`."""
    for number, body in enumerate(rule.bodies):
        yield _derivations(rule, f"{rule.id}.{number}", body, schemas)


def changed(relation: str) -> str:
    """The name under which facts of `relation` that came or went are marked."""
    return f"{relation}@changed"


def _derivations(
    rule: ProductionRule, name: str, literals: Sequence[Literal], schemas: Mapping[str, Schema]
) -> Derivations:
    naming = _Naming(rule.kinds)
    plain = [naming.without_wildcards(literal, schemas) for literal in literals]
    places = [literal for literal in plain if isinstance(literal, Atom | Negation)]
    atoms = [place.atom if isinstance(place, Negation) else place for place in places]
    facts = [naming.variables(atom, schemas) for atom in (*atoms, *(head.atom for head in rule.heads))]
    body, kinds = [*plain, *naming.computed], naming.kinds
    names = sorted(own_names(body))
    columns = [tuple(map(names.index, fact)) for fact in facts]
    schema = Schema(f"{name}@derivations", tuple(Attribute(each, kinds[each].value, kinds[each]) for each in names))
    marks = {changed(each): replace(schemas[each], relation=changed(each)) for each in schemas}
    known = {**schemas, **marks, schema.relation: schema}
    derivation = Atom(schema.relation, tuple(Variable(each) for each in names), rule.span)

    def plan(conditions: Sequence[Literal]) -> RulePlan:
        return lower_rule(SimpleRule(rule.id, derivation, tuple(conditions), kinds, rule.span, rule.text), known)

    everything, *others = optimized([plan(body), *(plan(_flipping(body, place)) for place in places)], known)
    flips = tuple(
        Flip(atom.relation, isinstance(place, Negation), over_marked(each, changed(atom.relation)), used)
        for place, atom, each, used in zip(places, atoms, others, columns, strict=False)
    )
    asked = tuple(
        Asked(head.sign, head.atom.relation, wanted)
        for head, wanted in zip(rule.heads, columns[len(places) :], strict=True)
    )
    return Derivations(rule, tuple(body), kinds, schema, everything, flips, asked, frozenset(_inside_aggregates(body)))


class _Naming:
    """Variables for the terms of a body and its heads that are none."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self.kinds = dict(kinds)
        self.computed: list[Literal] = []

    def without_wildcards(self, literal: Literal, schemas: Mapping[str, Schema]) -> Literal:
        """`literal` with a name for each `_`, if it is a positive atom."""
        if not isinstance(literal, Atom):
            return literal
        pairs = zip(literal.arguments, schemas[literal.relation].kinds, strict=True)
        arguments = (self._new(kind) if isinstance(term, Wildcard) else term for term, kind in pairs)
        return replace(literal, arguments=tuple(arguments))

    def variables(self, atom: Atom, schemas: Mapping[str, Schema]) -> list[str]:
        """The variables that have the values of a fact of `atom`; a `_` has none."""
        pairs = zip(atom.arguments, schemas[atom.relation].kinds, strict=True)
        return [self._variable(term, kind) for term, kind in pairs if not isinstance(term, Wildcard)]

    def _variable(self, term: Term, kind: Kind) -> str:
        if isinstance(term, Variable):
            return term.name
        made = self._new(kind)
        self.computed.append(Comparison(ComparisonOperator.EQUAL, made, term, term.span, kind))
        return made.name

    def _new(self, kind: Kind) -> Variable:
        name = f"_{len(self.kinds)}@"
        self.kinds[name] = kind
        return Variable(name)


def _flipping(body: Sequence[Literal], place: Atom | Negation) -> list[Literal]:
    """`body` where the fact at `place` is one that changed; what is negated does not hold here, before or after."""
    if isinstance(place, Negation):
        return [*body, replace(place.atom, relation=changed(place.atom.relation))]
    return [replace(place, relation=changed(place.relation)) if literal is place else literal for literal in body]


def _inside_aggregates(body: Sequence[Literal]) -> Iterator[str]:
    own = {id(literal) for literal in body}
    for literal in all_literals(body):
        match literal:
            case Atom(relation=relation) | Negation(atom=Atom(relation=relation)) if id(literal) not in own:
                yield relation
