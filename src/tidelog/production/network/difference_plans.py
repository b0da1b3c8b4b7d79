"""Takes a conjunction of a production rule, returns plans that follow it: from rows that came or went to its rows.

Formula (1) of Fabret, Regnier and Simon 1993, section 4.1, for what is lost; what is gained is asked of all literals,
as they are now. Plans are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tidelog.analysis.checked import ProductionRule, SimpleRule
from tidelog.analysis.traversal import own_names
from tidelog.language.syntax_tree import Atom, Literal, Sign, Wildcard
from tidelog.plan.lower import lower_rule
from tidelog.plan.nodes import RulePlan
from tidelog.plan.retention.expressions import Occurrence, body_expression
from tidelog.production.network.since import Trigger
from tidelog.production.rule_plans import optimized, over_marked
from tidelog.schema import Schema


class DifferencePlans:
    """Plans about `head`, whose rows are those that make `body` hold, on the variables of `head`.

    `gaining` and `losing` are the changes by which it may gain and lose rows; of `opaque` relations, which aggregates
    read, nothing can be followed. It `is_exact` when each row stands for one choice of rows of the literals.
    """

    def __init__(
        self, rule: ProductionRule, head: Atom, body: Sequence[Literal], schemas: Mapping[str, Schema]
    ) -> None:
        self._rule = rule
        self._head = head
        self._body = tuple(body)
        self._schemas = schemas
        self._plans: dict[object, tuple[RulePlan, ...]] = {}
        expression = body_expression(body)
        self._occurrences = expression.occurrences
        self.opaque = expression.grouped
        self.gaining = frozenset(gains_by(each) for each in self._occurrences)
        self.losing = frozenset(loses_by(each) for each in self._occurrences)
        atoms = [each.atom for each in self._occurrences if not each.is_negated]
        has_wildcards = any(isinstance(term, Wildcard) for atom in atoms for term in atom.arguments)
        self.is_exact = not has_wildcards and own_names(atoms) <= own_names([head])

    def all(self) -> tuple[RulePlan, ...]:
        """All rows."""
        return self._known("all", lambda: [(self._head, self._body)])

    def gained(self, trigger: Trigger) -> tuple[RulePlan, ...]:
        """Rows that hold by what came or went: the marked rows of `since(trigger.relation)`."""
        return self._known(
            ("gained", trigger),
            lambda: [
                (self._head, [marked(each.atom), *(literal for literal in self._body if literal is not each.atom)])
                for each in self._occurrences
                if gains_by(each) == trigger
            ],
        )

    def touched(self, trigger: Trigger) -> tuple[RulePlan, ...]:
        """Stored rows that no longer hold by what came or went; if it is not exact, some of these may still hold."""
        return self._known(
            ("touched", trigger),
            lambda: [
                (self._head, [marked(each.atom), self._head]) for each in self._occurrences if loses_by(each) == trigger
            ],
        )

    def with_row(self, atom: Atom) -> tuple[RulePlan, ...]:
        """Rows that go with marked rows of `atom`, whose variables the body binds."""
        return self._known(("row", atom), lambda: [(self._head, [marked(atom), *self._body])])

    def asking(self, atom: Atom) -> tuple[RulePlan, ...]:
        """Those marked rows of `atom` for which the body holds."""
        return self._known(("asking", atom), lambda: [(atom, [marked(atom), *self._body])])

    def stored_with_row(self, atom: Atom) -> tuple[RulePlan, ...]:
        """Stored rows that go with marked rows of `atom`."""
        return self._known(("stored", atom), lambda: [(self._head, [marked(atom), self._head])])

    def holding(self) -> tuple[RulePlan, ...]:
        """Those marked rows that hold."""
        return self._known("holding", lambda: [(self._head, [marked(self._head), *self._body])])

    def _known(self, key: object, make: Callable[[], Iterable[tuple[Atom, Sequence[Literal]]]]) -> tuple[RulePlan, ...]:
        if key not in self._plans:
            self._plans[key] = tuple(self._plan(head, body) for head, body in make())
        return self._plans[key]

    def _plan(self, head: Atom, body: Sequence[Literal]) -> RulePlan:
        rule = self._rule
        simple = SimpleRule(rule.id, head, tuple(body), rule.kinds, rule.span, rule.text)
        (plan,) = optimized([lower_rule(simple, self._schemas)], self._schemas)
        for literal in body:
            if isinstance(literal, Atom) and literal.relation.endswith(_SINCE):
                plan = over_marked(plan, literal.relation)
        return plan


_SINCE = "@since"


def since(relation: str) -> str:
    """The name under which rows of `relation` that came or went are marked."""
    return f"{relation}{_SINCE}"


def marked(atom: Atom) -> Atom:
    """`atom`, read from what is marked."""
    return replace(atom, relation=since(atom.relation))


def with_marked(schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """`schemas` with those of the relations under which rows are marked."""
    return {**schemas, **{since(name): replace(schema, relation=since(name)) for name, schema in schemas.items()}}


def gains_by(occurrence: Occurrence) -> Trigger:
    return Trigger(occurrence.atom.relation, Sign.DELETE if occurrence.is_negated else Sign.INSERT)


def loses_by(occurrence: Occurrence) -> Trigger:
    return Trigger(occurrence.atom.relation, Sign.INSERT if occurrence.is_negated else Sign.DELETE)
