"""A program, the explicit facts given to it and what follows from them, moved from step to step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar
from weakref import ref

import pyarrow as pa

from tidelog.analysis.checked import CheckedProgram
from tidelog.analysis.magic import Unhelpful
from tidelog.backends.protocol import Backend
from tidelog.errors import EvaluationError, LimitError, UsageError, excerpt
from tidelog.facts.change import Change, Outcome, in_sequence, row_count
from tidelog.language.syntax_tree import Atom
from tidelog.maintain.materialization import Materialization
from tidelog.maintain.protocol import Limits, Maintenance, Observer
from tidelog.production.cycle import AtHand, run_rules
from tidelog.production.firing import OnFiring
from tidelog.production.semantics import Result
from tidelog.production.support import relations_needed
from tidelog.world.late_news import LastRun, LateNews, is_revisable
from tidelog.world.questions import Questions

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """A move of a model: from one program to another, and a change of its explicit facts.

    Where it makes a difference to late news, `runs` are the last run of production rules before and after it.
    """

    before: CheckedProgram
    after: CheckedProgram
    change: Change
    runs: tuple[LastRun, LastRun] | None = None

    @property
    def rows(self) -> int:
        """How many facts it holds."""
        return row_count(self.change.inserted) + row_count(self.change.retracted)

    def inverse(self) -> Step:
        """The way back; right for a step that holds only facts whose presence it changed."""
        runs = None if self.runs is None else self.runs[::-1]
        return Step(self.after, self.before, Change(self.change.retracted, self.change.inserted), runs)

    def done(self, outcome: Outcome) -> Step:
        """The same step with only the facts whose presence changed."""
        return replace(self, change=Change(outcome.inserted, outcome.retracted))


class Model:
    """What the worlds of a session share. `current` is the one that may change it now."""

    def __init__(
        self, checked: CheckedProgram, backend: Backend, limits: Limits, observer: Observer, maintenance: Maintenance
    ) -> None:
        self.checked = checked
        self.is_materialized = False
        self._current: ref[object] | None = None
        self.is_read_only = False
        self.rule_ids = count(1 + max((rule.id for rule in checked.program.rules), default=0))
        self._materialization: Materialization | None = Materialization(checked, backend, limits, observer, maintenance)
        self._questions = Questions(checked, backend, limits, observer, maintenance)
        self._backend = backend
        self._limits = limits
        self.last_run = LastRun()
        self._closed = ""

    @property
    def current(self) -> object:
        """The world that may change it now. It does not hold that: what nobody has any more is gone at once."""
        return None if self._current is None else self._current()

    @current.setter
    def current(self, world: object) -> None:
        self._current = ref(world)

    def load(self, relation: str, rows: pa.Table) -> int:
        """Adds explicit facts before anything is derived; how many were new."""
        return self.materialization.load(relation, rows)

    def unload(self, relation: str, rows: pa.Table) -> int:
        """Takes explicit facts away before anything is derived; how many were there."""
        return self.materialization.unload(relation, rows)

    def take(self, step: Step) -> tuple[Step, Outcome]:
        """What was done of `step` and what came of it: all of it or, when it raises, nothing."""
        self.materialize()
        with _errors_told(step.after):
            outcome = self._apply(step.change) if step.before is step.after else self._take_to_other_rules(step)
        done = step.done(outcome)
        if done.runs is None and (done.before is not done.after or self.last_run.is_over_with(done.change)):
            done = replace(done, runs=(self.last_run, LastRun(self.last_run.read_chains)))
        if done.runs is not None:
            self.last_run = done.runs[1]
        self.checked = step.after
        return done, outcome

    def rules_run(self, on_firing: OnFiring | None) -> Step:
        """The step that production rules make of the explicit facts, fired until none is firable."""
        if on_firing is not None and not callable(on_firing):
            raise UsageError(f"expected a function that takes a firing, found {type(on_firing).__name__}")
        self.materialize()
        checked, backend, facts = self.checked, self._backend, self.materialization
        given = TablesOf(relations_needed(checked), facts.explicit)
        at_hand = AtHand(facts.explicit_facts, facts.facts)
        fresh = backend.fresh({})
        with _errors_told(checked), self.read_only():
            result = run_rules(checked, fresh, given, limits=self._limits, on_firing=on_firing, at_hand=at_hand)
        late_news = None
        if is_revisable(checked):
            tables = dict(given)
            late_news = LateNews(checked, tables, result.cycles, self._limits, lambda: backend.fresh(checked.schemas))
        return self._step_of(result, LastRun(result.read_chains, late_news))

    def rules_revised(self, change: Change, at: int) -> Step:
        """The step to where the last run would have ended with news of one of its cycles."""
        if self.last_run.late_news is None:
            raise UsageError(self._why_not_revisable())
        with _errors_told(self.checked):
            result, revised = self.last_run.late_news.revised(change, at)
        return self._step_of(result, LastRun(revised.history, revised))

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """A block in which nobody can change facts or rules."""
        self.is_read_only = True
        try:
            yield
        finally:
            self.is_read_only = False

    def take_back(self, step: Step) -> None:
        """Undoes a step that was done."""
        self._go_back(self.take, step.inverse())

    def table(self, relation: str) -> pa.Table:
        """The rows of `relation`."""
        self.materialize()
        rows: pa.Table = self.materialization.table(relation)
        return rows

    def rows_for(self, question: Atom) -> pa.Table:
        """Rows of the relation of `question`, among them all that agree with its constants.

        Where nothing is derived yet and the question binds a column, only what it needs is derived, and for no longer.
        """
        self.check_open()
        if not self.is_materialized:
            with _errors_told(self.checked):
                found = self._questions.answer(question)
            if not isinstance(found, Unhelpful):
                return found
        return self.table(question.relation)

    def count(self, relation: str) -> int:
        """How many rows `relation` has."""
        self.materialize()
        return self.materialization.count(relation)

    def materialize(self) -> None:
        """Derives everything, unless that has been done."""
        if not self.is_materialized:
            with _errors_told(self.checked):
                self.materialization.materialize()
            self.is_materialized = True

    def close(self, reason: str) -> None:
        """Forgets every fact; `reason` is what later calls say."""
        self._closed = reason
        self._materialization = None

    def check_open(self) -> None:
        """Raises UsageError when it is closed."""
        if self._materialization is None:
            raise UsageError(self._closed)

    @property
    def is_closed(self) -> bool:
        return self._materialization is None

    @property
    def materialization(self) -> Materialization:
        self.check_open()
        assert self._materialization is not None
        return self._materialization

    def _step_of(self, result: Result, run: LastRun) -> Step:
        return Step(self.checked, self.checked, Change(result.came, result.went), (self.last_run, run))

    def _why_not_revisable(self) -> str:
        if not is_revisable(self.checked):
            return "at= is for runs of parallel production rules: the program does not say .production parallel"
        return (
            "there is no run that late news could revise: none was made, or facts or rules were changed since\n"
            "  hint: call run() first; without at, a change is one of the facts as they are now"
        )

    def _apply(self, change: Change) -> Outcome:
        return self.materialization.apply(change)

    def _take_to_other_rules(self, step: Step) -> Outcome:
        """Facts go while their relations are still declared, and come when theirs are."""
        with ExitStack() as way_back:
            gone = self._apply(Change(retracted=step.change.retracted))
            way_back.callback(self._go_back, self._apply, Change(inserted=gone.retracted))
            moved = self.materialization.replace_program(step.after)
            way_back.callback(self._go_back, self.materialization.replace_program, step.before)
            come = self._apply(Change(inserted=step.change.inserted))
            way_back.pop_all()
        return in_sequence([gone, moved, come])

    def _go_back(self, go: Callable[[T], object], where: T) -> None:
        """Calls what leads back. A session that cannot be brought back is closed: its answers would be wrong."""
        try:
            with self.materialization.unlimited():
                go(where)
        except BaseException as reason:
            self.close(f"the session is closed, because a change could not be taken back: {reason}")
            raise


class TablesOf(Mapping[str, pa.Table]):
    """The tables of some relations, each made when somebody asks for it."""

    def __init__(self, relations: Set[str], table: Callable[[str], pa.Table]) -> None:
        self._relations = relations
        self._table = table

    def __getitem__(self, relation: str) -> pa.Table:
        return self._table(relation)

    def __iter__(self) -> Iterator[str]:
        return iter(self._relations)

    def __len__(self) -> int:
        return len(self._relations)


@contextmanager
def _errors_told(checked: CheckedProgram) -> Iterator[None]:
    """What goes wrong, in the words of a user: with the line of the rule, and a want of memory as a limit."""
    try:
        yield
    except EvaluationError as error:
        for line in excerpt(error.span, checked.texts):
            error.add_note(line)
        raise
    except MemoryError as reason:
        raise LimitError(
            "there is no memory left to compute what follows from the facts\n"
            "  hint: bound what the rules derive, or set --limit-memory or limits=Limits(memory=…) to stop earlier"
        ) from reason
