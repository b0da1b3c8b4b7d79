"""A run of parallel production rules, as long as the facts are what it left: late news can revise it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.protocol import Backend, OwnRows
from tidelog.errors import UsageError
from tidelog.facts.chain import Chains
from tidelog.facts.change import Change
from tidelog.language.syntax_tree import Semantics
from tidelog.maintain.protocol import Limits
from tidelog.production.late.course import Course
from tidelog.production.late.incr_update import revise
from tidelog.production.late.late_run import LateRun
from tidelog.production.semantics import Result
from tidelog.production.support import relations_needed, supporting


class LateNews:
    """A run and the news that came since. It never changes: news leads to another one, and this one stays at hand.

    Chains are made when the first news comes, and shared by all that follow from one another.
    """

    def __init__(
        self,
        checked: CheckedProgram,
        given: Mapping[str, OwnRows],
        cycles: int,
        limits: Limits,
        new_backend: Callable[[], Backend],
    ) -> None:
        self._checked = checked
        self._given = given
        self._cycles = cycles
        self._limits = limits
        self._new_backend = new_backend
        self._kept: tuple[LateRun, Course] | None = None
        self._chains: Chains | None = None

    def revised(self, change: Change, at: int) -> tuple[Result, LateNews]:
        """What news of a cycle makes of the last state, without chains, and this with it."""
        self._check(change, at)
        run = self._run()
        nets = revise(run, change, at)
        came = {name: run.backend.table(name, net.came) for name, net in nets.items() if len(net.came)}
        went = {name: run.backend.table(name, net.went) for name, net in nets.items() if len(net.went)}
        other = copy(self)
        other._cycles, other._kept, other._chains = run.cycles, (run, run.course), None
        return Result(run.cycles, came, went), other

    def history(self) -> Chains:
        """When each fact came and went; found out when somebody asks."""
        if self._chains is None:
            self._chains = self._run().history()
        return self._chains

    def is_over_with(self, change: Change) -> bool:
        """Whether the facts are not what the run left once `change` is done."""
        touched = {name for rows in (change.inserted, change.retracted) for name, table in rows.items() if len(table)}
        return bool(touched & relations_needed(self._checked))

    def _run(self) -> LateRun:
        """The run, in the course that it has here."""
        if self._kept is None:
            run = LateRun(self._checked, self._new_backend(), self._given, self._limits)
            self._kept = run, run.course
        run, run.course = self._kept
        return run

    def _check(self, change: Change, at: int) -> None:
        if isinstance(at, bool) or not isinstance(at, int) or at < 0:
            raise UsageError(f"at must be the number of a cycle, or 0 for the facts at the start, not {at!r}")
        if at > self._cycles:
            raise UsageError(
                f"at={at} is beyond the last cycle: the run had {self._cycles}\n"
                "  hint: without at, the change is one of the facts as they are now; call run() to go on from there"
            )
        derived = {name for stratum in supporting(self._checked).strata for name in stratum.relations}
        for relation in (*change.inserted, *change.retracted):
            if relation in derived:
                raise UsageError(
                    f"'{relation}' is derived: no cycle inserts or deletes it\n  hint: give the facts it follows from"
                )
            if relation not in relations_needed(self._checked):
                raise UsageError(
                    f"no production rule has to do with '{relation}', so there is no cycle to change\n"
                    "  hint: apply it without at"
                )


@dataclass(frozen=True, slots=True)
class LastRun:
    """What is known of the last run: its chains and, as long as the facts are what it left, where late news goes."""

    read_chains: Callable[[], Chains] = Chains
    late_news: LateNews | None = None

    def is_over_with(self, change: Change) -> bool:
        """Whether it cannot be revised any more after `change`."""
        return self.late_news is not None and self.late_news.is_over_with(change)


def is_revisable(checked: CheckedProgram) -> bool:
    """Whether late news can revise runs of the program."""
    return checked.semantics is not None and checked.semantics.semantics is Semantics.PARALLEL
