"""Keeps derived facts true after a change: DRed^c-Mod (Hu, Motik and Horrocks 2019, algorithm 3), stratum by stratum.

For each stratum: facts that lost a derivation are in doubt; those without another one are deleted, and put those that
were derived from them in doubt; what was deleted and has another derivation after all comes back; then what follows
from new facts is added. What came and went in a stratum is told to the strata above it.

Two strategies answer whether a fact in doubt has another derivation. DRED looks only at rules that use nothing of the
stratum, so it deletes too much and brings it back. BACKWARD_FORWARD also accepts a derivation from facts that came
before the fact itself: such derivations cannot go round in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from tidelog.backends.protocol import Backend, Facts, Watch
from tidelog.maintain.budget import Budget, InVain, OverBudget
from tidelog.maintain.journal import Journal, Net
from tidelog.maintain.materialize import Run
from tidelog.maintain.ordering import joined
from tidelog.maintain.protocol import Strategy
from tidelog.maintain.rule_changes import derives
from tidelog.plan.nodes import ClosedRelation, RulePlan, StratumPlan, Version
from tidelog.plan.update_rules import Questionnaire, Sign, StratumQuestions

BUDGET = 0.2
"""What an update may spend on asking about a stratum before it is derived anew, as a share of what that takes."""

MUCH = 0.1
"""The share of a relation from which on it is not followed what is lost with it."""

MUCH_NEWS = 0.4
"""The share of a relation from which on it is not followed what comes with it."""

DOUBTFUL = 0.05
"""The share of a stratum's facts that may be in doubt at first: what depends on them comes on top."""

MANY_FACTS = 1024
"""Facts from which on it pays to ask in several steps."""

SOME_FACTS = 512
"""Facts up to which a change is asked about whatever became of the last one."""


@dataclass(slots=True)
class Pending:
    """What lower strata have told a stratum: facts in doubt, groups that changed, and what came and went."""

    doubted: dict[str, Facts] = field(default_factory=dict)
    groups: dict[str, Facts] = field(default_factory=dict)
    news: list[tuple[str, Net]] = field(default_factory=list)
    must_start_over: bool = False
    has_other_rules: bool = False

    def __bool__(self) -> bool:
        return bool(self.doubted or self.groups or self.news or self.must_start_over)


