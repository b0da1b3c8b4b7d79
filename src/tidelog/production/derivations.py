"""Takes production rules, returns plans for their derivations: all, those that a change flips, and what they ask for.

A derivation is an assignment of all variables of a body, one for each `_` of a positive atom included, so that it holds
in one way only: a change of one fact that it uses begins or ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.analysis.checked import ProductionRule, SimpleRule
from tidelog.analysis.traversal import all_literals, own_names
from tidelog.language.syntax_tree import Atom, Literal, Negation, Sign, Term, Variable, Wildcard
from tidelog.plan.lower import lower_rule
from tidelog.plan.nodes import RulePlan
from tidelog.production.rule_plans import optimized, over_marked
from tidelog.schema import Attribute, Kind, Schema


@dataclass(frozen=True, slots=True)
class Flip:
    """The derivations that use a fact of `relation` that is marked, in one place: an atom, or a negated one."""

    relation: str
    is_negated: bool
    plan: RulePlan


@dataclass(frozen=True, slots=True)
class Asked:
    """What marked derivations ask for: rows of `schema`, the fact first and then the derivation."""

    sign: Sign
    relation: str
    schema: Schema
    plan: RulePlan


@dataclass(frozen=True, slots=True)
class Derivations:
    """The derivations of one alternative of `rule`, as rows of `schema`.

    `aggregated` are the relations that aggregates read: when these change, `all` says what holds. `body` has the
    literals, without `_` in its atoms, and `kinds` the kinds of its variables.
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
    body, kinds = _without_wildcards(literals, rule.kinds, schemas)
    names = sorted(own_names(body))
    schema = Schema(f"{name}@derivations", tuple(Attribute(each, kinds[each].value, kinds[each]) for each in names))
    asked_schemas = [
        _asked_schema(f"{name}.{position}@asked", schemas[head.atom.relation], schema)
        for position, head in enumerate(rule.heads)
    ]
    marks = {changed(each): replace(schemas[each], relation=changed(each)) for each in schemas}
    known = {**schemas, **marks, schema.relation: schema, **{each.relation: each for each in asked_schemas}}
    derivation = Atom(schema.relation, tuple(Variable(each) for each in names), rule.span)
    places = [literal for literal in body if isinstance(literal, Atom | Negation)]

    def plan(head: Atom, conditions: Sequence[Literal]) -> RulePlan:
        return lower_rule(SimpleRule(rule.id, head, tuple(conditions), kinds, rule.span, rule.text), known)

    asking = [
        plan(Atom(each.relation, (*head.atom.arguments, *derivation.arguments), rule.span), [derivation])
        for each, head in zip(asked_schemas, rule.heads, strict=True)
    ]
    flipping = [plan(derivation, _flipping(body, place)) for place in places]
    everything, *others = optimized([plan(derivation, body), *flipping, *asking], known)
    atoms = [place.atom if isinstance(place, Negation) else place for place in places]
    flips = tuple(
        Flip(atom.relation, isinstance(place, Negation), over_marked(each, changed(atom.relation)))
        for place, atom, each in zip(places, atoms, others, strict=False)
    )
    asked = tuple(
        Asked(head.sign, head.atom.relation, each, over_marked(found, schema.relation))
        for head, each, found in zip(rule.heads, asked_schemas, others[len(places) :], strict=True)
    )
    return Derivations(rule, tuple(body), kinds, schema, everything, flips, asked, frozenset(_inside_aggregates(body)))


def _without_wildcards(
    body: Sequence[Literal], kinds: Mapping[str, Kind], schemas: Mapping[str, Schema]
) -> tuple[list[Literal], Mapping[str, Kind]]:
    """`body` with a name for each `_` of its positive atoms, and the kinds of all variables."""
    all_kinds = dict(kinds)

    def named(term: Term, kind: Kind) -> Term:
        if not isinstance(term, Wildcard):
            return term
        name = f"_{len(all_kinds)}@"
        all_kinds[name] = kind
        return Variable(name, term.span)

    plain: list[Literal] = []
    for literal in body:
        if isinstance(literal, Atom):
            pairs = zip(literal.arguments, schemas[literal.relation].kinds, strict=True)
            literal = replace(literal, arguments=tuple(named(term, kind) for term, kind in pairs))
        plain.append(literal)
    return plain, all_kinds


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


def _asked_schema(name: str, asked: Schema, derivation: Schema) -> Schema:
    columns = (Attribute(f"{number}", each.type, each.kind) for number, each in enumerate(asked.attributes))
    return Schema(name, (*columns, *derivation.attributes))
