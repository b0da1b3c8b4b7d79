"""What rules ask for together when they fire for all their instances: takes rules in motion, returns the net effect.

The output token relations of Fabret, Regnier and Simon 1993, section 5: firing empties them, so that they need not be
kept, and their next value comes from what has changed. Where an insertion and a deletion of one fact cancel each other
they are not emptied by that: such facts are remembered, and asked about again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tidelog.analysis.checked import ProductionRule, SignedHead
from tidelog.backends.protocol import Facts
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.production.network.alternative import Alternative
from tidelog.production.network.difference_plans import since
from tidelog.production.network.matching import Matcher, union
from tidelog.production.network.way_plans import undone_by
from tidelog.production.semantics import Asked, nets_of


class Together:
    """Alternatives of rules that fire together, and the facts that they both insert and delete."""

    def __init__(self, alternatives: Sequence[Alternative], matcher: Matcher) -> None:
        self._alternatives = alternatives
        self._matcher = matcher
        self._backend = matcher.backend
        self._heads = [(each, head) for each in alternatives for head in each.rule.heads]
        signs: dict[str, set[Sign]] = defaultdict(set)
        for _, head in self._heads:
            signs[head.atom.relation].add(head.sign)
        self._none = {relation: self._backend.facts(relation).none() for relation in signs}
        self._contested = [relation for relation, some in signs.items() if len(some) > 1]
        self._cancelled: dict[str, Facts] = {}
        self._asked: dict[tuple[str, Sign], list[tuple[ProductionRule, Facts]]] = defaultdict(list)

    def net_effect(self) -> Mapping[str, Net]:
        """What they ask for that is not so yet."""
        self._asked.clear()
        are_all = [self._ask(alternative) for alternative in self._alternatives]
        if not all(are_all):
            for relation in self._contested:
                self._ask_both_ways(relation)
        asked: dict[str, Asked] = {}
        for (relation, sign), some in self._asked.items():
            asked.setdefault(relation, Asked(self._none[relation])).take(sign, union([facts for _, facts in some]))
        for relation in self._contested:
            self._cancelled[relation] = asked[relation].cancelled() if relation in asked else self._none[relation]
        return nets_of(asked, self._backend)

    def rules_asking(self, relation: str, sign: Sign, facts: Facts) -> tuple[str, ...]:
        """The names of the rules that asked for some of `facts`, which came or went by that."""
        some = self._asked[relation, sign]
        names = dict.fromkeys(rule.name for rule, _ in some)
        if len(names) > 1:
            names = dict.fromkeys(rule.name for rule, asked in some if len(facts.minus(asked)) < len(facts))
        return tuple(names)

    def _ask(self, alternative: Alternative) -> bool:
        """Adds what an alternative asks for; whether that is all of it, or only what it did not ask for last time."""
        with alternative.measured():
            way = alternative.way
            changes = way.changes()
            asked, matcher = alternative.match.asked, self._matcher
            found = [matcher.found_parts(way.plans.all(), asked.parts)] if changes is None else []
            for trigger, facts in changes or ():
                plans = way.plans.gained(trigger)
                found.append(matcher.found_parts_from(since(trigger.relation), facts, plans, asked.parts))
            for head, *some in zip(asked.heads, *filter(None, found), strict=True) if any(found) else ():
                self._asked[head.relation, head.sign].append((alternative.rule, union(some)))
            for trigger, facts in changes or ():
                for head in alternative.rule.heads:
                    if undone_by(head.sign, head.atom.relation) == trigger:
                        self._ask_about(alternative, head, facts)
            return changes is None

    def _ask_about(self, alternative: Alternative, head: SignedHead, facts: Facts) -> None:
        """Adds those of `facts` that an instance asks for by this head."""
        plans = alternative.way.plans.asking(head.atom)
        for relation, asked in self._matcher.found_from(since(head.atom.relation), facts, plans).items():
            self._asked[relation, head.sign].append((alternative.rule, asked))

    def _ask_both_ways(self, relation: str) -> None:
        """Asks who else inserts or deletes the facts in question."""
        in_question = [facts for sign in Sign for _, facts in self._asked.pop((relation, sign), ())]
        facts = union([self._cancelled.get(relation, self._none[relation]), *in_question])
        for alternative, head in self._heads:
            if head.atom.relation == relation:
                with alternative.measured():
                    self._ask_about(alternative, head, facts)
