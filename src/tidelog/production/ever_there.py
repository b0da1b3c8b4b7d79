"""The facts that were ever there in a run: takes plans of derivations, returns those that a fact could take part in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.analysis.checked import SimpleRule
from tidelog.backends.protocol import Backend, Facts
from tidelog.language.syntax_tree import Atom, Constant, Literal, Negation, Variable
from tidelog.maintain.journal import Net
from tidelog.plan.lower import lower_rule
from tidelog.plan.nodes import RulePlan
from tidelog.production.derivations import Derivations, changed
from tidelog.production.rule_plans import optimized, over_marked
from tidelog.schema import Schema


def has_timelines(plans: Sequence[Derivations], derived: frozenset[str]) -> bool:
    """Whether all that derivations use is facts that chains tell of: nothing derived or aggregated, no `!p(x, _)`."""
    return not derived and all(not each.aggregated and all(map(_is_plain, each.body)) for each in plans)


class EverThere:
    """The facts that were ever there, of the relations that rules act on, and plans that read them."""

    def __init__(self, plans: Sequence[Derivations], schemas: Mapping[str, Schema], backend: Backend) -> None:
        self._backend = backend
        self.relations = frozenset(head.atom.relation for each in plans for head in each.rule.heads)
        backend.declare({_ever(name): replace(schemas[name], relation=_ever(name)) for name in self.relations})
        for relation in self.relations:
            self.add(relation, backend.facts(relation))
        self.flips = [list(_wide_flips(each, schemas, self.relations)) for each in plans]

    def take(self, nets: Mapping[str, Net]) -> None:
        """Adds what came and went."""
        for relation, net in nets.items():
            if relation in self.relations:
                self.add(relation, net.came.union(net.went))

    def add(self, relation: str, facts: Facts) -> None:
        """Adds facts, some of which may be known."""
        new = self._backend.unknown(_ever(relation), facts)
        self._backend.exchange(_ever(relation), new, new.none())


def _wide_flips(
    plans: Derivations, schemas: Mapping[str, Schema], wide: frozenset[str]
) -> Iterator[tuple[str, RulePlan]]:
    """Plans for the derivations that could use a marked fact at some time, with the relation of the fact."""
    known = {**schemas, plans.relation: plans.schema}
    for name, schema in schemas.items():
        known |= {each: replace(schema, relation=each) for each in (_ever(name), changed(name))}
    head = Atom(plans.relation, tuple(Variable(name) for name in plans.schema.names), plans.rule.span)
    rule = plans.rule
    for place in places(plans.body):
        atom = place.atom if isinstance(place, Negation) else place
        body: list[Literal] = [replace(atom, relation=changed(atom.relation))]
        for literal in plans.body:
            match literal:
                case Negation():
                    pass
                case Atom(relation=relation):
                    if literal is not place:
                        body.append(replace(literal, relation=_ever(relation)) if relation in wide else literal)
                case _:
                    body.append(literal)
        simple = SimpleRule(rule.id, head, tuple(body), plans.kinds, rule.span, rule.text)
        plan = optimized([lower_rule(simple, known)], known)[0]
        yield atom.relation, over_marked(plan, changed(atom.relation))


def places(body: Sequence[Literal]) -> list[Atom | Negation]:
    """The literals that a fact makes true or false."""
    return [literal for literal in body if isinstance(literal, Atom | Negation)]


def _is_plain(literal: Literal) -> bool:
    match literal:
        case Atom(arguments=arguments) | Negation(atom=Atom(arguments=arguments)):
            return all(isinstance(term, Variable | Constant) for term in arguments)
        case _:
            return True


def _ever(relation: str) -> str:
    return f"{relation}@ever"
