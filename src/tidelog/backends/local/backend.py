"""The in-process backend: relations of ids in memory, rules as compiled kernels over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from time import perf_counter, process_time, thread_time
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tidelog.backends.local.asking import Questions
from tidelog.backends.local.bodies import Bodies
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.operands import catch_up
from tidelog.backends.local.paths import Window, path_of
from tidelog.backends.local.profile import Count, Profile
from tidelog.backends.local.pushing import PushedCode
from tidelog.backends.local.running_ahead import RunningAhead
from tidelog.backends.local.single_join import single_join
from tidelog.backends.local.sources import ScanSource
from tidelog.backends.local.store import Store
from tidelog.backends.local.team import Task, Team
from tidelog.backends.local.tiers import PATIENCE_WITH_CHANGES, Tiers
from tidelog.backends.local.together import Crew, SharedRule
from tidelog.backends.local.translate import survivors
from tidelog.backends.protocol import Derived, Part, SingleJoin, Tier, Watch, unwatched
from tidelog.codegen.push_rule import Sharing
from tidelog.facts.columns import arrow_schema, is_ascending
from tidelog.facts.fact_set import FactSet, different
from tidelog.facts.membership import Rows
from tidelog.facts.values import Values
from tidelog.kernels import jit
from tidelog.plan.nodes import ClosedRelation, RulePlan, StratumPlan, Version
from tidelog.plan.statistics import Statistics
from tidelog.schema import Kind, Schema

Work = TypeVar("Work")

_SHARE_AT_ONCE = 0.25

_LOADED = 1 << 16
"""Rows turned into ids at a time. So few are sooner in a set than it is seen that they ascend."""


class LocalBackend:
    """`Backend` in this process. `jobs` is how many threads share the work of a round, `tier` how rules run."""

    def __init__(
        self,
        schemas: Mapping[str, Schema],
        jobs: int = 1,
        tier: Tier = Tier.AUTO,
        profile: Profile | None = None,
        values: Values | None = None,
    ) -> None:
        self._profile = profile
        self._schemas = dict(schemas)
        self._store = Store(schemas, values or Values())
        self._bodies = Bodies(self._store)
        self._jobs = jobs
        self._team = Team(jobs)
        self._crew = Crew(self._team, self._store.relations)
        self._tier = tier
        self._derives_again = False
        self._running_ahead = RunningAhead(self._store)
        self._questions = Questions(self._store, tier, self._bodies)
        self._tiers = Tiers(self._store, tier, Sharing.ALONE if jobs == 1 else Sharing.TOGETHER)

    def fresh(self, schemas: Mapping[str, Schema]) -> LocalBackend:
        return LocalBackend(schemas, self._jobs, self._tier, self._profile, self._store.values)

    @property
    def values(self) -> Values:
        return self._store.values

    def declare(self, schemas: Mapping[str, Schema]) -> None:
        for name, schema in schemas.items():
            if name not in self._schemas:
                self._schemas[name] = schema
                self._store.declare(schema)

    def insert(self, relation: str, rows: pa.Table) -> int:
        kinds = self._schemas[relation].kinds
        if not kinds:
            return self._store.relations[relation].insert(np.zeros((rows.num_rows, 1), np.int32))
        stored = self._store.relations[relation]
        known = self._store.values.rows_behind(rows)
        if known is not None:
            return stored.insert(known) if stored.count else stored.insert_different([known])
        if not stored.count and rows.num_rows > _LOADED and is_ascending(rows, kinds):
            return stored.insert_different(self._encoded(rows, kinds))
        for batch in self._encoded(rows, kinds):
            stored.stage(batch, lent=False)
        return stored.keep_staged()

    def facts(self, relation: str, rows: pa.Table | None = None) -> FactSet:
        if rows is None:
            return FactSet(self._store.read(relation, Version.FULL))
        kinds = self._schemas[relation].kinds
        if not kinds:
            return FactSet(np.zeros((min(1, rows.num_rows), 1), np.int32))
        known = self._store.values.rows_behind(rows)
        if known is not None:
            return FactSet(known)
        return different(list(self._encoded(rows, kinds)) or [np.empty((0, len(kinds)), np.int32)])

    def stored(self, relation: str, facts: FactSet) -> FactSet:
        return self._store.stored(relation, facts) if len(facts) else facts

    def unknown(self, relation: str, facts: FactSet) -> FactSet:
        return self._store.unknown(relation, facts) if len(facts) else facts

    def lacking(self, relation: str, facts: FactSet) -> FactSet:
        return self._store.lacking(relation, facts)

    def exchange(self, relation: str, came: FactSet, went: FactSet) -> None:
        stored = self._store.relations[relation]
        if len(came):
            self._store.begin_era()
            stored.insert_new(came.rows)
        if len(went):
            stored.remove(went)
            stored.compact()

    def table(self, relation: str, facts: FactSet | None = None) -> pa.Table:
        schema = self._schemas[relation]
        rows = self._store.rows_at_hand(relation) if facts is None else facts.rows
        pieces = self._store.pieces(relation) if rows is None else [rows]
        if not schema.arity:
            return pa.table({"": pa.nulls(sum(piece.shape[0] for piece in pieces))}).select([])
        batches = [
            pa.RecordBatch.from_arrays(
                [self._store.values.decode_column(kind, piece, number) for number, kind in enumerate(schema.kinds)],
                schema=arrow_schema(schema),
            )
            for piece in pieces
        ]
        table = pa.Table.from_batches(batches, schema=arrow_schema(schema))
        if rows is not None:
            self._store.values.remember(table, rows)
        return table

    def clear(self, relation: str) -> FactSet:
        self._derives_again = True
        table, stored = self._store.compact(relation), self._store.relations[relation]
        if table is not None:
            held = table.facts()
        else:
            rows = self._store.read(relation, Version.FULL)
            held = FactSet(rows, stored.membership if stored.has_membership else None)
        self._store.clear(relation)
        if table is not None:
            self._bodies.forget(relation)
            self._team.forget()
        return held

    def derive(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Derived:
        derived: dict[int, int] = {}
        if len(rules) == 1 and self._copies(rules[0]):
            return Derived({rules[0].id: self._store.relations[rules[0].head].count})
        self._running_ahead.begin_round()
        codes = [(rule, self._tiers.code(rule)) for rule in rules if self._running_ahead.has_rows(rule)]
        if pushed := [(rule, code) for rule, code in codes if code is not None]:
            self._push(pushed, watch, derived)
        if len(pushed) < len(codes):
            self._derive_in_batches([rule for rule, code in codes if code is None], watch, derived)
        return Derived(derived, self._running_ahead.rounds)

    def _push(self, rules: Sequence[tuple[RulePlan, PushedCode]], watch: Watch, derived: dict[int, int]) -> None:
        """Stages what rules derive by their code, and adds the number of rows to `derived`."""
        catch_up((index for _, code in rules for index in code.indexes(self._store)), self._team)
        shared: list[SharedRule] = []
        for rule, code in rules:
            evaluation = Evaluation(self._store, rule, survivors, watch)
            in_batch = partial(self._derive_from, evaluation)
            if code.sharing is Sharing.TOGETHER:
                shared.append(SharedRule(code, evaluation, in_batch, code.rows_to_start_from(evaluation)))
                continue
            with self._measured(rule, Tier.PUSH) as measured:
                if rule.ahead_below and code.starts_from_delta_of(rule.head):
                    push = partial(self._push_window, code, evaluation)
                    measured.derived = self._run_ahead(rule, push, watch, lambda: False)
                else:
                    measured.derived = code.run(evaluation, in_batch)
            derived[rule.id] = derived.get(rule.id, 0) + measured.derived
        for some in self._measurable(shared):
            with self._measured(some[0].evaluation.rule, Tier.PUSH) as measured:
                self._crew.push(some)
                measured.derived = sum(each.derived for each in some)
        for each in shared:
            derived[each.evaluation.rule.id] = derived.get(each.evaluation.rule.id, 0) + each.derived

    def _push_window(self, code: PushedCode, evaluation: Evaluation, window: Window) -> int:
        evaluation.window = window
        return code.run(evaluation, partial(self._derive_from, evaluation))

    def _derive_in_batches(self, rules: Sequence[RulePlan], watch: Watch, derived: dict[int, int]) -> None:
        """Stages what rules derive, and adds the number of rows to `derived`."""
        tasks = []
        for rule in rules:
            evaluation = Evaluation(self._store, rule, survivors, watch)
            body = self._bodies.of(rule)
            body.catch_up(evaluation)
            body.prepare(evaluation)
            runs_ahead = rule.ahead_below > 0 and self._jobs == 1 and body.starts_from_delta_of(rule.head)
            tasks.append(Task(body, self._store.relations[rule.head], evaluation, runs_ahead))
        ahead, others = ([task for task in tasks if task.runs_ahead is each] for each in (True, False))
        for some in (*([task] for task in ahead), *self._measurable(others)):
            with self._measured(some[0].evaluation.rule, Tier.VECTORISED) as measured:
                if some[0].runs_ahead:
                    measured.derived = self._run_task_ahead(some[0], watch, derived)
                else:
                    measured.derived = self._run_tasks(some, watch, derived)

    def _run_task_ahead(self, task: Task, watch: Watch, derived: dict[int, int]) -> int:
        rule = task.evaluation.rule
        total = self._run_ahead(
            rule, partial(self._run_window, task, watch), watch, lambda: self._tiers.code(rule) is not None
        )
        derived[rule.id] = derived.get(rule.id, 0) + total
        return total

    def _run_ahead(
        self, rule: RulePlan, derive_from: Callable[[Window], int], watch: Watch, is_overtaken: Callable[[], bool]
    ) -> int:
        path = path_of(rule, self._bodies.of(rule), self._store)
        return self._running_ahead.run(rule, derive_from, path, watch, is_overtaken)

    def _run_window(self, task: Task, watch: Watch, window: Window) -> int:
        task.evaluation.window = window
        return self._run_tasks([task], watch, {})

    def _run_tasks(self, tasks: Sequence[Task], watch: Watch, derived: dict[int, int]) -> int:
        total = 0
        started = perf_counter()
        for task, rows, count in self._team.run(tasks):
            rule = task.evaluation.rule
            derived[rule.id] = derived.get(rule.id, 0) + count
            total += count
            task.head.stage(rows)
            watch(rule, count)
            stopped = perf_counter()
            is_soon_again = self._derives_again or task.body.starts_from_marked
            patience = PATIENCE_WITH_CHANGES if is_soon_again else 1.0
            self._tiers.note(rule, stopped - started, patience)
            started = stopped
        return total

    def _measurable(self, work: list[Work]) -> Iterable[list[Work]]:
        """What is to be done at the same time: to say what each costs, one after the other."""
        if self._profile is not None:
            return [[each] for each in work]
        return [work] if work else []

    def _measured(self, rule: RulePlan, tier: Tier) -> AbstractContextManager[Count]:
        """A block in which a rule runs, measured if there is a profile."""
        if self._profile is None:
            return nullcontext(Count())
        return self._profile.run(rule, self._store.relations[rule.head], tier, self._tiers.why_not)

    def _derive_from(self, evaluation: Evaluation, begin: int, end: int) -> None:
        """Stages what a rule derives from some of the rows that it starts from."""
        body = self._bodies.of(evaluation.rule)
        body.catch_up(evaluation)
        body.prepare(evaluation)
        assert isinstance(body.source, ScanSource)
        for rows in body.run(body.source.part(evaluation, begin, end), evaluation):
            self._store.relations[evaluation.rule.head].stage(rows)

    def _copies(self, rule: RulePlan) -> bool:
        """Whether the rule was run by copying: all rows of a relation into one that is empty need no look at others."""
        head = self._store.relations[rule.head]
        copied = self._bodies.of(rule).copied() if head.is_empty else None
        if copied is None or copied[0].relation == rule.head:
            return False
        scan, columns = copied
        rows = self._store.read(scan.relation, scan.version)
        head.stage_different(rows if columns == tuple(range(rows.shape[1])) else rows[:, list(columns)])
        return True

    def advance(self, relations: Sequence[str]) -> Mapping[str, int]:
        sizes = {name: self._store.relations[name].advance() for name in relations}
        self._store.begin_era()
        return sizes

    def delta(self, relation: str) -> FactSet:
        return FactSet(self._store.read(relation, Version.DELTA).copy())

    def run_ahead(self, _stratum: StratumPlan) -> None:
        return None

    def close(self, closed: ClosedRelation, came: FactSet, went: FactSet) -> tuple[FactSet, FactSet]:
        relation = closed.closure.relation
        appeared, vanished = self._store.closed_table(closed).update(came, went)
        if closed.is_written_out and closed.taking is None:
            self.exchange(relation, appeared, vanished)
        return appeared, vanished

    def mark(self, relation: str, facts: FactSet) -> None:
        self._store.marked[relation] = facts

    def oldest(self, facts: Mapping[str, FactSet]) -> tuple[dict[str, FactSet], dict[str, FactSet]]:
        relations = self._store.relations
        numbers = {name: np.sort(relations[name].numbers_of(each)) for name, each in facts.items()}
        ages = {name: relations[name].ages_of(each) for name, each in numbers.items()}
        all_ages = np.concatenate(list(ages.values()))
        end = self._store.end_of_era(int(all_ages.min()))
        bound = max(end, int(np.quantile(all_ages, _SHARE_AT_ONCE)) + 1)
        if int(all_ages.max()) < bound:
            return dict(facts), {}
        counts = {name: int(np.count_nonzero(each < bound)) for name, each in ages.items()}
        now = {name: FactSet(relations[name].rows[numbers[name][:count]]) for name, count in counts.items() if count}
        later = {
            name: FactSet(relations[name].rows[some])
            for name, count in counts.items()
            if (some := numbers[name][count:]).size
        }
        return now, later

    def catch_up(self, rules: Sequence[RulePlan]) -> None:
        self._questions.catch_up(rules)

    def collect(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Mapping[str, FactSet]:
        return self._questions.collect(rules, watch)

    def collect_parts(self, rules: Sequence[RulePlan], parts: Sequence[Part]) -> tuple[FactSet, ...]:
        return self._questions.collect_parts(rules, parts)

    def single_join(self, rule: RulePlan) -> SingleJoin | None:
        return single_join(self._bodies.of(rule)) if self._questions.code(rule) is None else None

    def unsupported(self, relation: str, rules: Sequence[RulePlan], watch: Watch = unwatched) -> FactSet:
        return self._questions.unsupported(relation, rules, watch)

    def effort(self) -> float:
        return (thread_time() if self._jobs == 1 else process_time()) - jit.seconds_compiling()

    def statistics(self) -> Statistics:
        return self._store

    def _encoded(self, rows: pa.Table, kinds: tuple[Kind, ...]) -> Iterator[Rows]:
        """`rows` as ids, some at a time, so that what is needed in between stays small."""
        if rows.num_rows <= _LOADED:
            yield self._store.values.encode_rows(kinds, rows.columns, rows.num_rows)
            return
        for batch in rows.to_batches(max_chunksize=_LOADED):
            yield self._store.values.encode_rows(kinds, batch.columns, batch.num_rows)
