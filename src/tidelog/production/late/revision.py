"""Late news followed through the iterations of a run: takes what is different, returns the course that it leads to."""

from __future__ import annotations

from time import monotonic

import numpy as np

from tidelog.facts.membership import Rows
from tidelog.kernels.late_news import AGREES, MEETS_MORE, NEEDS_ROOM, REACHED
from tidelog.production.firing import Fired, Firing
from tidelog.production.ids import ids_of
from tidelog.production.late.chain_columns import OPEN, Chains, Flags, Numbers, Records, Steps
from tidelog.production.late.course import Course, Repetition, padded
from tidelog.production.late.expansion import Expansion
from tidelog.production.late.first_run import firing, part_of
from tidelog.production.late.late_run import LateRun
from tidelog.production.late.nets import Nets, net_of
from tidelog.production.late.state import Found
from tidelog.production.late.timelines import Timelines
from tidelog.production.report import CycleUsage, check_cycles, oscillation


class Revision:
    """What is different from the course of `run` so far, from iteration `first` on.

    Derivations of rules that chains tell of are followed fact by fact. For the others, those that read something
    derived, the state of the old run goes along.
    """

    def __init__(self, run: LateRun, first: int) -> None:
        self._run = run
        self._old = run.course
        self._first = first
        self._places = {rule.id: place for place, rule in enumerate(run.rules)}
        self._timelines = Timelines(run, self._places)
        self._expansion = Expansion(run, self._timelines)
        self._by_state = run.ever_there.by_state
        self._old_nets = run.course.nets() if self._by_state else []
        self._started: Numbers = np.empty(0, np.int64)
        self._news: list[Steps] = []
        self._last_news = run.course.last_news

    def start_with(self, relation: str, inserted: Rows, retracted: Rows) -> None:
        """Takes in that facts are there at the start, and that others are not."""
        timelines = self._timelines
        facts = timelines.meet(relation, np.concatenate([inserted, retracted]))
        timelines.look_up(0)
        wanted = np.arange(facts.size) < inserted.shape[0]
        started = facts[timelines.is_there[facts] != wanted]
        timelines.differs[started] = True
        self._started = np.concatenate([self._started, started])

    def ask(self, relation: str, rows: Rows, records: Records) -> None:
        """Takes in what others ask for; `records` go by places in `rows`, which are different."""
        facts = self._timelines.meet(relation, rows)
        self._timelines.look_up(self._first)
        news = records.of_facts(facts).steps()
        self._news.append(news)
        self._timelines.take_news(news)
        last = np.where(records.last == OPEN, records.first, records.last - 1)
        self._last_news = max(self._last_news, int(last.max(initial=-1)))

    def follow(self) -> tuple[Course, Nets]:
        """The course that this leads to, and how its last state differs from the old one.

        Raises OscillationError when the rules come back to a state, LimitError at a limit.
        """
        if self._by_state:
            self._run.go_to(self._first)
        steady = max(self._old.cycles, self._last_news + 1)
        number, behind = self._first, _Behind(self._run)
        while True:
            is_behind = number >= steady
            number, why = self._go_on(number, number + 1 if is_behind else steady, steady)
            if why == MEETS_MORE:
                self._expansion.expand(number)
            elif why == NEEDS_ROOM:
                self._timelines.make_room()
            elif why == AGREES:
                self._timelines.stop_asking(number)
                break
            elif is_behind:
                moved, comes = self._timelines.moved()
                if not moved.size:
                    break
                counts = self._old.derivations[-1] + self._timelines.last_counts
                behind.check(number - 1, counts, self._nets_of(moved, comes), moved)
        return self._course(), self._nets()

    def _go_on(self, number: int, until: int, steady: int) -> tuple[int, int]:
        """Where it gets from an iteration, and why it stops there. Where the state goes along it is one iteration."""
        timelines = self._timelines
        if not self._by_state:
            return timelines.go_on(number, until, steady)
        if not timelines.arrive(number):
            return number, MEETS_MORE
        counts = timelines.ask()
        if nets := self._nets():
            begun, ended = self._run.state.look_ahead(nets, self._by_state)
            counts += self._count_found(begun, 1, number) + self._count_found(ended, -1, number)
            timelines.arrive(number)
        timelines.settle(number)
        if number < self._old.cycles:
            self._run.state.shift(self._old_nets[number])
        return number + 1, AGREES if number < steady and not timelines.is_different else REACHED

    def _count_found(self, found: Found, times: int, number: int) -> Numbers:
        """How many derivations there are of each rule; what they ask for counts so many times."""
        counts = np.zeros(len(self._places), np.int64)
        for plans in self._by_state:
            if plans.relation in found:
                rows = ids_of(found[plans.relation])
                counts[self._places[plans.rule.id]] += times * rows.shape[0]
                for head in plans.asked:
                    facts = self._timelines.meet(head.relation, part_of(rows, head.columns))
                    self._timelines.ask_more(head.sign, facts, times)
        self._timelines.look_up(number)
        return counts

    def _nets(self) -> Nets:
        """How the new run differs from the old one before the next iteration."""
        facts = self._timelines.differs.nonzero()[0]
        return self._nets_of(facts, ~self._timelines.is_there[facts])

    def _nets_of(self, facts: Numbers, comes: Flags) -> Nets:
        some = self._timelines.by_relation(facts)
        return {relation: net_of(rows, comes[of_it]) for relation, (of_it, rows) in some.items()}

    def _course(self) -> Course:
        """The old course with all that is different."""
        spans, counts = self._timelines.spans
        moved = padded(self._old.moved, 1 + int(spans[-1, 0])).copy()
        moved[spans[:, 0]] += spans[:, 2]
        last = max(self._last_news, int(np.flatnonzero(moved).max(initial=-1)))
        moved = padded(moved, last + 1)[: last + 1]
        old = self._old.derivations
        derivations = old[np.minimum(np.arange(moved.size + 1), old.shape[0] - 1)]
        some = derivations[spans[0, 0] : spans[-1, 1]]
        some += np.repeat(counts, spans[:, 1] - spans[:, 0], axis=0)[: some.shape[0]]
        return Course(self._chains(), moved, derivations, self._last_news)

    def _chains(self) -> dict[str, Chains]:
        chains = dict(self._old.chains)
        steps = Steps.of([self._timelines.asked(), *self._news])
        has_started, is_revised = np.zeros((2, self._timelines.count), np.bool_)
        has_started[self._started] = is_revised[self._started] = is_revised[steps.facts] = True
        facts = is_revised.nonzero()[0]
        for relation, (of_it, rows) in self._timelines.by_relation(facts).items():
            mine = facts[of_it]
            is_first, records = self._timelines.of_old_run(mine)
            places = np.full(is_revised.size, -1, np.int64)
            places[mine] = np.arange(mine.size)
            some = (places[steps.facts] >= 0).nonzero()[0]
            more = Steps(places[steps.facts[some]], steps.iterations[some], steps.added[some], steps.deleted[some])
            revised = Records.of(Steps.of([records.steps(), more]))
            chains[relation] = self._run.chains(relation).revised(rows, is_first ^ has_started[mine], revised)
        return chains


class _Behind:
    """What a run does behind the last iteration of the old one: whether it goes round, or reaches a limit."""

    def __init__(self, run: LateRun) -> None:
        self._run = run
        self._began = monotonic()
        self._rows = 0
        self._repetition = Repetition()
        self._firings: list[Firing] = []

    def check(self, iteration: int, counts: Numbers, nets: Nets, moved: Numbers) -> None:
        """Takes in an iteration in which facts `moved`; `counts` has the derivations of each rule in it."""
        fired = [rule for rule, count in zip(self._run.rules, counts, strict=True) if count]
        self._firings.append(firing(iteration, tuple(Fired(rule, ()) for rule in fired), nets, self._run.backend))
        length = self._repetition.length_after({"": moved})
        if length is not None:
            raise oscillation(iteration + 1, self._firings[-length:])
        self._rows += sum(len(net.came) for net in nets.values())
        check_cycles(CycleUsage(iteration + 1, self._rows, monotonic() - self._began), self._run.limits, fired)
