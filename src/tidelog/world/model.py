"""A program, the explicit facts given to it and what follows from them, moved from step to step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count

import pyarrow as pa

from tidelog.analysis.checked import CheckedProgram
from tidelog.analysis.magic import Unhelpful
from tidelog.backends.protocol import Backend
from tidelog.errors import EvaluationError, LimitError, UsageError, excerpt
from tidelog.facts.chain import Chains
from tidelog.facts.change import Change, Outcome, in_sequence
from tidelog.language.syntax_tree import Atom
from tidelog.maintain.materialization import Materialization
from tidelog.maintain.protocol import Limits, Maintenance, Observer
from tidelog.production.cycle import run_rules
from tidelog.production.semantics import OnFiring, Result
from tidelog.production.support import relations_needed
from tidelog.world.late_news import LateNews, is_revisable
from tidelog.world.questions import Questions


@dataclass(frozen=True, slots=True)
class Step:
    """A move of a model: from one program to another, and a change of its explicit facts."""

    before: CheckedProgram
    after: CheckedProgram
    change: Change

    @property
    def rows(self) -> int:
        """How many facts it holds."""
        tables = [*self.change.inserted.values(), *self.change.retracted.values()]
        return sum(table.num_rows for table in tables)

    def inverse(self) -> Step:
        """The way back; right for a step that holds only facts whose presence it changed."""
        return Step(self.after, self.before, Change(self.change.retracted, self.change.inserted))

    def done(self, outcome: Outcome) -> Step:
        """The same step with only the facts whose presence changed."""
        return Step(self.before, self.after, Change(outcome.inserted, outcome.retracted))


class Model:
    """What the worlds of a session share. `current` is the one that may change it now."""

    def __init__(
        self, checked: CheckedProgram, backend: Backend, limits: Limits, observer: Observer, maintenance: Maintenance
    ) -> None:
        self.checked = checked
        self.is_materialized = False
        self.current: object = None
        self.is_read_only = False
        self.rule_ids = count(1 + max((rule.id for rule in checked.program.rules), default=0))
        self._materialization: Materialization | None = Materialization(checked, backend, limits, observer, maintenance)
        self._questions = Questions(checked, backend, limits, observer, maintenance)
        self._backend = backend
        self._limits = limits
        self.read_chains: Callable[[], Chains] = Chains
        self._late_news: LateNews | None = None
        self._closed = ""

    def load(self, relation: str, rows: pa.Table) -> int:
        """Adds explicit facts before anything is derived; how many were new."""
        return self.materialization.load(relation, rows)

    def unload(self, relation: str, rows: pa.Table) -> int:
        """Takes explicit facts away before anything is derived; how many were there."""
        return self.materialization.unload(relation, rows)

    def take(self, step: Step) -> Outcome:
        """What came of `step`: all of it or, when it raises, nothing."""
        self.materialize()
        with _errors_told(step.after):
            outcome = self._apply(step.change) if step.before is step.after else self._take_to_other_rules(step)
        if self._late_news is not None and (step.before is not step.after or self._late_news.concerns(step.change)):
            self._late_news = None
        self.checked = step.after
        return outcome

    @contextmanager
    def rules_run(self, on_firing: OnFiring | None) -> Iterator[Result]:
        """What the production rules would do to the explicit facts until none is firable, for a block that does it."""
        checked, backend = self.checked, self._backend
        given = {name: self.materialization.explicit(name) for name in relations_needed(checked)}
        with _errors_told(checked):
            result = run_rules(checked, backend.fresh(checked.schemas), given, limits=self._limits, on_firing=on_firing)
        yield result
        self.read_chains = lambda: result.chains
        if is_revisable(checked):
            self._late_news = LateNews(
                checked, given, result.cycles, self._limits, lambda: backend.fresh(checked.schemas)
            )

    @contextmanager
    def rules_revised(self, change: Change, at: int) -> Iterator[Result]:
        """What news of a cycle of the last run changes about its end, for a block that brings it about."""
        late_news = self._late_news
        if late_news is None:
            raise UsageError(self._why_not_revisable())
        with _errors_told(self.checked):
            result, revised = late_news.revised(change, at)
        try:
            yield result
            self.read_chains, late_news = revised.history, revised
        finally:
            # The block brought it about, or took it back: either way the facts are what the run left.
            self._late_news = late_news

    def take_back(self, step: Step) -> None:
        """Undoes a step that was done. A session that cannot be brought back is closed: its answers would be wrong."""
        try:
            self.take(step.inverse())
        except BaseException as reason:
            self.close(f"the session is closed, because a change could not be taken back: {reason}")
            raise

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
            way_back.callback(self._apply, Change(inserted=gone.retracted))
            moved = self.materialization.replace_program(step.after)
            way_back.callback(self.materialization.replace_program, step.before)
            come = self._apply(Change(inserted=step.change.inserted))
            way_back.pop_all()
        return in_sequence([gone, moved, come])


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
