"""Takes a plan and a backend, derives every fact that follows: strata in order, each by semi-naive rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from time import monotonic

from tidelog.backends.protocol import Backend, Derived, Facts
from tidelog.facts.closure import ClosureTooLarge
from tidelog.maintain.limits import BETWEEN_LOOKS, Usage, check_limits, looks
from tidelog.maintain.ordering import Ordering
from tidelog.maintain.protocol import SILENT, Limits, Observer
from tidelog.plan.nodes import ClosedRelation, Plan, RulePlan, StratumPlan, Version


def materialize(
    plan: Plan,
    backend: Backend,
    limits: Limits = Limits(),  # noqa: B008  frozen
    observer: Observer = SILENT,
    ordering: Ordering | None = None,
) -> Mapping[int, float]:
    """Stores everything that follows by `plan` from what `backend` has; returns the seconds that each stratum took.

    Raises LimitError at the first limit reached.

    It may be stopped at any point, by a limit, an error or an interrupt. Every row stored by then does follow, and a
    second call goes on from there.
    """
    backend.declare(plan.hidden)
    run = Run(plan, backend, limits, observer, ordering)
    for number, stratum in enumerate(plan.strata, start=1):
        observer.stratum_started(number, stratum)
        rounds, rows = run.evaluate(number, stratum)
        observer.stratum_finished(number, rounds, rows)
    return run.seconds


class CannotClose(Exception):
    """A closure takes too much room in compact form: its relation must be computed by rules."""

    def __init__(self, relation: str) -> None:
        super().__init__(relation)
        self.relation = relation


def close(backend: Backend, closed: ClosedRelation, came: Facts, went: Facts) -> tuple[Facts, Facts]:
    """Has the backend close a relation; where that takes too much room, CannotClose says which."""
    try:
        return backend.close(closed, came, went)
    except ClosureTooLarge as reason:
        raise CannotClose(closed.closure.relation) from reason


class Run:
    """One materialization: what it reads and writes, and what it has used up so far."""

    def __init__(
        self, plan: Plan, backend: Backend, limits: Limits, observer: Observer, ordering: Ordering | None = None
    ) -> None:
        self._size_limits = plan.size_limits
        self._backend = backend
        self._limits = limits
        self.observer = observer
        self._ordering = ordering or Ordering(backend, observer)
        self._started = monotonic()
        self.rows = 0
        self.seconds: dict[int, float] = {}

    def evaluate(self, number: int, stratum: StratumPlan) -> tuple[int, int]:
        """How many rounds the stratum took and how many rows it stored.

        Rows that were there at the start are in no delta, so then the recursive rules must read everything once.
        """
        started = self._backend.effort()
        try:
            return self._evaluate(number, stratum)
        finally:
            self.seconds[number] = self._backend.effort() - started

    def _evaluate(self, number: int, stratum: StratumPlan) -> tuple[int, int]:
        known = self._sizes(stratum)
        before = sum(known.values())
        if (stratum.rounds or stratum.closed) and not before and not self.is_limited(stratum):
            ahead = self._backend.run_ahead(stratum)
            if ahead is not None:
                self.rows += ahead
                return 1, ahead
        if stratum.closed is not None:
            return 1, self._close(stratum.closed)
        once = self._ordering.with_rows((*stratum.given, *stratum.once))
        rounds, delta = self._round(number, 0, stratum, once, known)
        if before and stratum.first:
            rounds, delta = self._round(number, rounds + 1, stratum, stratum.first, known)
        while any(delta.values()) and stratum.rounds and not self._is_full(known):
            rounds, delta = self._round(number, rounds + 1, stratum, self.woken(stratum.rounds, delta), known)
        return rounds, sum(known.values()) - before

    def _close(self, closed: ClosedRelation) -> int:
        """Computes a closure that has no rows yet; how many it has then."""
        edges = self._backend.facts(closed.edges)
        appeared, _ = close(self._backend, closed, edges, edges.none())
        if closed.is_written_out:
            self.rows += len(appeared)
        return len(appeared)

    def is_limited(self, stratum: StratumPlan) -> bool:
        """Whether a relation of the stratum has a `.limitsize`: where its rounds stop depends on where they began."""
        return not self._size_limits.keys().isdisjoint(stratum.relations)

    def ordered(self, rules: Sequence[RulePlan]) -> list[RulePlan]:
        """Those of `rules` that may derive something, with joins ordered for the sizes that relations have now."""
        return self._ordering.of_those_with_rows(rules)

    def woken(self, rules: tuple[RulePlan, ...], delta: Mapping[str, int]) -> tuple[RulePlan, ...]:
        """Those of `rules` that deltas of these sizes wake."""
        return self._ordering.woken(rules, delta)

    def watch(self, number: int, rounds: int, stratum: StratumPlan) -> RoundWatch:
        """Something that looks at the limits while a round runs."""
        return RoundWatch(number, rounds, stratum, self)

    def round(
        self, number: int, first: int, stratum: StratumPlan, rules: tuple[RulePlan, ...]
    ) -> tuple[int, Mapping[str, int]]:
        """The last round, and the number of new rows of each relation, after `rules` ran in round `first`, and in
        others where they ran ahead."""
        return self._round(number, first, stratum, rules, defaultdict(int))

    def advance(self, stratum: StratumPlan) -> Mapping[str, int]:
        """Makes what is staged the delta of each relation; modules close over their part of it. Sizes of the deltas."""
        if not stratum.modules:
            return self._backend.advance(stratum.relations)
        closed = [module.closure.relation for module in stratum.modules]
        delta = dict(self._backend.advance([name for name in stratum.relations if name not in closed]))
        for module in stratum.modules:
            edges = self._backend.delta(module.edges)
            if len(edges) and module.taking is not None:
                appeared, _ = close(self._backend, module, edges, edges.none())
                self._backend.mark(module.closure.relation, appeared)
                self._backend.derive([module.taking])
        return {**delta, **self._backend.advance(closed)}

    def _sizes(self, stratum: StratumPlan) -> dict[str, int]:
        statistics = self._backend.statistics()
        return {relation: statistics.rows(relation, Version.FULL) for relation in stratum.relations}

    def _round(
        self, number: int, first: int, stratum: StratumPlan, rules: tuple[RulePlan, ...], known: dict[str, int]
    ) -> tuple[int, Mapping[str, int]]:
        """As `round`; the numbers of new rows are added to `known`."""
        if not rules and not first:
            return 0, {}
        watch = RoundWatch(number, first, stratum, self)
        derived = self._backend.derive(self._ordering.of(rules), watch) if rules else Derived({})
        rounds = first + derived.rounds - 1
        delta = self.advance(stratum)
        for relation, rows in delta.items():
            known[relation] += rows
            self.rows += rows
        self.observer.round_finished(number, rounds, delta, sum(derived.rows.values()))
        if any(delta.values()):
            active = {
                rule.id: (rule, max(1, derived.rows[rule.id] // derived.rounds))
                for rule in rules
                if derived.rows.get(rule.id)
            }
            self.check(rounds, stratum, tuple(active.values()))
        return rounds, delta

    def check(self, rounds: int, stratum: StratumPlan, active: tuple[tuple[RulePlan, int], ...]) -> None:
        """Raises LimitError if a limit is reached; `active` are the rules that derive rows, and how many."""
        now = monotonic()
        usage = Usage(rounds, self.rows, now - self._started, looks.memory(now))
        check_limits(usage, self._limits, stratum, active)

    def _is_full(self, known: Mapping[str, int]) -> bool:
        """Whether a relation of the stratum has all the rows that its `.limitsize` asks for."""
        limits = self._size_limits
        return any(relation in limits and rows >= limits[relation] for relation, rows in known.items())


class RoundWatch:
    """Looks at time and memory while a round runs, and tells the observer how far it is, some times a second."""

    def __init__(self, number: int, round_number: int, stratum: StratumPlan, run: Run) -> None:
        self._number = number
        self._round_number = round_number
        self._stratum = stratum
        self._run = run
        self._derived: dict[int, tuple[RulePlan, int]] = {}
        self._next_look = monotonic() + BETWEEN_LOOKS

    def __call__(self, rule: RulePlan, rows: int) -> None:
        _, before = self._derived.get(rule.id, (rule, 0))
        self._derived[rule.id] = (rule, before + rows)
        now = monotonic()
        if now >= self._next_look:
            self._next_look = now + BETWEEN_LOOKS
            derived = sum(count for _, count in self._derived.values())
            self._run.observer.rows_derived(self._number, self._round_number, rule, derived)
            # A round that ends may reach the limit on rounds, one that runs may not.
            self._run.check(self._round_number - 1, self._stratum, tuple(self._derived.values()))