class Update:
    """One change on its way through the strata.

    Relations that are `distrusted` have facts that are younger than what was derived from them: their strata are
    derived anew. `in_vain` remembers, for each stratum, what it was like when a change could not be followed.
    """

    def __init__(
        self,
        backend: Backend,
        questionnaire: Questionnaire,
        run: Run,
        journal: Journal,
        strategy: Strategy,
        distrusted: frozenset[str],
        in_vain: dict[int, InVain],
    ) -> None:
        self._backend = backend
        self._questions = questionnaire.strata
        self._readers = questionnaire.readers
        self._run = run
        self._journal = journal
        self._strategy = strategy
        self._pending = [Pending() for _ in self._questions]
        self._distrusted = distrusted
        self._in_vain = in_vain
        self.derived_anew: frozenset[str] = frozenset()
        self._budgets: dict[int, Budget] = {}
        self._changed: dict[int, int] = {}

    def apply(self, change: Mapping[str, Net], anew: Set[int] = frozenset()) -> None:
        """Makes everything true after `change` of relations that no rule derives; strata `anew` have other rules."""
        for number in anew:
            self._pending[number].must_start_over = self._pending[number].has_other_rules = True
        for relation, net in change.items():
            if len(net.came):
                self._journal.store(relation, net.came)
        self._tell_what_went(change, 0)
        for relation, net in change.items():
            if len(net.went):
                self._journal.remove(relation, net.went)
        self._tell_news(change, 0)
        for number, questions in enumerate(self._questions):
            if self._pending[number]:
                self._tell(self._stratum(number, questions, self._pending[number]), number + 1)

    def start_over(self, change: Mapping[str, Net]) -> None:
        """As `apply`, by deriving everything anew."""
        for relation, net in change.items():
            self._journal.store(relation, net.came)
            self._journal.remove(relation, net.went)
        for number, questions in enumerate(self._questions):
            # What nothing derives are facts of the text.
            if derives(questions.stratum):
                self._start_over(number, questions)

    def _tell(self, change: Mapping[str, Net], above: int) -> None:
        """Tells the strata from `above` on what came and went in one below, where all of that is stored already."""
        if not change:
            return
        # Whoever joins two facts that went must find each of them beside the other.
        is_joined = self._questions[above - 1].is_joined_with_itself
        gone = {relation: net.went for relation, net in change.items() if len(net.went) and is_joined}
        for relation, facts in gone.items():
            self._backend.exchange(relation, facts, facts.none())
        self._tell_what_went(change, above)
        for relation, facts in gone.items():
            self._backend.exchange(relation, facts.none(), facts)
        self._tell_news(change, above)

    def _tell_what_went(self, change: Mapping[str, Net], above: int) -> None:
        """Puts facts in doubt that a derivation is lost of. All facts that came and all that went are stored now."""
        for number, many in self._may_lose(change, above).items():
            self._changed[number] = self._changed.get(number, 0) + many
            pending = self._pending[number]
            # Being ruled out makes up for what was tried in vain: once for each change.
            pending.must_start_over = pending.must_start_over or self._was_in_vain(number)
        for relation, net in change.items():
            for number in self._concerned(relation, above):
                try:
                    self._tell_stratum_what_went(relation, net, number)
                except OverBudget:
                    self._pending[number].must_start_over = True

    def _may_lose(self, change: Mapping[str, Net], above: int) -> dict[int, int]:
        """The strata from `above` on that may lose something by a change, and of how many facts that is a matter."""
        found: dict[int, int] = {}
        for relation, net in change.items():
            for sign, facts in _signed(net):
                for number in self._concerned(relation, above):
                    if (relation, sign) in self._questions[number].lost:
                        found[number] = found.get(number, 0) + len(facts)
        return found

    def _was_in_vain(self, number: int) -> bool:
        """Whether it is known that so many facts have changed that asking what is lost with them is in vain."""
        known = self._in_vain.get(number)
        if known is None or self._changed[number] <= SOME_FACTS or self._budget(number).seconds == inf:
            return False
        return known.rules_out_change(self._changed[number], self._run.seconds[number + 1])

    def _concerned(self, relation: str, above: int) -> Iterator[int]:
        """The numbers of the strata from `above` on to which a change of `relation` matters."""
        return (number for number in self._readers.get(relation, ()) if number >= above)

    def _tell_stratum_what_went(self, relation: str, net: Net, number: int) -> None:
        questions, pending = self._questions[number], self._pending[number]
        pending.must_start_over |= relation in questions.opaque
        for sign, facts in _signed(net):
            lost = questions.lost.get((relation, sign), ())
            groups = questions.changed_groups.get(relation, ())
            if (lost or groups) and not pending.must_start_over:
                pending.must_start_over = self._is_much(relation, facts, MUCH, number)
            if not pending.must_start_over:
                _add_all(pending.doubted, self._ask(relation, facts, lost, number))
                _add_all(pending.groups, self._ask(relation, facts, groups, number))

    def _budget(self, number: int) -> Budget:
        """What may be spent on following a change in a stratum."""
        if number not in self._budgets:
            self._budgets[number] = Budget(BUDGET * self._run.seconds.get(number + 1, inf), self._backend.effort)
        return self._budgets[number]

    def _is_much(self, relation: str, facts: Facts, share: float, number: int) -> bool:
        """Whether more than that share of a relation changed, so that deriving a stratum anew is sure to be quicker."""
        if len(facts) <= share * MANY_FACTS or self._budget(number).seconds == inf:
            return False
        return len(facts) > share * self._backend.statistics().rows(relation, Version.FULL)

    def _tell_news(self, change: Mapping[str, Net], above: int) -> None:
        for relation, net in change.items():
            for number in self._concerned(relation, above):
                self._pending[number].news.append((relation, net))

    def _stratum(self, number: int, questions: StratumQuestions, pending: Pending) -> Mapping[str, Net]:
        """What came and went in a stratum."""
        closed = questions.stratum.closed
        if pending.must_start_over:
            self._start_over(number, questions)
        elif closed is not None:
            for _, net in pending.news:
                self._journal.close(closed, net.came, net.went)
        elif self._is_better_derived(questions, pending, number):
            self._start_over(number, questions)
        else:
            try:
                self._follow(questions, pending, number)
            except OverBudget:
                self._start_over(number, questions)
        nets = self._journal.nets
        return {relation: nets[relation] for relation in questions.stratum.relations if relation in nets}

    def _follow(self, questions: StratumQuestions, pending: Pending, number: int) -> None:
        for module in questions.stratum.modules:
            self._journal.uses(module)
        for relation, groups in pending.groups.items():
            regrouping = questions.regroupings[relation]
            lost = self._ask(relation, groups, regrouping.lost, number)
            if regrouping.support is None:
                _add_all(pending.doubted, lost)
            else:
                self._forget(lost, regrouping.support, questions, number)
        many = sum(map(len, pending.doubted.values()))
        if questions.older and self._is_hopeless(questions, many, number):
            raise OverBudget
        began = self._backend.effort()
        try:
            deleted = self._delete(questions, pending.doubted, number)
        except OverBudget:
            self._in_vain[number] = InVain(self._changed.get(number, 0), many, self._backend.effort() - began)
            raise
        self._insert(questions, pending, deleted, number)

    def _forget(self, heads: Mapping[str, Facts], support: RulePlan, questions: StratumQuestions, number: int) -> None:
        """Deletes heads of changed groups, unless others than the rule that will derive all of them again do so."""
        for relation, facts in self._stored(heads).items():
            others = [question for question in questions.outside[relation] if question is not support]
            gone = self._unsupported(relation, facts, others, number)
            if len(gone):
                self._journal.remove(relation, gone)

    def _cannot_follow(self, stratum: StratumPlan) -> bool:
        return self._run.is_limited(stratum) or not self._distrusted.isdisjoint(stratum.relations)

    def _is_better_derived(self, questions: StratumQuestions, pending: Pending, number: int) -> bool:
        """Whether a stratum cannot be followed, or to derive all of it is no more work."""
        return (
            self._has_much_news(pending, number)
            or self._cannot_follow(questions.stratum)
            or self._is_first(questions, pending)
        )

    def _has_much_news(self, pending: Pending, number: int) -> bool:
        """Whether so much came that deriving everything is no more work than deriving what is new."""
        return any(self._is_much(relation, net.came, MUCH_NEWS, number) for relation, net in pending.news)

    def _is_first(self, questions: StratumQuestions, pending: Pending) -> bool:
        """Whether no rule of a stratum could derive anything before, because it joins with a relation that had no rows:
        what it derives from all rows then is what it gains, asked once and not for each relation that has news.

        Not with aggregates: all groups would be computed, where only some are joined with what came.
        """
        stratum, statistics = questions.stratum, self._backend.statistics()
        if questions.has_aggregates or any(statistics.rows(relation, Version.FULL) for relation in stratum.relations):
            return False
        came = {relation: len(net.came) for relation, net in pending.news}
        return all(
            any(statistics.rows(name, Version.FULL) == came.get(name, 0) for name, _ in joined(rule.node))
            for rule in (*stratum.given, *stratum.once, *stratum.first)
        )

    def _is_hopeless(self, questions: StratumQuestions, many: int, number: int) -> bool:
        """Whether so many facts are in doubt that asking about them takes longer than deriving all of them."""
        if many <= MANY_FACTS or self._budget(number).seconds == inf:
            return False
        if number in self._in_vain and self._in_vain[number].rules_out(many, self._run.seconds[number + 1]):
            return True
        statistics = self._backend.statistics()
        return many > DOUBTFUL * sum(statistics.rows(name, Version.FULL) for name in questions.stratum.relations)

    def _delete(self, questions: StratumQuestions, doubted: Mapping[str, Facts], number: int) -> dict[str, Facts]:
        """Deletes the doubted facts that have no other derivation, and what depended on them; returns the deleted.

        Older facts are decided first: what supports a fact is then known to stay.
        """
        deleted: dict[str, Facts] = {}
        while doubted := self._stored(doubted):
            is_long = questions.older and sum(map(len, doubted.values())) >= 4 * MANY_FACTS
            now, later = self._oldest(doubted, number) if is_long else (doubted, {})
            following = dict(later)
            for relation, facts in now.items():
                gone = self._unsupported(relation, facts, self._support(questions, relation), number)
                if len(gone):
                    lost = questions.lost.get((relation, Sign.WENT), ())
                    _add_all(following, self._ask(relation, gone, lost, number))
                    self._journal.remove(relation, gone)
                    deleted[relation] = deleted[relation].beside(gone) if relation in deleted else gone
            doubted = following
        return deleted

    def _oldest(self, facts: Mapping[str, Facts], number: int) -> tuple[Mapping[str, Facts], Mapping[str, Facts]]:
        """Those of many facts that are to be decided first, and the others."""
        with self._budget(number):
            return self._backend.oldest(facts)

    def _stored(self, facts: Mapping[str, Facts]) -> dict[str, Facts]:
        found = {relation: self._backend.stored(relation, each) for relation, each in facts.items()}
        return {relation: each for relation, each in found.items() if len(each)}

    def _support(self, questions: StratumQuestions, relation: str) -> Sequence[RulePlan]:
        """The questions for derivations by which a fact in doubt stays."""
        outside, older = questions.outside.get(relation, []), questions.older.get(relation, [])
        return [*outside, *older] if self._strategy is Strategy.BACKWARD_FORWARD else outside

    def _unsupported(self, relation: str, facts: Facts, support: Sequence[RulePlan], number: int) -> Facts:
        """Those of `facts` for which no other derivation is found."""
        with self._asking(relation, facts, support, number) as (ordered, watch):
            return self._backend.unsupported(relation, ordered, watch) if ordered else facts

    def _stage_what_stays_closed(self, module: ClosedRelation, deleted: Mapping[str, Facts]) -> None:
        """Takes deleted edges out of a module; stages the facts that went with them but are closed without them too."""
        relation = module.closure.relation
        if module.edges in deleted and relation in deleted and module.taking is not None:
            edges = deleted[module.edges]
            _, vanished = self._backend.close(module, edges.none(), edges)
            self._backend.mark(relation, deleted[relation].minus(vanished))
            self._backend.derive([module.taking])

    def _stage_answers(self, relation: str, marked: Facts, rules: Sequence[RulePlan], number: int) -> None:
        self._backend.mark(relation, marked)
        watch = self._run.watch(number + 1, 0, self._questions[number].stratum)
        self._backend.derive(self._run.ordered(rules), watch)

    def _insert(self, questions: StratumQuestions, pending: Pending, deleted: Mapping[str, Facts], number: int) -> None:
        """Stores what is gained and what follows from it within the stratum."""
        stratum = questions.stratum
        gaining = _gaining(questions, pending, deleted)
        if not gaining and not stratum.modules:
            return
        rounds = 0
        came: dict[str, list[Facts]] = {relation: [] for relation in stratum.relations}
        # What is there now is old: only what comes from here on may have to be taken back.
        self._backend.advance(stratum.relations)
        try:
            for module in stratum.modules:
                self._stage_what_stays_closed(module, deleted)
            for relation, facts, rules in gaining:
                self._stage_answers(relation, facts, rules, number)
            delta = self._run.advance(stratum)
            while any(delta.values()):
                self._collect_delta(came)
                woken = self._run.woken(stratum.rounds, delta)
                rounds, delta = self._run.round(number + 1, rounds + 1, stratum, woken) if woken else (rounds, {})
        except BaseException:
            # Whether the last round got as far as to store its rows or not: all are noted, to be taken back.
            self._collect_delta(came)
            self._backend.advance(stratum.relations)
            self._collect_delta(came)
            self._note_came({relation: parts[0].union(*parts[1:]) for relation, parts in came.items() if parts})
            raise
        # Each round gives rows that were not there before.
        self._note_came({relation: parts[0].beside(*parts[1:]) for relation, parts in came.items() if parts})

    def _note_came(self, came: Mapping[str, Facts]) -> None:
        for relation, facts in came.items():
            self._journal.note(relation, facts, facts.none())

    def _collect_delta(self, came: Mapping[str, list[Facts]]) -> None:
        """Adds the deltas of relations to what came before."""
        for relation, parts in came.items():
            facts = self._backend.delta(relation)
            if len(facts):
                parts.append(facts)

    def _start_over(self, number: int, questions: StratumQuestions) -> None:
        stratum = questions.stratum
        if stratum.closed is not None:
            self._journal.close_again(stratum.closed)
            return
        self.derived_anew |= frozenset(stratum.relations)
        for module in stratum.modules:
            self._journal.uses(module)
        for relation in stratum.relations:
            self._journal.clear(relation)
        self._run.evaluate(number + 1, stratum)
        refilled = self._journal.refilled_with_less if self._only_loses(number) else self._journal.refilled
        for relation in stratum.relations:
            refilled(relation)

    def _only_loses(self, number: int) -> bool:
        """Whether nothing can come in a stratum by what it was told."""
        questions, pending = self._questions[number], self._pending[number]
        if pending.has_other_rules or not questions.is_monotone or self._run.is_limited(questions.stratum):
            return False
        return bool(pending.news) and not any(len(net.came) for _, net in pending.news)

    def _ask(self, relation: str, marked: Facts, rules: Sequence[RulePlan], number: int) -> Mapping[str, Facts]:
        """The answers to questions about `marked` facts of `relation`, by head."""
        if not rules:
            return {}
        with self._asking(relation, marked, rules, number) as (ordered, watch):
            return self._backend.collect(ordered, watch) if ordered else {}

    @contextmanager
    def _asking(
        self, relation: str, marked: Facts, rules: Sequence[RulePlan], number: int
    ) -> Iterator[tuple[Sequence[RulePlan], Watch]]:
        """A block that is paid for, to ask about `marked` facts: the questions that may have an answer, and a watch."""
        self._backend.mark(relation, marked)
        watch = self._run.watch(number + 1, 0, self._questions[number].stratum)
        ordered = self._run.ordered(rules)
        # For few facts it is no matter how much there is to make ready: it serves the next change as well. What many
        # facts need is paid for, because deriving everything needs none of it and leaves nothing of it.
        if len(marked) <= MANY_FACTS:
            self._backend.catch_up(ordered)
        with self._budget(number) as budget:
            if len(marked) > MANY_FACTS:
                self._backend.catch_up(ordered)
                budget.check()
            yield ordered, _both(watch, budget.check)


