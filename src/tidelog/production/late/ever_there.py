"""The facts that were ever there in a run, and plans for the derivations that a fact could take part in among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidelog.analysis.checked import SimpleRule
from tidelog.backends.protocol import Backend
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Membership, Rows, membership_for
from tidelog.language.syntax_tree import Atom, Literal, Negation, Variable
from tidelog.plan.lower import lower_rule
from tidelog.plan.nodes import RulePlan
from tidelog.production.ids import ids_of
from tidelog.production.late.chain_columns import Flags
from tidelog.production.late.derivations import Derivations, changed
from tidelog.production.late.nets import are_stored
from tidelog.production.rule_plans import optimized, over_marked
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class Followed:
    """Derivations of which the chains of facts tell when they hold.

    `could` gives, for each place in the body, those that a marked fact of `relation` could be used in at some time.
    """

    plans: Derivations
    could: tuple[tuple[str, RulePlan], ...]


class EverThere:
    """All facts that were there at some time, of the relations `given` to a run.

    Where chains tell of all plans they stand in place of the last state. Once a fact is in it stays, whatever becomes
    of the news that brought it. `could` are all plans for facts of the relations `followed`; with `only_joins` they
    join these facts with one relation at most, and do nothing else.
    """

    def __init__(
        self,
        backend: Backend,
        schemas: Mapping[str, Schema],
        given: frozenset[str],
        plans: Sequence[Derivations],
        gone: Mapping[str, FactSet],
    ) -> None:
        """`gone` are those that are not there at the end; the others are stored. What is not given is derived."""
        self._backend = backend
        self._schemas = schemas
        told = [each for each in plans if _chains_tell(each, schemas, given)]
        self.by_state = tuple(each for each in plans if each not in told)
        self._names = {name: f"{name}@ever" if self.by_state else name for name in given}
        backend.declare({name: replace(schemas[each], relation=name) for each, name in self._names.items()})
        self.by_chains = tuple(Followed(each, tuple(self._could_use(each))) for each in told)
        self.could = [plan for each in self.by_chains for _, plan in each.could]
        self.followed = frozenset(name for each in self.by_chains for name, _ in each.could)
        self.only_joins = all(_is_join(each.plans.body) for each in self.by_chains)
        self._late: dict[str, Membership] = {}
        self._late_rows: dict[str, list[Rows]] = {name: [] for name in given}
        for relation, name in self._names.items():
            if name != relation:
                facts = backend.facts(relation)
                backend.exchange(name, facts, facts.none())
            if relation in gone and len(gone[relation]):
                backend.exchange(name, gone[relation], gone[relation].none())

    def add(self, relation: str, facts: FactSet) -> int:
        """Adds facts, some of which may be known; how many were new."""
        name = self._names[relation]
        new = self._backend.unknown(name, facts)
        if len(new):
            self._backend.exchange(name, new, new.none())
            late = self._late.setdefault(relation, membership_for(self._no_rows(relation).shape[1]))
            rows = ids_of(new)
            late.add(rows, np.empty((len(new) + 1, rows.shape[1]), np.int32), 0)
            self._late_rows[relation].append(rows)
        return len(new)

    def was_always_there(self, relation: str, rows: Rows) -> Flags:
        """Which facts, none of which has a chain, are there in all iterations: those that no news brought."""
        is_there = are_stored(self._backend, self._names[relation], rows)
        return is_there & ~self._late[relation].contains(rows) if relation in self._late else is_there

    def rows(self, relation: str) -> Rows:
        """All of them."""
        return ids_of(self._backend.facts(self._names[relation]))

    def late(self, relation: str) -> Rows:
        """The facts that came with late news."""
        return np.concatenate([self._no_rows(relation), *self._late_rows[relation]])

    def _no_rows(self, relation: str) -> Rows:
        return np.empty((0, max(1, self._schemas[relation].arity)), np.int32)

    def _could_use(self, plans: Derivations) -> Iterator[tuple[str, RulePlan]]:
        known = {**self._schemas, plans.relation: plans.schema}
        for relation, name in self._names.items():
            known |= {each: replace(self._schemas[relation], relation=each) for each in (name, changed(relation))}
        head = Atom(plans.relation, tuple(Variable(name) for name in plans.schema.names), plans.rule.span)
        rule = plans.rule
        for place in plans.body:
            if isinstance(place, Atom | Negation):
                atom = place.atom if isinstance(place, Negation) else place
                body = tuple(self._with_marked(plans.body, place))
                simple = SimpleRule(rule.id, head, body, plans.kinds, rule.span, rule.text)
                plan = optimized([lower_rule(simple, known)], known)[0]
                yield atom.relation, over_marked(plan, changed(atom.relation))

    def _with_marked(self, body: Sequence[Literal], place: Atom | Negation) -> Iterator[Literal]:
        """The body where the fact at `place` is marked, the others were there at some time, and nothing is negated."""
        for literal in body:
            match literal:
                case Atom(relation=relation):
                    name = changed(relation) if literal is place else self._names[relation]
                    yield replace(literal, relation=name)
                case Negation():
                    pass
                case _:
                    yield literal
        if isinstance(place, Negation):
            yield replace(place.atom, relation=changed(place.atom.relation))


def _chains_tell(plans: Derivations, schemas: Mapping[str, Schema], given: frozenset[str]) -> bool:
    """Whether all that derivations use is facts with chains: nothing derived or aggregated, no `!p(x, _)`."""
    return not plans.aggregated and all(
        flip.relation in given and len(flip.columns) == schemas[flip.relation].arity for flip in plans.flips
    )


def _is_join(body: Sequence[Literal]) -> bool:
    """Whether a fact at any place of a body is joined with one other at most, and nothing is computed or compared."""
    atoms = sum(isinstance(literal, Atom) for literal in body)
    negations = sum(isinstance(literal, Negation) for literal in body)
    return atoms + negations == len(body) and atoms + min(1, negations) <= 2
