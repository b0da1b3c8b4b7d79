"""Late news followed through the iterations of a run: takes what is different, returns the course that it leads to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import monotonic

import numpy as np

from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Rows
from tidelog.production.late.chain_columns import OPEN, Chains, Flags, Numbers, Records, Steps
from tidelog.production.late.course import Course, Repetition, padded
from tidelog.production.late.derivations import changed
from tidelog.production.late.first_run import firing, part_of
from tidelog.production.late.late_run import LateRun
from tidelog.production.late.nets import Nets, ids_of, net_of
from tidelog.production.late.state import Found
from tidelog.production.late.timelines import MetDerivations, MetFacts
from tidelog.production.report import CycleUsage, check_cycles, oscillation
from tidelog.production.semantics import Fired, Firing

Moves = Mapping[str, tuple[Numbers, Flags]]


class Revision:
    """What is different from the course of `run` so far, from iteration `first` on.

    Derivations of rules that chains tell of are followed fact by fact. For the others, those that read something
    derived, the state of the old run goes along.
    """

    def __init__(self, run: LateRun, first: int) -> None:
        self._run = run
        self._old = run.course
        self._first = first
        self._facts = {relation: MetFacts(run, relation) for relation in sorted(run.relations)}
        self._derivations = [(each, MetDerivations(each.plans, self._facts)) for each in run.ever_there.by_chains]
        self._by_state = run.ever_there.by_state
        self._old_nets = run.course.nets() if self._by_state else []
        self._places = {rule.id: place for place, rule in enumerate(run.rules)}
        self._started: dict[str, Numbers] = {}
        self._news: dict[str, Steps] = {}
        self._last_news = run.course.last_news
        self._moved: dict[int, int] = {}
        self._counts: list[tuple[int, int, Numbers]] = []

    def start_with(self, relation: str, inserted: Rows, retracted: Rows) -> None:
        """Takes in that facts are there at the start, and that others are not."""
        met = self._facts[relation]
        some = np.concatenate([met.meet(inserted, 0), met.meet(retracted, 0)])
        wanted = np.arange(some.size) < inserted.shape[0]
        self._started[relation] = some[met.is_there[some] != wanted]
        met.differ(self._started[relation])

    def ask(self, relation: str, rows: Rows, records: Records) -> None:
        """Takes in what others ask for; `records` go by places in `rows`, which are different."""
        facts = self._facts[relation].meet(rows, self._first)
        self._news[relation] = records.of_facts(facts).steps()
        self._facts[relation].take_news(self._news[relation])
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
            counts = self._count_differences(number)
            moves, is_moving = self._settle(number)
            until = number + 1 if is_moving else self._next_change(number, steady)
            self._counts.append((number, until, counts))
            if number >= steady:
                if not moves:
                    break
                behind.check(number, self._old.derivations[-1] + counts, self._shown(moves), moves)
            elif not self._differs_yet():
                self._stop_asking(number + 1)
                break
            number = until
        return self._course(), self._nets()

    def _count_differences(self, number: int) -> Numbers:
        """How many more derivations of each rule hold in an iteration; what they ask for is noted."""
        for met in self._facts.values():
            met.go_to(number)
        self._expand(number)
        counts = np.zeros(len(self._places), np.int64)
        for followed, derivations in self._derivations:
            counts[self._places[followed.plans.rule.id]] += derivations.count_differences()
        if self._by_state and (nets := self._nets()):
            begun, ended = self._run.state.look_ahead(nets, self._by_state)
            counts += self._count_found(begun, 1, number) + self._count_found(ended, -1, number)
        for met in self._facts.values():
            met.note(number)
        return counts

    def _expand(self, number: int) -> None:
        """Finds the derivations that facts which differ for the first time could take part in."""
        run = self._run
        new: dict[str, FactSet] = {}
        for relation, met in self._facts.items():
            facts = met.newly_differing()
            if facts.size:
                new[relation] = FactSet(met.rows(facts))
                came = facts[~met.is_there[facts]]
                if came.size:
                    run.ever_there.add(relation, FactSet(met.rows(came)))
                run.backend.mark(changed(relation), new[relation])
        if not new:
            return
        for followed, derivations in self._derivations:
            could = [plan for relation, plan in followed.could if relation in new]
            for found in run.state.collect(could).values() if could else ():
                derivations.meet(ids_of(found), number)

    def _count_found(self, found: Found, times: int, number: int) -> Numbers:
        """How many derivations there are of each rule; what they ask for counts so many times."""
        counts = np.zeros(len(self._places), np.int64)
        for plans in self._by_state:
            if plans.relation in found:
                rows = ids_of(found[plans.relation])
                counts[self._places[plans.rule.id]] += times * rows.shape[0]
                for head in plans.asked:
                    met = self._facts[head.relation]
                    facts = met.meet(part_of(rows, head.columns), number)
                    met.ask(head.sign, facts, times)
        return counts

    def _settle(self, number: int) -> tuple[Moves, bool]:
        """The facts that the new run moves in an iteration, and whether the next one begins otherwise."""
        moves, is_moving, more = {}, bool(self._by_state), 0
        for relation, met in self._facts.items():
            if met.count:
                old, moved, comes = met.settle()
                more += moved.size - old
                is_moving |= bool(old or moved.size)
                if moved.size:
                    moves[relation] = moved, comes
        self._moved[number] = more
        if self._by_state and number < self._old.cycles:
            self._run.state.shift(self._old_nets[number])
        return moves, is_moving

    def _next_change(self, number: int, steady: int) -> int:
        """The next iteration that is not as this one, as far as facts are concerned that were met."""
        changes = (met.next_change for met in self._facts.values())
        return max(number + 1, min(steady, *changes))

    def _differs_yet(self) -> bool:
        """Whether something is or will be different from the old run."""
        return any(met.differs.any() or met.next_news < OPEN for met in self._facts.values())

    def _stop_asking(self, number: int) -> None:
        for met in self._facts.values():
            met.go_to(number)
            met.note(number)

    def _nets(self) -> Nets:
        """How the new run differs from the old one before the next iteration."""
        nets = {}
        for relation, met in self._facts.items():
            some = np.flatnonzero(met.differs)
            if some.size:
                nets[relation] = net_of(met.rows(some), ~met.is_there[some])
        return nets

    def _shown(self, moves: Moves) -> Nets:
        return {
            relation: net_of(self._facts[relation].rows(facts), comes) for relation, (facts, comes) in moves.items()
        }

    def _course(self) -> Course:
        """The old course with all that is different."""
        moved = padded(self._old.moved, 1 + max(self._moved)).copy()
        moved[list(self._moved)] += list(self._moved.values())
        last = max(self._last_news, int(np.flatnonzero(moved).max(initial=-1)))
        moved = padded(moved, last + 1)[: last + 1]
        old = self._old.derivations
        derivations = old[np.minimum(np.arange(moved.size + 1), old.shape[0] - 1)]
        for begin, end, counts in self._counts:
            derivations[begin:end] += counts
        return Course(self._chains(), moved, derivations, self._last_news)

    def _chains(self) -> dict[str, Chains]:
        chains = dict(self._old.chains)
        for relation, met in self._facts.items():
            started = self._started.get(relation, np.empty(0, np.int64))
            steps = Steps.of([*met.asked, *([self._news[relation]] if relation in self._news else [])])
            facts = np.unique(np.concatenate([steps.facts, started]))
            if facts.size:
                rows = met.rows(facts)
                is_first, records = self._run.look_up(relation, rows)
                is_first[np.searchsorted(facts, started)] ^= True
                more = replace(steps, facts=np.searchsorted(facts, steps.facts))
                revised = Records.of(Steps.of([records.steps(), more]))
                chains[relation] = self._run.chains(relation).revised(rows, is_first, revised)
        return chains


class _Behind:
    """What a run does behind the last iteration of the old one: whether it goes round, or reaches a limit."""

    def __init__(self, run: LateRun) -> None:
        self._run = run
        self._began = monotonic()
        self._rows = 0
        self._repetition = Repetition()
        self._firings: list[Firing] = []

    def check(self, iteration: int, counts: Numbers, nets: Nets, moves: Moves) -> None:
        """Takes in an iteration that moves something; `counts` has the derivations of each rule in it."""
        fired = [rule for rule, count in zip(self._run.rules, counts, strict=True) if count]
        self._firings.append(firing(iteration, tuple(Fired(rule, ()) for rule in fired), nets, self._run.backend))
        length = self._repetition.length_after({relation: facts for relation, (facts, _) in moves.items()})
        if length is not None:
            raise oscillation(iteration + 1, self._firings[-length:])
        self._rows += sum(len(net.came) for net in nets.values())
        check_cycles(CycleUsage(iteration + 1, self._rows, monotonic() - self._began), self._run.limits, fired)