def _gaining(
    questions: StratumQuestions, pending: Pending, deleted: Mapping[str, Facts]
) -> list[tuple[str, Facts, Sequence[RulePlan]]]:
    """What to ask about which facts to find those that have a derivation now and had none before, or were deleted too
    soon."""
    asked: list[tuple[str, Facts, Sequence[RulePlan]]] = [
        (relation, facts, questions.any.get(relation, ())) for relation, facts in deleted.items()
    ]
    for relation, net in pending.news:
        asked += [(relation, facts, questions.gained.get((relation, sign), ())) for sign, facts in _signed(net)]
    for relation, groups in pending.groups.items():
        asked.append((relation, groups, (questions.regroupings[relation].gained,)))
    return [each for each in asked if each[2]]


def _signed(net: Net) -> list[tuple[Sign, Facts]]:
    """What came and what went, as far as there is any."""
    return [(sign, facts) for sign, facts in ((Sign.CAME, net.came), (Sign.WENT, net.went)) if len(facts)]


def _both(watch: Watch, check: Callable[[], None]) -> Watch:
    def look(rule: RulePlan, rows: int) -> None:
        watch(rule, rows)
        check()

    return look


def _add_all(found: dict[str, Facts], more: Mapping[str, Facts]) -> None:
    for relation, facts in more.items():
        _add(found, relation, facts)


def _add(found: dict[str, Facts], relation: str, facts: Facts) -> None:
    if len(facts):
        found[relation] = found[relation].union(facts) if relation in found else facts
