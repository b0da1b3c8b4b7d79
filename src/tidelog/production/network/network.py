"""The network of a run: takes production rules, returns what each would do, from what is retained for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.backends.protocol import Backend, Facts
from tidelog.language.syntax_tree import Atom, Sign
from tidelog.maintain.journal import Net
from tidelog.plan.nodes import Version
from tidelog.plan.retention.network import Node, Retention
from tidelog.production.firing import Switch
from tidelog.production.network.alternative import Alternative
from tidelog.production.network.by_instances import Firable
from tidelog.production.network.difference_plans import DifferencePlans
from tidelog.production.network.in_sets import Together
from tidelog.production.network.matching import Matcher
from tidelog.production.network.retained_join import RetainedJoin
from tidelog.production.network.way_plans import plans_of_way
from tidelog.production.prepared import AlternativePlans, Prepared
from tidelog.production.rule_plans import Match, RuleMatches

SELECTIVE = 0.5
"""The share of a relation's rows that a selection may have at most to be retained."""


class Network:
    """What is retained for each rule. Changes are noted, and brought in when a rule is tried."""

    def __init__(self, prepared: Prepared, backend: Backend) -> None:
        self._matcher = Matcher(backend, prepared.schemas, prepared.orders)
        plans = [*prepared.alternatives.values()]
        if prepared.retention is Retention.ATREAT:
            plans = [self._with_selective_ways(each, prepared) for each in plans]
        self._of_match = {each.match.relation: Alternative(each, self._matcher) for each in plans}
        self._together: dict[tuple[int, ...], Together] = {}
        self._firable: dict[str, Firable] = {}
        self.switches: list[Switch] = []

    def note(self, nets: Mapping[str, Net]) -> None:
        """Takes note of what came and went."""
        for alternative in self._of_match.values():
            alternative.note(nets)

    def together(self, rules: Sequence[RuleMatches]) -> Together:
        """These rules, which always fire together, for all their instances."""
        ids = tuple(rule.rule.id for rule in rules)
        if ids not in self._together:
            some = [self._of_match[match.relation] for rule in rules for match in rule.matches]
            self._together[ids] = Together(some, self._matcher)
        return self._together[ids]

    def net_effect(self, rules: Sequence[RuleMatches]) -> Mapping[str, Net]:
        """What all instances of these rules change together."""
        nets = self.together(rules).net_effect()
        self._end_try([self._of_match[match.relation] for rule in rules for match in rule.matches])
        return nets

    def rules_asking(
        self, rules: Sequence[RuleMatches], nets: Mapping[str, Net]
    ) -> Mapping[tuple[str, Sign], tuple[str, ...]]:
        """The names of those of these rules that asked for what came and went by `nets`, what they change together."""
        if len(rules) == 1:
            only = (rules[0].rule.name,)
            return {(name, sign): only for name in nets for sign in Sign}
        together = self.together(rules)
        signed = [(name, sign, net) for name, net in nets.items() for sign in Sign]
        return {
            (name, sign): together.rules_asking(name, sign, net.came if sign is Sign.INSERT else net.went)
            for name, sign, net in signed
        }

    def firable(self, rule: RuleMatches) -> Iterator[tuple[Match, Facts]]:
        """The instances of each alternative that change something by themselves, for those that have some."""
        for match in rule.matches:
            alternative = self._of_match[match.relation]
            if match.relation not in self._firable:
                self._firable[match.relation] = Firable(alternative, self._matcher)
            firable = self._firable[match.relation].instances()
            self._end_try([alternative])
            if len(firable):
                yield match, firable

    def effects(self, match: Match, instances: Facts) -> Iterator[tuple[str, Sign, Facts]]:
        """What these instances ask for."""
        asked = match.asked
        found = self._matcher.found_parts_from(match.relation, instances, match.asking, asked.parts)
        for head, facts in zip(asked.heads, found, strict=True):
            yield head.relation, head.sign, facts

    def instances(self, rule: RuleMatches) -> tuple[tuple[Match, Facts], ...]:
        """The instances of each alternative that has some."""
        found = ((match, self._of_match[match.relation].instances()) for match in rule.matches)
        return tuple((match, facts) for match, facts in found if len(facts))

    def holding(self, match: Match, instances: Facts) -> Facts:
        """Those of `instances` that hold."""
        return self._of_match[match.relation].holding(instances)

    def rows(self) -> int:
        """How many rows are retained."""
        return sum(alternative.rows for alternative in self._of_match.values())

    def _end_try(self, alternatives: Sequence[Alternative]) -> None:
        self.switches += [switch for each in alternatives if (switch := each.end_try()) is not None]

    def _with_selective_ways(self, plans: AlternativePlans, prepared: Prepared) -> AlternativePlans:
        """`plans` with those selections that have few of the rows of their relations; the others are virtual."""
        ways = []
        for each in plans.ways:
            nodes = zip(each.way.nodes, each.joins, strict=True)
            way = each.way.without([node for node, of_node in nodes if not self._is_selective(node, of_node)])
            ways.append(plans_of_way(way, plans.rule, plans.match, prepared.semantics, prepared.schemas))
        return replace(plans, ways=tuple(ways))

    def _is_selective(self, node: Node, plans: DifferencePlans) -> bool:
        selection = RetainedJoin(node, plans, self._matcher)
        selection.follow()
        rows = selection.rows
        selection.drop()
        (relation,) = (literal.relation for literal in node.rule.body if isinstance(literal, Atom))
        return rows <= SELECTIVE * self._matcher.backend.statistics().rows(relation, Version.FULL)
