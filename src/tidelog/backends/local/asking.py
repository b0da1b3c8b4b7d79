"""Plans that ask about marked facts: which heads they find, and which of the facts have a derivation.

Those that have taken long are answered by generated code, one pass over the marked facts for each plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter

import numpy as np

from tidelog.backends.local.bodies import Bodies
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.operands import bind
from tidelog.backends.local.pushing import PushedCode, asking_code_of, code_of
from tidelog.backends.local.sinks import sink_for
from tidelog.backends.local.sources import ScanSource
from tidelog.backends.local.store import Store
from tidelog.backends.local.tiers import PATIENCE_WITH_CHANGES, Tiers
from tidelog.backends.local.translate import survivors
from tidelog.backends.protocol import Part, Tier, Watch, unwatched
from tidelog.codegen.operands import Asked, RowNumbers
from tidelog.codegen.push_rule import Sharing
from tidelog.facts.fact_set import FactSet, Gathering
from tidelog.facts.membership import Rows, chosen, passing_membership
from tidelog.facts.numbering import PairNumbers
from tidelog.facts.relation import Relation
from tidelog.plan.nodes import RulePlan

_FEW_MATCHES = ((64, 2), (1024, 8))
"""Facts from which on a derivation is first looked for among so many matches of each join: one is enough."""

_AT_ONCE = 1 << 14
"""Facts that are asked about in one call: it cannot be watched meanwhile."""

_ROOM = 1 << 14
"""Rows that code may find before the set of them grows."""

_ROWS = 1 << 17
"""Rows that code may write before it needs other memory than the last time: fresh memory for each question takes longer
than most answers."""


class Questions:
    """Answers by plans over what is stored and marked."""

    def __init__(self, store: Store, tier: Tier, bodies: Bodies) -> None:
        self._store = store
        self._bodies = bodies
        self._askers = Tiers(store, tier, Sharing.ALONE, asking_code_of)
        self._codes: dict[int, tuple[RulePlan, PushedCode | None]] = {}
        self._finders = Tiers(store, tier, Sharing.ALONE, code_of)
        self._rooms: dict[str, Rows] = {}

    def catch_up(self, rules: Sequence[RulePlan]) -> None:
        """Makes ready what the plans look up."""
        self._codes = {id(rule): (rule, self.code(rule)) for rule in rules}
        for rule, code in self._codes.values():
            if code is None:
                self._bodies.of(rule).catch_up(Evaluation(self._store, rule, survivors))
            else:
                code.catch_up(self._store)

    def code(self, rule: RulePlan) -> PushedCode | None:
        """The code by which a plan is to be run now, if there is some."""
        code = self._askers.code(rule)
        if code is None and rule.head in self._store.relations:  # the heads of some plans are no relation
            code = self._finders.code(rule)
        return code if code is not None and fits(code, self._store) else None

    def _ready_code(self, rule: RulePlan) -> PushedCode | None:
        """The code that was made ready last for a plan."""
        known, code = self._codes.get(id(rule), (None, None))
        return code if known is rule else None

    def collect(self, rules: Sequence[RulePlan], watch: Watch) -> Mapping[str, FactSet]:
        """What each plan derives, by head."""
        pushed: dict[str, _Found] = {}
        others = []
        for rule in rules:
            code = self._ready_code(rule)
            if code is None or code.asks:
                others.append(rule)
                continue
            if rule.head not in pushed:
                pushed[rule.head] = self._nothing_found(rule.head)
            self._push(code, Evaluation(self._store, rule, survivors, watch), pushed[rule.head])
        answers = self._collect_in_batches(others, watch) if others else {}
        for head, found in pushed.items():
            if facts := found.facts():
                answers[head] = facts.union(answers[head]) if head in answers else facts
        return answers

    def _nothing_found(self, head: str) -> _Found:
        arity = self._store.relations[head].arity
        if head not in self._rooms:
            self._rooms[head] = np.empty((_ROWS, max(1, arity)), np.int32)
        return _Found(arity, self._rooms[head])

    def _push(self, code: PushedCode, evaluation: Evaluation, found: _Found) -> None:
        """Adds what a plan derives by its code."""
        code.catch_up(self._store)
        code.run_into(found.sink, evaluation, partial(self._find_from, evaluation, found.relation))
        found.relation.settle()

    def _find_from(self, evaluation: Evaluation, found: Relation, begin: int, end: int) -> None:
        """Adds what a plan derives from some of the rows that it starts from, as batches."""
        body = self._bodies.of(evaluation.rule)
        body.catch_up(evaluation)
        body.prepare(evaluation)
        assert isinstance(body.source, ScanSource)
        for rows in body.run(body.source.part(evaluation, begin, end), evaluation):
            found.stage(rows)

    def _collect_in_batches(self, rules: Sequence[RulePlan], watch: Watch) -> dict[str, FactSet]:
        found: dict[str, Gathering] = {}
        started = perf_counter()
        for rule in rules:
            self._gather(rule, watch, None, found)
        # What is asked together is compiled together.
        seconds = perf_counter() - started
        for rule in rules:
            if rule.head in self._store.relations:
                self._finders.note(rule, seconds, PATIENCE_WITH_CHANGES)
        return {head: gathered.facts() for head, gathered in found.items()}

    def _gather(self, rule: RulePlan, watch: Watch, most_matches: int | None, found: dict[str, Gathering]) -> None:
        """Adds what a plan derives; with `most_matches` from no more matches of a row in each join than that."""
        for rows in self._found(Evaluation(self._store, rule, survivors, watch, most_matches=most_matches)):
            watch(rule, rows.shape[0])
            if rows.shape[0]:
                found.setdefault(rule.head, Gathering()).add(rows)

    def collect_parts(self, rules: Sequence[RulePlan], parts: Sequence[Part]) -> tuple[FactSet, ...]:
        """The different rows of each part of what the plans derive; nothing where they derive nothing."""
        found = [(Gathering(), part) for part in parts]
        for rule in rules:
            for rows in self._found(Evaluation(self._store, rule, survivors)):
                for gathered, part in found if rows.shape[0] else ():
                    for columns in part:
                        gathered.add_columns(rows, columns)
        return tuple(gathered.facts() for gathered, _ in found) if found[0][0] else ()

    def _found(self, evaluation: Evaluation) -> Iterator[Rows]:
        """The rows that a plan derives, some at a time; they are good until the next are asked for."""
        body = self._bodies.of(evaluation.rule)
        if self._ready_code(evaluation.rule) is not None:
            body.catch_up(evaluation)  # only its code was made ready
        body.prepare(evaluation)
        return body.run(body.source.morsels(evaluation), evaluation)

    def unsupported(self, relation: str, rules: Sequence[RulePlan], watch: Watch = unwatched) -> FactSet:
        """The marked facts of `relation` that none of the plans derives."""
        codes = [(rule, code) for rule in rules if (code := self._ready_code(rule)) is not None and code.asks]
        evaluations = [(code, Evaluation(self._store, rule, survivors, watch)) for rule, code in codes]
        facts = unanswered(evaluations, relation, self._store)
        others = [rule for rule in rules if all(rule is not known for known, _ in codes)]
        started = perf_counter()
        for many, most in (*_FEW_MATCHES, (1, None)):
            if others and len(facts) >= many:
                self._store.marked[relation] = facts
                found: dict[str, Gathering] = {}
                for rule in others:
                    self._gather(rule, watch, most, found)
                facts = facts.minus(found[relation].facts()) if relation in found else facts
        for rule in others:
            self._askers.note(rule, perf_counter() - started, PATIENCE_WITH_CHANGES)
        return facts


class _Found:
    """The rows that code finds of a head, each once; they are written to `room` as long as they have room there."""

    def __init__(self, arity: int, room: Rows) -> None:
        self.relation = Relation(arity, membership=passing_membership(max(1, arity), _ROOM))
        self.relation.rows = room
        self.sink = sink_for(self.relation)

    def facts(self) -> FactSet | None:
        """All of them; None where there are none."""
        count = self.relation.count
        return FactSet(self.relation.rows[:count].copy(), self.relation.membership) if count else None


def unanswered(questions: Sequence[tuple[PushedCode, Evaluation]], relation: str, store: Store) -> FactSet:
    """The marked facts of `relation` for which none of the questions finds a derivation."""
    facts = store.marked[relation]
    if not questions:
        return facts
    numbered = Asked(relation, is_numbered=True)
    rows, numbers = np.ascontiguousarray(facts.rows), np.empty(0, np.int32)
    if any(numbered in code.rule.operands for code, _ in questions):
        rows, numbers = store.numbered_marked(relation)
    answered = np.zeros(rows.shape[0], np.uint8)
    for code, evaluation in questions:
        code.catch_up(store)
        lent = (rows, answered, numbers) if numbered in code.rule.operands else (rows, answered)
        arguments = bind(code.rule.operands, evaluation, lent, code.interned)
        for begin in range(0, rows.shape[0], _AT_ONCE):
            end = min(rows.shape[0], begin + _AT_ONCE)
            code.kernel(*arguments, begin, end)
            evaluation.watch(evaluation.rule, end - begin)
    left = answered == 0
    return facts if left.all() else FactSet(chosen(rows, left))


def fits(code: PushedCode, store: Store) -> bool:
    """Whether what finds the numbers of rows, made now if need be, has the form that the code is written for."""
    return all(
        isinstance(store.relations[operand.relation].numbering, PairNumbers) == operand.is_array
        for operand in code.rule.operands
        if isinstance(operand, RowNumbers)
    )
